"""A 0-D tensor and a vector of one element are told apart.

exercises: 0-D against 1-D shapes; unsqueeze; stacking 0-D; ndim in a condition; bool of [1]
rows: 89
"""

import paddle


def gather_losses(a, b):
    if a.ndim == 0:
        a = a.unsqueeze(0)
    both = paddle.concat([a, b])
    stacked = paddle.stack([a[0], b[0], both.sum()])
    if b > 1:
        stacked = stacked * 2
    return both, stacked, a.shape, stacked[0].shape


def build():
    return gather_losses


def inputs():
    b = paddle.to_tensor([2.0])
    yield paddle.to_tensor(1.0), b
    yield paddle.to_tensor([1.0]), b
    yield paddle.to_tensor(1.0), b - 1.5
