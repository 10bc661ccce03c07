"""The first row whose sum is negative, among any number of rows.

exercises: for over a tensor of unknown length with break, continue and else
rows: 27, 36, 37
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None, 2], "float32")]


def first_negative(rows):
    total = paddle.zeros([])
    for row in rows:
        if row[0] > 5:
            continue
        total = total + row[1]
        if row.sum() < 0:
            found = row * 2
            break
    else:
        found = paddle.zeros([2])
    return found, total


def build():
    return first_negative


def inputs():
    yield (paddle.to_tensor([[1.0, 1.0], [-3.0, 1.0], [-5.0, 2.0]]),)
    yield (paddle.to_tensor([[1.0, 1.0], [9.0, -20.0], [2.0, 2.0]]),)
    yield (paddle.to_tensor([[-1.0, 0.0]]),)
    yield (paddle.zeros([0, 2]),)
