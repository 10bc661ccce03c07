"""Intermediate values shown while debugging.

exercises: print of a tensor, of several, of a 0-D one, of an int tensor, of a list of tensors
rows: 62
"""

import paddle

ASSERT_STDOUT = True


def shown(x, n):
    y = x * 2
    print(y)
    print("mean:", y.mean(), "n:", n)
    print([x, n])
    return y + n


def build():
    return shown


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [0.5, 1e-8]])
    yield x, paddle.to_tensor(3)
    yield x * 1000, paddle.to_tensor(-3)
