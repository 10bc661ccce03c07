"""Pair two sequences as far as the shorter one reaches.

exercises: zip of tensors of unequal known lengths; with an endless iterator
rows: 29, 32
"""

import itertools

import paddle


def overlap(a, b):
    total = paddle.zeros([])
    for x, y in zip(a, b):
        total = total + x * y
    for n, x in zip(itertools.count(1), a):
        if x > 0:
            total = total + n * x
    return total


def build():
    return overlap


def inputs():
    yield paddle.to_tensor([1.0, 2.0, -3.0]), paddle.to_tensor([0.5, 3.0])
    yield paddle.to_tensor([-1.0, 2.0, 3.0]), paddle.to_tensor([0.5, 3.0])
    yield paddle.to_tensor([1.0]), paddle.to_tensor([0.5, 3.0])
