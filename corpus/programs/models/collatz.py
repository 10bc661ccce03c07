"""Count the steps of the Collatz sequence and remember its peak.

exercises: while on an integer tensor; if and else inside a while; if without else inside a while
rows: 1, 17
"""

import paddle

GRAD = False  # integers


def collatz(n):
    two = paddle.to_tensor(2)  # 0-D // python int has shape [1] in dygraph, 0-D // 0-D has shape []
    steps = paddle.zeros([], "int64")
    peak = n
    while n != 1:
        if n % 2 == 0:
            n = n // two
        else:
            n = 3 * n + 1
        if n > peak:
            peak = n
        steps += 1
    return steps, peak


def build():
    return collatz


def inputs():
    for n in (6, 1, 2, 7):
        yield (paddle.to_tensor(n),)
