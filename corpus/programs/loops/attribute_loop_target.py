"""A meter whose attribute is the loop variable.

exercises: for self.x in a list of tensors with a tensor break
rows: 31, 84
"""

import paddle


class Meter:
    def __init__(self):
        self.current = None
        self.total = paddle.zeros([])

    def run(self, values, bound):
        for self.current in values:
            self.total = self.total + self.current
            if self.total > bound:
                break
        return self.current, self.total


def measure(values, bound):
    return Meter().run(values, bound)


def build():
    return measure


def inputs():
    for bound in (0.5, 2.5, 99.0):
        yield [paddle.to_tensor(v) for v in (1.0, 2.0, 3.0)], paddle.to_tensor(bound)
