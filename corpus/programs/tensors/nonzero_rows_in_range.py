"""Sum the neighbours of every peak.

exercises: range over the shape of nonzero; for over its rows; indexing by them
rows: 90
"""

import paddle


def peaks(x):
    places = paddle.nonzero(x > 1).flatten()
    total = x.sum() * 0
    for i in range(places.shape[0]):
        total = total + x[places[i]] * (i + 1)
    for place in places:
        if place > 0:
            total = total - x[place - 1]
    return total, len(places)


def build():
    return peaks


def inputs():
    yield (paddle.to_tensor([0.5, 2.0, 0.1, 3.0]),)
    yield (paddle.to_tensor([0.5, 0.0, 0.1, 0.3]),)
    yield (paddle.to_tensor([5.0, 0.0, 0.1, 0.3]),)
