"""Weighted sum of a grown list by position.

exercises: enumerate over a list after the tensor loop that grew it; zip with its tail
rows: 74, 28
"""

import paddle


def weighted(x, steps):
    states = [x]
    for _ in range(steps):
        x = x * 0.5
        states.append(x)
    total = paddle.zeros_like(x)
    for i, s in enumerate(states):
        total = total + (i + 1) * s
    for a, b in zip(states, states[1:]):
        total = total + (a - b) ** 2
    return total


def build():
    return weighted


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
