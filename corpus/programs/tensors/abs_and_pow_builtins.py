"""A robust loss with the numeric built-ins.

exercises: abs() and pow() of tensors, pow with a tensor exponent
rows: 65
"""

import paddle


def robust(error, power):
    size = abs(error)
    if size > 1:
        return size - 0.5
    return pow(size, power) / 2 + pow(error, 2)


def build():
    return robust


def inputs():
    power = paddle.to_tensor(2.0)
    yield paddle.to_tensor(3.1), power
    yield paddle.to_tensor(-0.4), power
