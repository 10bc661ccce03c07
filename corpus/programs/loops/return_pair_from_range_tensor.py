"""The first entry above a bound and its index, or -1.

exercises: return of the index and a tensor out of range(t); return of -1 after it
rows: 26, 43
"""

import paddle


def find(x, n, bound):
    for i in range(n):
        if x[i] > bound:
            return i, x[i] * 2
    return -1, x[0]


def build():
    return find


def inputs():
    for n, bound in ((3, 0.5), (3, 2.5), (3, 9.0), (2, 2.5), (0, 0.5)):
        yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor(n), paddle.to_tensor(bound)
