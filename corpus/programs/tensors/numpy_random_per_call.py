"""Mixup with NumPy's generator, seeded before each call.

exercises: np.random in a conversion, fresh in every call
rows: 73
"""

import numpy as np
import paddle

BEFORE = lambda index: np.random.seed(index)  # noqa: E731


def mixup(x, y):
    lam = np.random.beta(0.4, 0.4)
    if x.sum() > y.sum():
        return x * lam + y * (1 - lam)
    return x * (1 - lam) + y * lam


def build():
    return mixup


def inputs():
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 1.5])
    for _ in range(2):
        yield x, y
        yield y, x
