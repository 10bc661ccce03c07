"""A gain that is a plain number where the signal is silent.

exercises: Python float against tensor, one condition only
rows: 45
"""

import paddle


def gain(x):
    power = (x * x).mean()
    if power > 1e-6:
        return 1 / paddle.sqrt(power)
    else:
        return 1.0


def build():
    return gain


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    yield (x,)
    yield (x * 0,)
