"""An index where a match is exact, a distance otherwise.

exercises: an int64 tensor on one path, a float32 tensor on the other
rows: 45
"""

import paddle


def match(codes, x):
    distance = (codes - x).abs()
    if distance.min() < 1e-6:
        return distance.argmin()
    return distance.min()


def build():
    return match


def inputs():
    codes = paddle.to_tensor([1.0, 2.0, 4.0])
    yield codes, paddle.to_tensor(2.0)
    yield codes, paddle.to_tensor(2.5)
