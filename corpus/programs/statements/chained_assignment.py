"""Two names and an item for one value.

exercises: a = b = value; with tuple, attribute and item targets; swap by items
rows: 82
"""

import paddle


def shared(x):
    items = [None, None, None]
    a = b = x * 2
    same = a is b
    items[0] = (c, d) = a, b + 1
    if a.sum() > 0:
        a = e = c * 2
    else:
        e = d
    items[1], items[2] = d, c
    items[1], items[2] = items[2], items[1]
    i = items[0] = 1
    i, items[i] = 2, x
    return a, b, e, items, same, i


def build():
    return shared


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
