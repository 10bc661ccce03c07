"""Each trip's variable has the name of what is iterated.

exercises: for x in x over a tensor; the iterable rebound in the body
rows: 27, 40
"""

import paddle


def fold(x, y):
    total = paddle.zeros([])
    for x in x:
        total = total * 0.5 + x
    for v in y:
        y = y + v
    return total * x, y


def build():
    return fold


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([1.0, 2.0])
    yield paddle.to_tensor([-1.0, 0.5, 2.0]), paddle.to_tensor([3.0, -2.0])
