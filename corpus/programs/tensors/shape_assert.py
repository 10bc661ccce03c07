"""A matrix product that checks its operands first.

exercises: assert on shapes, ranks and dtypes; message with the shape
rows: 61, 89
"""

import paddle

RAISES = {2: AssertionError, 3: AssertionError}


def project(x, weight):
    assert x.ndim == 2, f"x must be a matrix, not of rank {x.ndim}"
    assert x.shape[1] == weight.shape[0], f"{x.shape} does not fit {weight.shape}"
    assert x.dtype == weight.dtype
    y = x @ weight
    if y.sum() > 0:
        y = y - y.mean()
    return y


def build():
    return project


def inputs():
    weight = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    yield paddle.to_tensor([[1.0, 2.0]]), weight
    yield paddle.to_tensor([[-1.0, -2.0]]), weight
    yield paddle.to_tensor([[1.0, 2.0, 3.0]]), weight
    yield paddle.to_tensor([1.0, 2.0]), weight
