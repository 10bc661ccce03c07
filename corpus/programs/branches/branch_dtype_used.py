"""A weight that is float64 or float32 enters a product afterwards.

exercises: float64 against float32 from branches, used in arithmetic afterwards
rows: 7
"""

import paddle


def weighted(x, hard):
    if hard > 0:
        weight = (x > 0).astype("float64")
    else:
        weight = paddle.nn.functional.sigmoid(x)
    return x * weight, (weight * 2).sum()


def build():
    return weighted


def inputs():
    x = paddle.to_tensor([1.0, -2.0, 4.0])
    for hard in (1, 0, 2):
        yield x, paddle.to_tensor(hard)
