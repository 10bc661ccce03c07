"""Outer steps that each damp the signal until it is below their own bound.

exercises: while inside while on tensors; gradients through both
rows: 17
"""

import paddle


def settle(x, bounds):
    i = paddle.zeros([], "int64")
    total = paddle.zeros([])
    while i < 3:
        while x.abs().max() > bounds[i]:
            x = x * 0.8
            total = total + x.sum()
        x = x + 1
        i = i + 1
    return x, total


def build():
    return settle


def inputs():
    yield paddle.to_tensor([2.0, -1.0]), paddle.to_tensor([1.5, 2.0, 0.5])
    yield paddle.to_tensor([2.0, -1.0]), paddle.to_tensor([9.0, 9.0, 9.0])
    yield paddle.to_tensor([9.0, -5.0]), paddle.to_tensor([9.0, 1.0, 9.0])
