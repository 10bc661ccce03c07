"""A queue given by the caller is emptied, and the large entries are summed.

exercises: while over a list argument that is popped in the body, with a tensor branch
rows: 31
"""

import paddle


def drain(queue, bound):
    total = paddle.zeros([])
    while queue:
        row = queue.pop(0)
        if row.sum() > bound:
            total = total + row.sum()
    return total


def build():
    return drain


def inputs():
    for bound in (0.0, 2.0, 99.0):
        yield [paddle.to_tensor([v, 0.5]) for v in (1.0, 2.0, 3.0)], paddle.to_tensor(bound)
