"""Replay: pick one of the states that a loop recorded.

exercises: grown list indexed by an integer tensor, positive and negative
rows: 74, 77
"""

import paddle


def replay(x, steps, at):
    states = [x]
    for _ in range(steps):
        x = paddle.tanh(x) + 1
        states.append(x)
    return states[at] * 3


def build():
    return replay


def inputs():
    for steps, at in ((3, 1), (3, -1), (0, 0), (1, 1)):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(steps), paddle.to_tensor(at)
