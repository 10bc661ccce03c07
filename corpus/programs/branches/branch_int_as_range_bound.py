"""The number of smoothing passes follows from the noise.

exercises: python int from a branch as bound of range
rows: 69
"""

import paddle


def smooth(x, noise):
    if noise > 1:
        passes = 3
    else:
        passes = 1
    for i in range(passes):
        x = (x + x.mean()) / 2 + i * 0.1
    return x


def build():
    return smooth


def inputs():
    x = paddle.to_tensor([1.0, 5.0])
    for noise in (2.0, 0.5, 4.0):
        yield x, paddle.to_tensor(noise)
