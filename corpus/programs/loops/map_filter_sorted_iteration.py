"""Scaled losses in the order of their names.

exercises: for over map, filter and sorted of Python containers, with tensor branches
rows: 31
"""

import paddle


def total_loss(losses, bound):
    total = paddle.zeros([])
    for name in sorted(losses):
        if losses[name] > bound:
            total = total + losses[name]
    for value in map(lambda v: v * 0.5, losses.values()):
        if value < bound:
            total = total - value
    for name in filter(lambda n: n.startswith("a"), losses):
        total = total * losses[name]
    return total


def build():
    return total_loss


def inputs():
    for bound in (0.0, 2.0, 99.0):
        yield {"b": paddle.to_tensor(3.0), "a": paddle.to_tensor(1.5)}, paddle.to_tensor(bound)
