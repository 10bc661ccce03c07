"""Scaled copies of a state in each trip of a tensor loop.

exercises: comprehension in the body of a tensor loop that reads loop variables; name shadowed
rows: 48, 49
"""

import paddle


def scaled(x, steps):
    i = paddle.to_tensor(7.0)
    for t in range(steps):
        parts = [x * i + t for i in range(3)]
        x = sum(p if p.sum() > 0 else p * 0.1 for p in parts) / 3
    return x * i


def build():
    return scaled


def inputs():
    for sign, steps in ((1.0, 3), (-1.0, 2), (1.0, 0), (-1.0, 1)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
