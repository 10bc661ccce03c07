"""The first n rows, each with its index.

exercises: zip(range(t), tensor); enumerate(range(t)); reversed(list(enumerate(list)))
rows: 26, 28, 29
"""

import paddle


def head(rows, n, parts):
    total = paddle.zeros([2])
    for i, row in zip(range(n), rows):
        total = total + row * (i + 1)
    for k, i in enumerate(range(n), 1):
        total = total + k * i
    for k, part in reversed(list(enumerate(parts))):
        total = total * 0.5 + part * k
    return total


def build():
    return head


def inputs():
    for n in (0, 1, 2, 5):
        rows = paddle.to_tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
        yield rows, paddle.to_tensor(n), [paddle.to_tensor(1.0), paddle.to_tensor(2.0)]
