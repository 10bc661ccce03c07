"""Differences of neighbours: the previous entry exists from the second trip on.

exercises: name first bound at the end of the body and read in the next trip under a condition
rows: 25
"""

import paddle


def variation(values, n):
    total = paddle.zeros([])
    for i in range(n):
        if i > 0:
            total = total + (values[i] - previous).abs()  # noqa: F821
        previous = values[i]
    return total


def build():
    return variation


def inputs():
    for n in (4, 2, 1, 0):
        yield paddle.to_tensor([1.0, 4.0, 2.0, 7.0]), paddle.to_tensor(n)
