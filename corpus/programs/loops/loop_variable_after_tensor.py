"""The last row that was looked at.

exercises: loop variable after a for over a tensor with a tensor break
rows: 27, 37, 40
"""

import paddle


def last_seen(rows, bound):
    total = paddle.zeros([])
    for row in rows:
        total = total + row.sum()
        if total > bound:
            break
    return row * 2, total


def build():
    return last_seen


def inputs():
    for bound in (0.5, 4.0, 99.0):
        yield paddle.to_tensor([[1.0, 0.5], [2.0, 3.0], [0.0, 1.0]]), paddle.to_tensor(bound)
