"""Global settings that a training script changes between calls.

exercises: global number, global function and attribute of a global changed after the capture
rows: 97
"""

import types

import paddle

alpha = 0.1
config = types.SimpleNamespace(power=2)


def smooth(x):
    return x * 0.5


def sharpen(x):
    return x * 3


shape = smooth


def forward(x):
    x = shape(x)
    if x.sum() > 0:
        return x * alpha
    return x**config.power


def BEFORE(index):
    global alpha, shape
    alpha = (0.1, 0.7, 0.7)[index // 2]
    shape = (smooth, smooth, sharpen)[index // 2]
    config.power = (2, 3, 3)[index // 2]


def build():
    return forward


def inputs():
    for sign in (1.0, -1.0) * 3:
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
