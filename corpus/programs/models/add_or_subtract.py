"""The smallest early return: the sum or the difference of two numbers.

exercises: if and else that both return
rows: 1, 41
"""

import paddle


def add_or_subtract(x, y):
    if x > y:
        return x + y
    else:
        return x - y


def build():
    return add_or_subtract


def inputs():
    yield paddle.to_tensor(3.0), paddle.to_tensor(2.0)
    yield paddle.to_tensor(2.0), paddle.to_tensor(3.0)
    yield paddle.to_tensor(2.0), paddle.to_tensor(2.0)
