"""Sum logarithms and refuse a value that has none.

exercises: raise on a tensor condition inside a for over a tensor
rows: 27, 59
"""

import paddle

RAISES = {1: ValueError, 2: ValueError}


def log_sum(values):
    total = paddle.zeros([])
    for v in values:
        if v <= 0:
            raise ValueError("only positive values have a logarithm")
        total = total + paddle.log(v)
    return total


def build():
    return log_sum


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
    yield (paddle.to_tensor([0.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([5.0, 2.0, 3.0]),)
