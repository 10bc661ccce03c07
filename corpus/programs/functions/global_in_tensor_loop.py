"""A global step counter that a tensor loop advances.

exercises: global assigned in a tensor while; read in the caller afterwards
rows: 53
"""

import paddle

STEPS = paddle.zeros([], "int64")


def halve(x, bound):
    global STEPS
    while x.abs().max() > bound:
        x = x / 2
        STEPS = STEPS + 1
    return x


def run(x, bound):
    y = halve(x, bound)
    return y, STEPS * 10


def reset(index):
    global STEPS
    STEPS = paddle.full([], index, "int64")


BEFORE = reset
OBSERVED = lambda: STEPS  # noqa: E731


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, -8.0])
    for bound in (1.0, 5.0, 10.0):
        yield x, paddle.to_tensor(bound)
