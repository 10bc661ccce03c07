"""A total by einsum on one side only.

exercises: einsum of one operand to a scalar inside a tensor branch
rows: 1
"""

import paddle


def total(x, w):
    if x.sum() < 0:
        y = x
    else:
        y = x + paddle.einsum("ij->", w)
    return y


def build():
    return total


def inputs():
    w = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    yield paddle.to_tensor([1.0, 2.0]), w
    yield paddle.to_tensor([-1.0, -2.0]), w
