"""The output of the first layer of a stack that is confident.

exercises: return on a tensor condition in a loop over a Python list
rows: 43
"""

import paddle


def cascade(x, weights, bound):
    for weight in weights:
        x = paddle.tanh(x * weight)
        if x.max() > bound:
            return x
    return paddle.zeros_like(x)


def build():
    return cascade


def inputs():
    x = paddle.to_tensor([0.2, -0.4])
    weights = [paddle.to_tensor(w) for w in (0.5, 3.0, 6.0)]
    for bound in (0.05, 0.2, 0.8, 2.0):
        yield x, weights, paddle.to_tensor(bound)
