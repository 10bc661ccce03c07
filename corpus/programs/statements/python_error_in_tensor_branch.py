"""A table that lacks the entry of one side only: only that side falls back.

exercises: KeyError raised inside one branch of a tensor if, caught around it
rows: 58, 60
"""

import paddle


def choose(x, table):
    try:
        if x.sum() > 0:
            y = x * table["up"]
        else:
            y = x * table["down"]
    except KeyError:
        y = x - 1
    return y


def build():
    return choose


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([1.0, 2.0]) * sign, {"up": 2.0}
