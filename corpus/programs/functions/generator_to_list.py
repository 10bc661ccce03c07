"""Intermediate states of a process are yielded and kept as a list and as a tuple.

exercises: generator consumed by list, tuple and star-unpacking
rows: 57
"""

import paddle


def states(x, count):
    for _ in range(count):
        if x.abs().sum() > 2:
            x = x * 0.5
        else:
            x = x + 1
        yield x


def trace(x, count):
    kept = list(states(x, count))
    first, *rest = states(x * 2, count)
    return kept, tuple(states(first, 1)), len(rest)


def build():
    return trace


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    yield x, 3
    yield x * 0.1, 3
    yield -x, 1
