"""The first trip must set the scale that later trips use.

exercises: name bound in one trip and read in the next; read before it is bound raises
rows: 25
"""

import paddle

RAISES = {2: UnboundLocalError}


def relative(values):
    total = paddle.zeros([])
    i = paddle.zeros([], "int64")
    while i < 3:
        if values[i] > 1:
            scale = values[i]
        total = total + values[i] / scale
        i = i + 1
    return total


def build():
    return relative


def inputs():
    yield (paddle.to_tensor([2.0, 1.0, 3.0]),)
    yield (paddle.to_tensor([4.0, 0.5, 1.0]),)
    yield (paddle.to_tensor([0.5, 2.0, 1.0]),)
