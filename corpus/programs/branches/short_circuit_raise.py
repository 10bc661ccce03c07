"""A check that raises stands behind `and` and behind `or`; it runs only where it must.

exercises: short circuit; right operand that raises, reached on one input
rows: 11
"""

import paddle

RAISES = {2: ValueError}


def positive(x):
    if x <= 0:
        raise ValueError("must be positive")
    return x > 2


def accept(x, strict):
    if strict > 0 and positive(x):
        return x * 2
    if strict < 0 or positive(x + 10):
        return x + 1
    return x


def build():
    return accept


def inputs():
    for x, strict in ((3.0, 1), (1.0, 1), (-1.0, 1), (-1.0, 0), (-30.0, -1)):
        yield paddle.to_tensor(x), paddle.to_tensor(strict)
