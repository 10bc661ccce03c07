"""A helper appends to the list that it is given, called in a tensor loop.

exercises: list grown by a helper; helper called in a branch of a tensor loop
rows: 78
"""

import paddle


def remember(memory, item):
    memory.append(item * 2)


def collect(x, steps):
    memory = []
    for _ in range(steps):
        x = x - 1
        if x.sum() > 0:
            remember(memory, x)
    remember(memory, x)
    return paddle.stack(memory)


def build():
    return collect


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([2.0, 3.0]), paddle.to_tensor(steps)
