"""Choose an activation out of a list by a number that a tensor decided.

exercises: python int from a branch as the index of a list of functions and of tensors
rows: 69
"""

import paddle
from paddle.nn import functional as F


def activate(x, extras):
    if x.mean() > 0:
        k = 0
    elif x.mean() < -1:
        k = 1
    else:
        k = -1
    functions = [F.relu, paddle.tanh, paddle.exp]
    return functions[k](x) + extras[k]


def build():
    return activate


def inputs():
    extras = [paddle.to_tensor(0.1), paddle.to_tensor(0.2), paddle.to_tensor(0.3)]
    yield paddle.to_tensor([1.0, -0.5]), extras
    yield paddle.to_tensor([-3.0, -0.5]), extras
    yield paddle.to_tensor([-0.3, -0.5]), extras
