"""A filter with a tensor as the default of an argument.

exercises: default arguments that are tensors and None; a default made at definition
rows: 91
"""

import paddle


def smooth(x, kernel=paddle.to_tensor([0.25, 0.5, 0.25]), bias=None):  # noqa: B008
    y = (x * kernel).sum()
    if bias is None:
        bias = x.mean()
    if y > bias:
        y = y + kernel[1]
    return y, bias


def build():
    return smooth


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0])
    yield (x,)
    yield (-x, paddle.to_tensor([1.0, 1.0, 0.0]))
    yield x, paddle.to_tensor([1.0, 1.0, 0.0]), paddle.to_tensor(10.0)
