"""Totals by Python's sum over lists, generators and with a start.

exercises: sum of a list; of a generator; with start; of a mixed list
rows: 15
"""

import paddle


def totals(parts):
    total = sum(parts)
    if total.sum() > 3:
        total = total * 0.5
    squares = sum((p * p for p in parts), start=paddle.ones([2]))
    return total, squares, sum([1, parts[0], 0.5])


def build():
    return totals


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 0.5), (4.0, -2.0)):
        yield ([paddle.to_tensor([a, 1.0]), paddle.to_tensor([b, 0.5])],)
