"""A hash that relies on wrapping integers.

exercises: int32 and int64 overflow; shifts and xor in a loop over a tensor bound
rows: 87
"""

import paddle

GRAD = False  # integers only


def hash_of(seed, times):
    value = seed
    i = paddle.zeros([], dtype="int64")
    while i < times:
        value = value * 31 + 7
        value = value ^ (value >> paddle.full_like(value, 3))
        i = i + 1
    return value, value & paddle.full_like(value, 255)


def build():
    return hash_of


def inputs():
    for times in (0, 1, 40):
        yield paddle.to_tensor([3, -5], dtype="int32"), paddle.to_tensor(times)
    yield paddle.to_tensor([3, -5], dtype="int64"), paddle.to_tensor(40)
