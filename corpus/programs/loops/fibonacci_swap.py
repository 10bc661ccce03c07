"""The Fibonacci numbers of real starting values.

exercises: simultaneous assignment a, b = b, a + b in a range with a tensor bound
rows: 26, 82
"""

import paddle


def fibonacci(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a, b


def build():
    return fibonacci


def inputs():
    for n in (0, 1, 6):
        yield paddle.to_tensor(0.5), paddle.to_tensor(1.0), paddle.to_tensor(n)
