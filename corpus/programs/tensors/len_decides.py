"""The last element, or zero for an empty tensor.

exercises: len of a tensor in a condition, in range, in arithmetic
rows: 66
"""

import paddle


def tail_mean(x):
    if len(x) == 0:
        return x.sum()
    total = x[0] * 0
    for i in range(1, len(x)):
        if x[i] > 0:
            total = total + x[i] * i
    return total / len(x)


def build():
    return tail_mean


def inputs():
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, -3.0]),)
    yield (paddle.to_tensor([1.0]),)
    yield (paddle.zeros([0]),)
