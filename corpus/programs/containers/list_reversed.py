"""Backward pass of a scan: the recorded states in reverse.

exercises: reversed() and reverse() of a grown list; slice with step -1
rows: 76
"""

import paddle


def backward_scan(x, steps):
    states = []
    for _ in range(steps):
        x = x * 0.5 + 1
        states.append(x)
    total = paddle.zeros_like(x)
    for s in reversed(states):
        total = total * 0.5 + s
    mirror = states[::-1]
    states.reverse()
    return total, mirror, states


def build():
    return backward_scan


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
