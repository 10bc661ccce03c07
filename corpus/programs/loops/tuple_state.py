"""An oscillator whose state is one tuple.

exercises: tuple rebound in a tensor while and unpacked in the body
rows: 17, 82
"""

import paddle


def oscillate(position, speed, dt, end):
    state = (position, speed, paddle.zeros([]))
    while state[2] < end:
        p, v, t = state
        v = v - dt * p
        state = (p + dt * v, v, t + dt)
    return state


def build():
    return oscillate


def inputs():
    for end in (0.0, 0.25, 1.0):
        p, v = paddle.to_tensor([1.0, 0.0]), paddle.to_tensor([0.0, 1.0])
        yield p, v, paddle.to_tensor(0.3), paddle.to_tensor(end)
