"""A fixed point iteration whose error starts as a Python number.

exercises: the condition of a while is Python before the first trip and a tensor after it
rows: 20
"""

import paddle


def fixed_point(x, tolerance):
    error = 1e9
    while error > 1e-2:
        new = (x + 2.0 / x) * 0.5
        error = (new - x).abs() * tolerance
        x = new
    return x, error


def build():
    return fixed_point


def inputs():
    for x, tolerance in ((1.4142, 1.0), (1.0, 1.0), (30.0, 1.0), (30.0, 1e-6)):
        yield paddle.to_tensor(x), paddle.to_tensor(tolerance)
