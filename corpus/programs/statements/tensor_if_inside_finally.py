"""A penalty that is added however the body ends.

exercises: tensor if inside finally; return inside try with finally
rows: 46, 58
"""

import paddle


def measured(x, scales, key):
    last = x * 0
    try:
        y = x * scales[key]
    except KeyError:
        return x
    finally:
        if x.sum() > 0:
            last = x.max()
        else:
            last = x.min()
    return y + last


def build():
    return measured


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0]):
        yield paddle.to_tensor(x), {"k": 2.0}, "k"
        yield paddle.to_tensor(x), {"k": 2.0}, "none"
