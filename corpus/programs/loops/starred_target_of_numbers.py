"""A weight and the terms that it belongs to, taken apart by the loop.

exercises: starred target of a Python for over tuples of numbers
rows: 35
"""

import paddle


def weighted(x, rows):
    total = x
    for weight, *terms in rows:
        for term in terms:
            total = total + weight * term * x
    return total


def build():
    return weighted


def inputs():
    yield paddle.to_tensor([1.0, 3.0]), [(1, 2, 3), (2, 5, 7)]
    yield paddle.to_tensor([1.0, 3.0]), []
