"""Fibonacci and a sort of two values by swapping tuples.

exercises: tuple swap in a branch and in a tensor loop
rows: 82
"""

import paddle


def swap_and_step(a, b, steps):
    if a > b:
        a, b = b, a
    for _ in range(steps):
        a, b = b, a + b
    return a, b


def build():
    return swap_and_step


def inputs():
    for a, b, steps in ((1.0, 2.0, 3), (2.0, 1.0, 3), (2.0, 1.0, 0), (1.0, 2.0, 1)):
        yield paddle.to_tensor(a), paddle.to_tensor(b), paddle.to_tensor(steps)
