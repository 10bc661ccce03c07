"""An optional activation chosen by a tensor and called only if there is one.

exercises: None against a function; call of a function chosen in a branch
rows: 4
"""

import paddle
from paddle.nn import functional as F


def activated(x, mode):
    activation = None
    if mode == 1:
        activation = F.relu
    elif mode == 2:
        activation = F.sigmoid
    if activation is not None:
        x = activation(x)
    return x * 3


def build():
    return activated


def inputs():
    x = paddle.to_tensor([-1.0, 2.0])
    for mode in (0, 1, 2):
        yield x, paddle.to_tensor(mode)
