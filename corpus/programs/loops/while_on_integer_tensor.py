"""Count the set bits; the number itself is the condition.

exercises: while on a bare integer tensor; & of integers in the body
rows: 16, 17
"""

import paddle

GRAD = False  # integers have no gradient


def bits(n):
    count = paddle.zeros([], "int64")
    while n:
        count = count + 1
        n = n & (n - 1)
    return count, n


def build():
    return bits


def inputs():
    for n in (0, 1, 6, 255):
        yield (paddle.to_tensor(n),)
