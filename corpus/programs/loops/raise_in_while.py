"""Newton's method that gives up with an error.

exercises: raise in a tensor while, decided by a tensor; the message names the cause
rows: 17, 59
"""

import paddle

RAISES = {2: ArithmeticError, 3: ArithmeticError}


def solve(x, a):
    steps = paddle.zeros([], "int64")
    while (x * x - a).abs() > 1e-3:
        if x.abs() < 1e-6:
            raise ArithmeticError("the slope is zero")
        x = (x + a / x) * 0.5
        steps = steps + 1
        if steps > 8:
            raise ArithmeticError("no convergence")
    return x


def build():
    return solve


def inputs():
    for x, a in ((3.0, 4.0), (2.0, 4.0), (0.0, 4.0), (1.0, -4.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(a)
