"""Drop the last layer's output when it is not finite enough.

exercises: pop on one side of a tensor branch, outside of a loop; last item afterwards
rows: 76
"""

import paddle


def last_good(x, bound):
    outputs = [x, x * 2, x * 40]
    if outputs[-1].max() > bound:
        outputs.pop()
    return outputs[-1], len(outputs)


def build():
    return last_good


def inputs():
    x = paddle.to_tensor([1.0, 0.5])
    for bound in (100.0, 10.0):
        yield x, paddle.to_tensor(bound)
