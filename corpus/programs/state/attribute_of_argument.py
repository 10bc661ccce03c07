"""The caller's object is changed by a tensor branch and by a tensor loop.

exercises: attributes of an object that the function reads from a global; it keeps them
rows: 84, 85
"""

import paddle


class Clock:
    def __init__(self):
        self.time = paddle.zeros([])
        self.alarms = paddle.zeros([])


clock = Clock()
OBSERVED = lambda: (clock.time, clock.alarms)  # noqa: E731


def tick(x, steps):
    for _ in range(steps):
        clock.time = (clock.time + x.sum()).detach()
    if clock.time > 4:
        clock.alarms = clock.alarms + 1
    return x * clock.time


def build():
    clock.__init__()
    return tick


def inputs():
    for steps in (2, 0, 1):
        yield paddle.to_tensor([0.5, 0.75]), paddle.to_tensor(steps)
