"""The body changes its loop variable, which does not change the trips.

exercises: loop variable of range(t) assigned in the body and read after the loop
rows: 26, 40
"""

import paddle


def skip_ahead(x, n):
    total = paddle.zeros([])
    for i in range(n):
        total = total + x * i
        if total > 2:
            i = i + 10
    return total, i


def build():
    return skip_ahead


def inputs():
    for n in (1, 2, 4):
        yield paddle.to_tensor(1.0), paddle.to_tensor(n)
