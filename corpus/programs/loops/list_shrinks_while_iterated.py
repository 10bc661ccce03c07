"""Every second entry is visited because the visited ones are removed.

exercises: list popped from while it is iterated, with a tensor branch in the body
rows: 33
"""

import paddle


def eat(given, bound):
    rows = list(given)
    total = paddle.zeros([])
    for row in rows:
        if row.sum() > bound:
            total = total + row.sum()
        rows.pop()
    return total, len(rows)


def build():
    return eat


def inputs():
    for bound in (0.0, 2.0, 99.0):
        yield [paddle.to_tensor([v, 0.5]) for v in (1.0, 2.0, 3.0, 4.0)], paddle.to_tensor(bound)
