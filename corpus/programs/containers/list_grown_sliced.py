"""The mean of the last two states of a chain and of all but the first.

exercises: slices of a list that a tensor loop grew
rows: 74
"""

import paddle


def tail_mean(x, steps):
    states = [x, x + 1]
    for _ in range(steps):
        x = x * 0.5
        states.append(x)
    return paddle.stack(states[-2:]).mean(0), sum(states[1:])


def build():
    return tail_mean


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
