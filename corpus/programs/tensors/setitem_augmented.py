"""A histogram with weights.

exercises: augmented item assignment at ints, slices and tensor indices, in a loop
rows: 87
"""

import paddle


def histogram(labels, weights):
    bins = paddle.zeros([3])
    for i in range(4):
        bins[labels[i]] += weights[i]
    bins[1:] *= 2
    bins[0] -= weights.mean()
    i = 0
    bins[i] /= 2
    return bins


def build():
    return histogram


def inputs():
    weights = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    yield paddle.to_tensor([0, 1, 2, 1]), weights
    yield paddle.to_tensor([2, 2, 2, 2]), weights
