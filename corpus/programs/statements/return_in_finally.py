"""A clean-up that decides the answer.

exercises: return inside finally overrides; return in try, except and else under tensor conditions
rows: 46
"""

import paddle


def decided(x, table):
    try:
        if x.sum() > 5:
            return x * 100
        y = x * table["scale"]
    except KeyError:
        return x - 1
    else:
        if y.sum() > 0:
            return y + 1
    finally:
        if len(table) > 1:
            return x + 7
    return y - 5


def build():
    return decided


def inputs():
    for table in ({"scale": 2.0}, {}, {"scale": 2.0, "bias": 1.0}):
        for x in ([4.0, 3.0], [1.0, 2.0], [-1.0, -2.0]):
            yield paddle.to_tensor(x), dict(table)
