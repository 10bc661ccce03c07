"""A mirrored batch, made before the batch is overwritten.

exercises: slice with None, an ellipsis and a negative step taken before a write to the base
rows: 88
"""

import paddle

GRAD = False  # a write to the base of a view is not recorded for gradients of the view


def mirrored(images, value):
    y = images * 1
    turned = y[:, None, ..., ::-1]
    y[...] = value
    return turned + 1, y


def build():
    return mirrored


def inputs():
    images = paddle.arange(12, dtype="float32").reshape([2, 2, 3])
    yield images, paddle.to_tensor(0.5)
    yield -images, paddle.to_tensor(2.0)
