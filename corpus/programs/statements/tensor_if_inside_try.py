"""A choice between two tables, made under try because a name may be missing.

exercises: tensor if inside a try body, with a Python error in one of its branches never raised
rows: 58
"""

import paddle


def choose(x, table):
    try:
        if x.sum() > 0:
            y = x * table["up"]
        else:
            y = x * table["down"]
        y = y + table["shift"]
    except KeyError:
        y = x - 1
    return y


def build():
    return choose


def inputs():
    for sign in (1.0, -1.0):
        x = paddle.to_tensor([1.0, 2.0]) * sign
        yield x, {"up": 2.0, "down": 3.0, "shift": 1.0}
        yield x, {"up": 2.0, "down": 3.0}
