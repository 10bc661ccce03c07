"""The number of distinct labels and their sum.

exercises: unique of int64, int32 and float64 tensors keeps the dtype
rows: 90
"""

import paddle


def distinct(labels, small, exact):
    values = paddle.unique(labels)
    total = values.astype("float32").sum()
    if total > 3:
        total = total / 2
    return values + 1, total, paddle.unique(small), paddle.unique(exact) * exact.sum()


def build():
    return distinct


def inputs():
    small = paddle.to_tensor([5, 5], dtype="int32")
    exact = paddle.to_tensor([0.1, 0.1], dtype="float64")
    yield paddle.to_tensor([0, 0, 1, 1]), small, exact
    yield paddle.to_tensor([3, 0, 1, 1]), small, exact
