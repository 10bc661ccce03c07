"""Cumulative products by item assignment in a plain loop.

exercises: item assignment in an unrolled loop, under a tensor if
rows: 87
"""

import paddle


def running_product(x):
    y = paddle.ones([4])
    product = paddle.ones([])
    for i in range(len(x)):
        if x[i] > 0:
            product = product * x[i]
            y[i] = product
        else:
            y[i] = -x[i]
    return y


def build():
    return running_product


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0, 4.0]),)
    yield (paddle.to_tensor([1.0, -2.0, 3.0, -4.0]),)
