"""A default by `t or v`: the first operand that is true, else the last one.

exercises: value of or; tensor operands; mixed python and tensor operands
rows: 12
"""

import paddle


def with_default(given, fallback):
    chosen = given or fallback
    number = given or 2.5
    last = given or 0.0 or fallback
    return chosen * 2, number, last


def build():
    return with_default


def inputs():
    for given, fallback in ((2.0, 3.0), (0.0, 3.0), (0.0, 0.0)):
        yield paddle.to_tensor(given), paddle.to_tensor(fallback)
