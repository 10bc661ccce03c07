"""A list grows in one branch only and is stacked afterwards.

exercises: append in one branch; paddle.stack afterwards
rows: 78
"""

import paddle


def collect(x, extra):
    found = [x, x + 1]
    if extra > 0:
        found.append(x * x)
    stacked = paddle.stack(found)
    return stacked.sum(0), len(found)


def build():
    return collect


def inputs():
    x = paddle.to_tensor([0.5, 2.0])
    for extra in (1, 0, 2):
        yield x, paddle.to_tensor(extra)
