"""First, middle and last states of a chain, by starred unpacking.

exercises: starred unpacking of a list of known length, of a tensor and in a branch
rows: 82
"""

import paddle


def outline(rows, x):
    first, *middle, last = rows
    head, *rest = x
    if head > 0:
        *front, tail = [first, last, first * 2]
    else:
        *front, tail = [last, first, last * 3]
    return first + last, middle, head, rest, front, tail


def build():
    return outline


def inputs():
    for sign in (1.0, -1.0):
        x = paddle.to_tensor([1.0, 2.0, 3.0]) * sign
        yield [x, x + 1, x + 2, x + 3], x
