"""Arguments checked before any tensor is touched.

exercises: assert on Python values, all(), isinstance; assert False in a side never reached
rows: 61
"""

import paddle

RAISES = {1: AssertionError, 2: AssertionError}


def scaled(x, mode, factors):
    assert isinstance(factors, (list, tuple))
    assert all(f > 0 for f in factors), f"bad factors {factors}"
    if mode == "product":
        for f in factors:
            x = x * f
    elif mode == "sum":
        x = x + sum(factors)
    else:
        raise AssertionError(f"no mode {mode!r}")
    if x.sum() > 3:
        x = x - 1
    return x


def build():
    return scaled


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, "product", [2.0, 3.0]
    yield x, "product", [2.0, -3.0]
    yield x, "none", [2.0]
    yield -x, "sum", (2.0, 1.0)
