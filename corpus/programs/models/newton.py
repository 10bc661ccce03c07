"""Square root by Newton's iteration, with a limit on the number of steps.

exercises: while on a tensor; compound condition; python counter in a tensor loop; backward
    through a while
rows: 10, 17
"""

import paddle


def newton(a, x, limit):
    steps = 0
    while paddle.abs(x * x - a) > 1e-4 and steps < limit:
        x = 0.5 * (x + a / x)
        steps = steps + 1
    return x, steps


def build():
    return newton


def inputs():
    yield paddle.to_tensor(2.0), paddle.to_tensor(1.0), 20
    yield paddle.to_tensor(9.0), paddle.to_tensor(3.0), 20
    yield paddle.to_tensor(50.0), paddle.to_tensor(1.0), 20
    yield paddle.to_tensor(50.0), paddle.to_tensor(1.0), 2
    yield paddle.to_tensor(9.0), paddle.to_tensor(1.0), 0
