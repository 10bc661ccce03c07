"""A bias that is a Python float or a float32 tensor stays float32 after arithmetic.

exercises: python float against a float32 tensor; dtype of the result
rows: 70
"""

import paddle


def biased(x, use):
    bias = 0.0
    if use > 0:
        bias = x.mean()
    y = x + bias
    counts = paddle.ones([2], "int32") * 2
    return y, counts + bias


def build():
    return biased


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    for use in (1, 0, 2):
        yield x, paddle.to_tensor(use)
