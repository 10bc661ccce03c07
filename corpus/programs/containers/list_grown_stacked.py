"""The path of a damped oscillator, one state for each step.

exercises: list append in a range over a tensor; stack of the grown list
rows: 74
"""

import paddle


def trajectory(state, steps):
    path = [state]
    for _ in range(steps):
        state = paddle.stack([state[0] + 0.1 * state[1], 0.9 * state[1] - 0.1 * state[0]])
        path.append(state)
    return paddle.stack(path)


def build():
    return trajectory


def inputs():
    for steps in (3, 1, 0, 5):
        yield paddle.to_tensor([1.0, 0.5]), paddle.to_tensor(steps)
