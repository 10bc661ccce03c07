"""A name bound behind `and` is read only where that was reached.

exercises: walrus in the right operand of and
rows: 21
"""

import paddle


def stretch(x, gate):
    if gate > 0 and (width := x.max() - x.min()) > 1:
        x = x / width
    return x * 2


def build():
    return stretch


def inputs():
    for x, gate in (([3.0, 1.0], 1), ([3.0, 1.0], 0), ([1.0, 0.5], 1)):
        yield paddle.to_tensor(x), paddle.to_tensor(gate)
