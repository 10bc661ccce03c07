"""A global learning rate, a plain float, that is halved at each call.

exercises: global float changed by the function and by its caller between calls
rows: 53
"""

import paddle

RATE = 1.0


def step(x, grad):
    global RATE
    RATE = RATE * 0.5
    if grad.abs().max() > 1:
        grad = grad / grad.abs().max()
    return x - RATE * grad


def reset(index):
    global RATE
    if index == 0:
        RATE = 1.0


BEFORE = reset


def build():
    return step


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x
    yield x, x * 0.1
    yield x, x
