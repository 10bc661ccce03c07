"""Conditions over whole tensors, joined with Python's operators.

exercises: t.any() and t.all() as conditions; not of them; and with a Python value
rows: 10
"""

import paddle


def repair(x, frozen):
    if (x > 0).all() and not frozen:
        x = x.log()
    if paddle.isnan(x).any() or (x < -5).any():
        x = paddle.zeros_like(x)
    if not (x != 0).any():
        x = x + 1
    return x


def build():
    return repair


def inputs():
    for x in ([1.0, 2.0], [0.5, -2.0], [-9.0, 2.0], [1.0, 1.0]):
        yield paddle.to_tensor(x), False
    yield paddle.to_tensor([1.0, 2.0]), True
