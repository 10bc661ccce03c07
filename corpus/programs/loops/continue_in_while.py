"""Add the odd multiples of a weight.

exercises: continue in a tensor while, after the counter moved
rows: 37
"""

import paddle


def odd_multiples(weight, n):
    i = paddle.zeros([], "int64")
    total = paddle.zeros([])
    while i < n:
        i = i + 1
        if i % 2 == 0:
            continue
        total = total + weight * i
    return total


def build():
    return odd_multiples


def inputs():
    for n in (0, 1, 2, 5):
        yield paddle.to_tensor(0.5), paddle.to_tensor(n)
