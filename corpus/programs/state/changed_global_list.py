"""The list of loss weights is edited between calls.

exercises: items and length of a global list of Python values changed after the capture
rows: 97
"""

import paddle

weights = [1.0, 2.0]


def total(losses):
    result = paddle.zeros([])
    for w, loss in zip(weights, losses):
        result = result + w * (loss if loss > 0 else -loss)
    return result


def BEFORE(index):
    weights[:] = ([1.0, 2.0], [1.0, 5.0], [1.0, 5.0, 7.0])[index]


def build():
    return total


def inputs():
    for sign in (1.0, 1.0, -1.0):
        yield (paddle.to_tensor([1.0, -2.0, 3.0]) * sign,)
