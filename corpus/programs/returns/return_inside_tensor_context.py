"""A scope that keeps a tensor on a shared object and adds to it when it is left.

exercises: return inside a user's context manager whose __exit__ changes a tensor attribute
rows: 46
"""

import paddle


class Meter:
    def __init__(self):
        self.total = paddle.zeros([])
        self.open = paddle.zeros([], "int64")

    def __enter__(self):
        self.open = self.open + 1
        return self

    def __exit__(self, *error):
        self.open = self.open - 1
        self.total = self.total + 1


METER = Meter()


def measure(x):
    with METER as meter:
        if x.mean() > 1:
            return x * 2, meter.open
        meter.total = meter.total + 10
    return x - 1, meter.open


def reset(index):
    METER.__init__()


BEFORE = reset
OBSERVED = lambda: (METER.total, METER.open)  # noqa: E731


def build():
    return measure


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 0.1,)
