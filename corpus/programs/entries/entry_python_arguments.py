"""Numbers, text, None, an enum and a callable steer the function beside one tensor.

exercises: Python arguments of many kinds at the entry; one program each
rows: 91
"""

import enum

import paddle


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


def reduce(x, mode, scale, activation=None, name=""):
    if x.min() < 0 and activation is not None:
        x = activation(x)
    out = x.sum() if mode is Mode.SUM else x.mean()
    return out * scale if name != "plain" else out


def build():
    return reduce


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    yield x, Mode.SUM, 2
    yield x, Mode.SUM, 2.5, paddle.tanh
    yield -x * x, Mode.MEAN, True, paddle.tanh, "plain"
    yield x * x, Mode.MEAN, 3, paddle.tanh
