"""Sum readings: skip the broken ones, stop at the marker.

exercises: break and continue in one loop over a tensor
rows: 37
"""

import paddle


def read(values):
    total = paddle.zeros([])
    used = 0
    for v in values:
        if v < 0:
            continue
        if v > 100:
            break
        total = total + v * v
        used += 1
    return total, used


def build():
    return read


def inputs():
    yield (paddle.to_tensor([1.0, -2.0, 3.0, 101.0, 4.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0]),)
    yield (paddle.to_tensor([-1.0, -1.0, -1.0, -1.0, -1.0]),)
    yield (paddle.to_tensor([200.0, 1.0, 2.0, 3.0, 4.0]),)
