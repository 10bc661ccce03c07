"""A running mean in a plain class whose method is called in a branch and in a loop.

exercises: method that assigns attributes of a plain object, called under tensor conditions
rows: 85
"""

import paddle


class Mean:
    def __init__(self):
        self.total = paddle.zeros([2])
        self.count = paddle.zeros([])

    def add(self, x):
        self.total = self.total + x
        self.count = self.count + 1
        return self

    def value(self):
        return self.total / (self.count + 1e-3)


def average(x, steps):
    mean = Mean()
    if x.sum() > 0:
        mean.add(x).add(x * 2)
    for _ in range(steps):
        x = x * 0.5
        mean.add(x)
    return mean.value()


def build():
    return average


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 0)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
