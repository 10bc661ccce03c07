"""A floor that is a Python number on one side enters an expression with tensors.

exercises: ternary with a Python number on one side
rows: 5, 9
"""

import paddle


def floored(x, y):
    floor = x if x > -1 else -1.0
    gain = 2 if y.sum() > 0 else y.mean()
    return y + floor, y * gain


def build():
    return floored


def inputs():
    for x, y in ((0.5, [1.0, 2.0]), (-3.0, [1.0, 2.0]), (0.5, [-1.0, -2.0])):
        yield paddle.to_tensor(x), paddle.to_tensor(y)
