"""Replace outliers, and the places named by a tensor.

exercises: item assignment with a boolean mask, an index tensor, a 0-D tensor and a list
rows: 87
"""

import paddle


def repair(x, places, place):
    y = x * 1
    y[y > 3] = 3.0
    y[places] = -1.0
    y[place] = y[place] * 10
    y[[0, 2]] = x[[1, 1]]
    return y


def build():
    return repair


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.5, 4.0, 5.0])
    yield x, paddle.to_tensor([1, 3]), paddle.to_tensor(4)
    yield x, paddle.to_tensor([0, 4]), paddle.to_tensor(2)
    yield x / 10, paddle.to_tensor([0, 4]), paddle.to_tensor(2)
