"""A schedule is an object with __call__, used like a function.

exercises: callable object with a tensor if; its attribute is a tensor
rows: 54
"""

import paddle


class Warmup:
    def __init__(self, peak, steps):
        self.peak = paddle.to_tensor(peak)
        self.steps = steps

    def __call__(self, step):
        if step < self.steps:
            return self.peak * step / self.steps
        return self.peak * (self.steps / step) ** 0.5


SCHEDULE = Warmup(0.5, 4)


def update(x, step):
    return x - SCHEDULE(step) * x


def build():
    return update


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for step in (1.0, 4.0, 9.0):
        yield x, paddle.to_tensor(step)
