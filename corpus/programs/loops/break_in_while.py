"""Gradient steps that stop as soon as the loss grows.

exercises: break in a tensor while; code before and after the break
rows: 37
"""

import paddle


def descend(x, rate, steps):
    step = paddle.zeros([], "int64")
    loss = (x * x).sum()
    while step < steps:
        x = x - rate * 2 * x
        new = (x * x).sum()
        if new > loss:
            break
        loss = new
        step = step + 1
    return x, loss, step


def build():
    return descend


def inputs():
    for rate, steps in ((0.1, 4), (1.2, 4), (0.3, 1), (0.3, 0)):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(rate), paddle.to_tensor(steps)
