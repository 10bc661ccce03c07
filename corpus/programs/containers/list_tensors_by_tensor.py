"""One of several experts' outputs, chosen by a tensor.

exercises: list of tensors indexed by a tensor; IndexError when it is out of range
rows: 77
"""

import paddle

RAISES = {3: IndexError}


def choose(x, expert):
    outputs = [x, x * x, paddle.exp(x)]
    return outputs[expert] + 1


def build():
    return choose


def inputs():
    for expert in (0, 1, 2, 3, -3):
        yield paddle.to_tensor([1.0, -0.5]), paddle.to_tensor(expert)
