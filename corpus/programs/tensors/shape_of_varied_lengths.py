"""The same function called with many lengths, without a spec.

exercises: calls with different lengths; x.shape in arithmetic after the dimension became dynamic
rows: 89
"""

import paddle


def smooth(x):
    n = x.shape[0]
    if n % 2 == 1:
        x = paddle.concat([x, x[-1:]])
    pairs = x.reshape([-1, 2])
    y = pairs.mean(axis=1)
    if y.max() > 5:
        y = y / n
    return y, x.shape[0] - n


def build():
    return smooth


def inputs():
    for n in (4, 5, 8, 3, 12):
        yield (paddle.arange(n, dtype="float32"),)
