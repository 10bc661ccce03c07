"""A window of the last values: a new value is appended, and the list is cut, on one side only.

exercises: append, and a slice assigned to the attribute; the old list under its other name
rows: 78
"""

import paddle

GRAD = False  # the window is what counts


class Window:
    def __init__(self):
        self.items = []


window = Window()
first = window.items
OBSERVED = lambda: ([float(item) for item in window.items], [float(item) for item in first])


def reset(index):
    first[:] = [paddle.to_tensor(1.0), paddle.to_tensor(2.0), paddle.to_tensor(3.0)]
    window.items = first


BEFORE = reset


def push(x):
    if x > 0:
        window.items.append(x)
        window.items = window.items[-3:]
    return sum(window.items)


def build():
    return push


def inputs():
    for value in (4.0, -1.0, 7.0):
        yield (paddle.to_tensor(value),)
