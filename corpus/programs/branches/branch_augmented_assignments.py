"""Running totals changed by augmented assignments on both sides.

exercises: augmented assignment of tensors, Python numbers and tuples in branches
rows: 1
"""

import paddle


def tally(x, total, names):
    hits = 0
    if x.sum() > 0:
        total += x
        hits += 1
        names += ("up",)
    else:
        total -= x * 2
        hits -= 1
        names += ("down",)
    return total * hits, hits, names


def build():
    return tally


def inputs():
    total = paddle.to_tensor([1.0, 1.0])
    for x in ([2.0, 1.0], [-2.0, 1.0], [0.5, 0.5]):
        yield paddle.to_tensor(x), total * 1, ("start",)
