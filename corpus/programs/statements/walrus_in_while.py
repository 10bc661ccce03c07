"""Newton's method with its residual in the loop's head.

exercises: walrus in the condition of a tensor while; the name read after the loop
rows: 21
"""

import paddle


def newton(x):
    steps = 0
    while (error := x * x - 2).abs() > 1e-3:
        x = x - error / (2 * x)
        steps += 1
    return x, error, steps


def build():
    return newton


def inputs():
    for start in (2.0, 50.0, 1.41421):
        yield (paddle.to_tensor(start),)
