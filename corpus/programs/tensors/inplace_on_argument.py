"""A buffer of the caller is updated in place.

exercises: in-place methods on an argument; set_value of an argument; the caller sees it
rows: 88
"""

import paddle

GRAD = False  # leaves that need a gradient may not be changed in place


def update(average, count, x):
    average.scale_(0.5)
    average.add_(x * 0.5)
    count.add_(paddle.ones_like(count))
    if x.sum() > 3:
        average.set_value(x)
    return average * 2


def build():
    return update


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(3), paddle.to_tensor([1.0, 1.0])
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(4), paddle.to_tensor([3.0, 1.0])
