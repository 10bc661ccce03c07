"""Walk along a linked list of nested tuples until a value is too large.

exercises: while node is not None over nested tuples of different depth, with a tensor break
rows: 31, 39, 82
"""

import paddle


def walk(x, bound):
    node = (x, (x * 2, (x * 3, None)))
    total = paddle.zeros([])
    while node is not None:
        value, node = node
        if value > bound:
            break
        total = total + value
    return total


def build():
    return walk


def inputs():
    for bound in (0.5, 2.5, 99.0):
        yield paddle.to_tensor(1.0), paddle.to_tensor(bound)
