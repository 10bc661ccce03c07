"""Add the values of a stream to the bucket that each one belongs to.

exercises: list item read and assigned by an integer tensor
rows: 76, 77
"""

import paddle


def histogram(values, buckets):
    sums = [paddle.zeros([]) for _ in range(3)]
    for i in range(len(values)):
        sums[buckets[i]] = sums[buckets[i]] + values[i]
    return sums


def build():
    return histogram


def inputs():
    values = paddle.to_tensor([1.0, 2.0, 4.0, 8.0])
    for buckets in ([0, 1, 2, 0], [2, 2, 2, 2], [1, 0, 1, -1]):
        yield values, paddle.to_tensor(buckets)
