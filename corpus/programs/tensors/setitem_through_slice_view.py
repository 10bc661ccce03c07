"""Two indices in a row: the second writes through the view that the first one makes.

exercises: y[0][1] = value; y[i][mask] = value
rows: 87, 88
"""

import paddle


def patch(x, value):
    y = x * 2
    y[0][1] = value
    if value > 1:
        y[1][0] = value * 2
    return y


def build():
    return patch


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    yield x, paddle.to_tensor(0.5)
    yield x, paddle.to_tensor(5.0)
