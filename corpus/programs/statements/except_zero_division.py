"""A mean that survives an empty list, with finally.

exercises: try/except ZeroDivisionError/finally; a variable set in each part
rows: 58
"""

import paddle


def mean_of(values, x):
    state = "start"
    total = x * 0
    for v in values:
        total = total + v
    try:
        share = 1 / len(values)
        state = "done"
    except ZeroDivisionError:
        share = 0.0
        state = "empty"
    finally:
        total = total + x
    return total * share, state


def build():
    return mean_of


def inputs():
    x = paddle.to_tensor(1.5)
    yield [paddle.to_tensor(1.0), paddle.to_tensor(2.0)], x
    yield [], x
