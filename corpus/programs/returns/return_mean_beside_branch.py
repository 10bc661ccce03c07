"""The mean is returned beside a branch that squares the same input.

exercises: an input read inside a branch and, outside, by an operation whose gradient does not
    need its values
rows: 1
"""

import paddle


def statistics(x):
    mean = x.mean()
    if mean > 1:
        power = x * x
    else:
        power = x
    return mean, power


def build():
    return statistics


def inputs():
    x = paddle.to_tensor([1.0, 4.0])
    yield (x,)
    yield (-x,)
