"""A scheduler whose inner function sees the rate as it is at each call.

exercises: closure over a variable that a tensor if and a loop change after the definition
rows: 52
"""

import paddle


def descend(x, target):
    rate = 0.5

    def step(p):
        return p - rate * 2 * (p - target)

    first = step(x)
    if (first - target).abs().sum() > 1:
        rate = 0.25
    second = step(first)
    for _ in range(2):
        rate = rate * 0.5
        second = step(second)
    return first, second


def build():
    return descend


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor([1.1, 2.1])
    yield x, paddle.to_tensor([9.0, -9.0])
