"""A chain of cases that ends in an impossible one.

exercises: assert False and raise in a side that no input takes; code after return
rows: 59, 61
"""

import paddle


def signed(x):
    if x > 0:
        return x * 2
    elif x < 0:
        return -x
    elif x == 0:
        return x + 1
    else:
        assert False, "a number is positive, negative or zero"  # noqa: B011, PT015


def build():
    return signed


def inputs():
    for x in (2.0, -2.0, 0.0, 3.0):
        yield (paddle.to_tensor(x),)
