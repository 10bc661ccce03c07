"""A small record class made where it is used.

exercises: class statement inside a function, with methods that hold a tensor if
rows: 54
"""

import paddle


def leaky(x, slope):
    class Slope:
        kind = "leaky"

        def __init__(self, value):
            self.value = value

        def apply(self, v):
            if v.sum() > 0:
                return v
            return v * self.value

    made = Slope(slope)
    return made.apply(x) + 1, made.kind


def build():
    return leaky


def inputs():
    slope = paddle.to_tensor(0.1)
    yield paddle.to_tensor([1.0, 2.0]), slope
    yield paddle.to_tensor([-1.0, -2.0]), slope
