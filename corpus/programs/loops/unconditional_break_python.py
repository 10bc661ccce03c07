"""Apply the first fitting scale of a list.

exercises: break without a condition in a for over a Python list
rows: 37
"""

import paddle


def scale(x, bound):
    for factor in [2.0, 3.0, 4.0]:
        if x.sum() > bound:
            x = x - 1
        x = x * factor
        break
    return x


def build():
    return scale


def inputs():
    for bound in (0.0, 9.0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
