"""Tell a tensor from a number by a class pattern.

exercises: class pattern paddle.Tensor(); with capture by as; other classes before it
rows: 47, 67
"""

import paddle


def total(value, x):
    match value:
        case list():
            y = x + len(value)
        case paddle.Tensor() as shift:
            y = x + shift.sum()
        case _:
            y = x * value
    return y


def build():
    return total


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for value in (paddle.to_tensor([1.0, 9.0]), 3, [1, 2]):
        yield value, x
