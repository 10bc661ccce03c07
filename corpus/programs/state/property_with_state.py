"""A property whose setter keeps the value in a range.

exercises: property setter called in a tensor branch and in a tensor loop
rows: 85
"""

import paddle


class Dial:
    def __init__(self, value):
        self._value = value

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new.clip(0.0, 4.0)


def turn(x, steps):
    dial = Dial(x)
    if x.sum() > 0:
        dial.value = x * 3
    for _ in range(steps):
        dial.value = dial.value + 1
    return dial.value


def build():
    return turn


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 0)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
