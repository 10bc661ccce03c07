"""A cast that is done only when it is needed.

exercises: comparing dtypes; is_floating_point; dtype in a container; astype by another dtype
rows: 67
"""

import paddle


def as_float(x, like):
    if x.dtype == paddle.float32:
        y = x * 2
    elif x.dtype in (paddle.int32, paddle.int64):
        y = x.astype(like.dtype) + 0.5
    else:
        y = x.astype("float32")
    if not paddle.is_floating_point(x):
        y = y + 1
    if y.sum() > 3:
        y = y - like
    return y, x.dtype != y.dtype


def build():
    return as_float


def inputs():
    like = paddle.to_tensor([1.0, 1.0])
    yield paddle.to_tensor([1.0, 2.0]), like
    yield paddle.to_tensor([1, 2]), like
    yield paddle.to_tensor([True, False]), like
    yield paddle.to_tensor([-1.0, 2.0]), like
