"""Losses by name, a pair of states and constants, nested.

exercises: nested result of dict, list, tuple, None, bool and numbers; the same tensor twice
rows: 91
"""

import paddle


def step(x, y):
    loss = (x - y).abs().sum()
    if loss > 1:
        x = x - 0.1 * (x - y)
    return {"loss": [loss, {"twice": loss}], "state": ((x, y), None)}, True, 3, 0.5, []


def build():
    return step


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 3
    yield x, x * 1.1
