"""A bucket number out of a hash: int() of a large tensor, and int() with a base on a text.

exercises: int() of a tensor beyond 32 bits; int() of a text with a base; truncation of a float
rows: 65
"""

import paddle

GRAD = False  # int() cuts the gradient


def bucket(key, weight, seed):
    wide = int(key)
    offset = int(seed, 16)
    if wide > 1000:
        wide = wide // 3
    return wide + offset, int(weight), int(weight) * key


def build():
    return bucket


def inputs():
    yield paddle.to_tensor(2**40), paddle.to_tensor(2.75), "ff"
    yield paddle.to_tensor(7), paddle.to_tensor(-2.75), "ff"
    yield paddle.to_tensor(-(2**33)), paddle.to_tensor(0.5), "1a"
    yield paddle.to_tensor(1001), paddle.to_tensor(3e9), "ff"
