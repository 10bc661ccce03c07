"""A batch arrives as a NumPy array and is made a tensor inside.

exercises: NumPy array argument; paddle.to_tensor of it; another array in the next call
rows: 91
"""

import numpy as np
import paddle


def loss(x, target):
    target = paddle.to_tensor(target)
    error = x - target
    if error.abs().max() > 1:
        return error.abs().sum()
    return (error * error).sum()


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, np.array([0.5, 1.5], "float32")
    yield x, np.array([0.5, 9.5], "float32")
    yield x, np.array([0.5, 1.0], "float32")
