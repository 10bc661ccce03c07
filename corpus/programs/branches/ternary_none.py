"""A residual that is None below a threshold.

exercises: ternary with None; is None afterwards
rows: 4, 9
"""

import paddle


def residual(x, limit):
    extra = x - limit if x.max() > 1 else None
    y = x * 2
    if extra is not None:
        y = y + extra
    return y, None if x.sum() > 3 else y


def build():
    return residual


def inputs():
    limit = paddle.to_tensor(1.0)
    for x in ([0.5, 2.0], [0.5, 0.25], [2.0, 3.0]):
        yield paddle.to_tensor(x), limit
