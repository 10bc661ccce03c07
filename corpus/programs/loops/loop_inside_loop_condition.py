"""The longest prefix whose maximum, found by a loop of its own, is below a bound.

exercises: a helper with a tensor loop called in the condition of a tensor while
rows: 17, 54
"""

import paddle


def prefix_sum(x, n):
    total = paddle.zeros([])
    for i in range(n):
        total = total + x[i] * x[i]
    return total


def longest(x, bound):
    n = paddle.zeros([], "int64")
    while prefix_sum(x, n + 1) < bound:
        n = n + 1
    return n, prefix_sum(x, n)


def build():
    return longest


def inputs():
    for bound in (0.5, 4.0, 20.0):
        yield paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), paddle.to_tensor(bound)
