"""A threshold computed by NumPy from a tensor.

exercises: numpy() and np.asarray of a tensor as a value
rows: 72
"""

import numpy as np
import paddle


def clip_outliers(x):
    values = x.numpy()
    limit = float(np.percentile(values, 75))
    middle = np.asarray(x).mean()
    if x.max() > limit:
        x = paddle.clip(x, max=limit)
    return x - middle


def build():
    return clip_outliers


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0, 9.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 3.0, 4.0]),)
