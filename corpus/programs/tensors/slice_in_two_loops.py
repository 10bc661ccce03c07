"""Two passes over the same places.

exercises: two loops over a tensor of unknown length that index the same input; their gradients
rows: 27, 90
"""

import paddle


def two_passes(x):
    places = paddle.nonzero(x > 1).flatten()
    total = x.sum() * 0
    for place in places:
        total = total + x[place]
    for place in places:
        total = total - x[place] / 2
    return total


def build():
    return two_passes


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([0.1, 0.2, 0.3]),)
    yield (paddle.to_tensor([1.0, 2.0, 0.3]),)
