"""A data set of the old style, with __getitem__ and without __iter__.

exercises: for over an object with only __getitem__; tensor break in it
rows: 34, 39
"""

import paddle


class Squares:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, index):
        if index == 4:
            raise IndexError(index)
        return self.x * index * index


def add_up(x, bound):
    total = paddle.zeros([2])
    for item in Squares(x):
        total = total + item
        if total.max() > bound:
            break
    return total


def build():
    return add_up


def inputs():
    for bound in (0.5, 3.0, 99.0):
        yield paddle.to_tensor([1.0, -0.5]), paddle.to_tensor(bound)
