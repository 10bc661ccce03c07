"""Shrink several vectors until all are small.

exercises: while any(generator over tensors); list items assigned in the loop
rows: 15, 17, 76
"""

import paddle


def shrink(vectors, bound):
    trips = 0
    while any(v.abs().max() > bound for v in vectors):
        vectors = [v * 0.5 for v in vectors]
        trips += 1
    return vectors, trips


def build():
    return shrink


def inputs():
    for bound in (1.0, 9.0, 2.0):
        yield [paddle.to_tensor([1.0, 3.0]), paddle.to_tensor([4.0, 0.5])], paddle.to_tensor(bound)
