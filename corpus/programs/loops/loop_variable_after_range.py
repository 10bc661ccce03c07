"""The index of the last trip, of a Python range and of a tensor range.

exercises: loop variable after for range(n); after for range(t)
rows: 26, 40
"""

import paddle


def last_index(x, n):
    for i in range(4):
        x = x + i
    for j in range(n):
        x = x * 1.5
    return x * i, i, j


def build():
    return last_index


def inputs():
    for n in (1, 2, 5):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
