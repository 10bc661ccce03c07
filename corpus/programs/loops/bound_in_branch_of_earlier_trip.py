"""Hold the last value above a bound and add it up.

exercises: name bound in a tensor branch of one trip of a tensor while and read in all later trips;
    gradients
rows: 3, 25
"""

import paddle


def hold(values, bound):
    held = None
    total = paddle.zeros([])
    i = paddle.zeros([], "int64")
    while i < 4:
        if values[i] > bound:
            held = values[i]
        total = total + held * 0.5
        i = i + 1
    return total


def build():
    return hold


def inputs():
    yield paddle.to_tensor([2.0, 1.0, 3.0, 0.5]), paddle.to_tensor(1.5)
    yield paddle.to_tensor([2.0, 1.0, 1.0, 0.5]), paddle.to_tensor(1.5)
    yield paddle.to_tensor([2.0, 2.5, 3.0, 5.0]), paddle.to_tensor(1.5)
