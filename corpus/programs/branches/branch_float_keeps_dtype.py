"""A Python factor from a branch must not widen a float32 tensor, nor narrow a float64 one.

exercises: python float merged with python float; dtype of products and sums
rows: 70
"""

import paddle


def anneal(x, late):
    factor = 1.0
    if late > 0:
        factor = 0.25
    return x * factor, x.astype("float64") * factor, factor + x, x**factor


def build():
    return anneal


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    for late in (1, 0, 2):
        yield x, paddle.to_tensor(late)
