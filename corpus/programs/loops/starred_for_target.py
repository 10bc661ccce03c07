"""Rows of a head and any number of terms.

exercises: for head, *rest in a list of tuples; a tensor branch on the head
rows: 35
"""

import paddle


def evaluate(rows):
    total = paddle.zeros([])
    for head, *rest in rows:
        if head > 0:
            for term in rest:
                total = total + head * term
        else:
            total = total - len(rest)
    return total, rest


def build():
    return evaluate


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0)):
        one, two = paddle.to_tensor(a), paddle.to_tensor(b)
        yield ([(one, two, two), (two,), (two, one)],)
