"""The first and last layer apart from the rest.

exercises: starred targets at each place, nested, of lists, tuples, ranges and texts
rows: 82
"""

import paddle


def apart(parts, x):
    first, *middle, last = parts
    *head, _ = "abc"
    (a, *b), c = range(3), x * 2
    [d, [*e]] = x, (a, *b)
    if x.sum() > 0:
        first, *middle = last, *middle, first
    total = x * 0
    for m in middle:
        total = total + m
    return first, total, len(middle), head, d + c, e


def build():
    return apart


def inputs():
    parts = [paddle.to_tensor(float(i)) for i in range(4)]
    yield parts, paddle.to_tensor([1.0, 2.0])
    yield parts, paddle.to_tensor([3.0, 2.0])
