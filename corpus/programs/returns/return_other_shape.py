"""A vector is returned whole when it is small, as its norm when it is large.

exercises: tensors of different rank by path
rows: 45
"""

import paddle


def condense(x):
    norm = (x * x).sum()
    if norm > 10:
        return norm
    if norm > 1:
        return x[:2]
    return x


def build():
    return condense


def inputs():
    x = paddle.to_tensor([1.0, -2.0, 0.5])
    for scale in (2.0, 1.0, 0.1):
        yield (x * scale,)
