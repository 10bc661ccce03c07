"""A large count as a Python int, and what is computed with it.

exercises: int() of an int64 tensor that is no int32
rows: 65
"""

import paddle

GRAD = False  # whole numbers


def more(n):
    return int(n) + 1


def build():
    return more


def inputs():
    for n in (2**40, 7, -(2**33)):
        yield (paddle.to_tensor(n),)
