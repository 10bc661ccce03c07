"""The length that differs between the sides is read as a number and used in a shape.

exercises: dimension of a tensor of other shape read afterwards; returned; in reshape
rows: 8
"""

import paddle


def flatten_pair(x, cut):
    y = x
    if cut > 0:
        y = x[:, :1]
    rows, columns = y.shape
    flat = y.reshape([rows * columns])
    return flat / columns, columns


def build():
    return flatten_pair


def inputs():
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for cut in (1, 0, 2):
        yield x, paddle.to_tensor(cut)
