"""The last entry above a bound.

exercises: name bound in a tensor branch of a tensor while and read after it; gradients
rows: 3, 25
"""

import paddle


def last_above(values, bound):
    i = paddle.zeros([], "int64")
    while i < 4:
        if values[i] > bound:
            found = values[i] * 2
        i = i + 1
    return found


def build():
    return last_above


def inputs():
    yield paddle.to_tensor([2.0, 1.0, 3.0, 0.5]), paddle.to_tensor(1.5)
    yield paddle.to_tensor([2.0, 1.0, 1.0, 0.5]), paddle.to_tensor(1.5)
