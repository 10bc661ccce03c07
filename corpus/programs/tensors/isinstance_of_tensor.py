"""A helper that accepts numbers, lists and tensors.

exercises: isinstance of paddle.Tensor, of numbers and of lists, in a recursive helper
rows: 67
"""

import paddle


def to_vector(value):
    if isinstance(value, paddle.Tensor):
        return value.flatten()
    if isinstance(value, (int, float)):
        return paddle.full([1], float(value))
    assert isinstance(value, (list, tuple))
    return paddle.concat([to_vector(v) for v in value])


def total(x, scale):
    known = isinstance(x, (paddle.Tensor, list))
    parts = to_vector([x, 2, (x * scale, 0.5)])
    if parts.sum() > 0 and known:
        parts = parts * scale
    return parts, known, isinstance(x, float), isinstance(parts, paddle.Tensor)


def build():
    return total


def inputs():
    x = paddle.to_tensor([[1.0, 2.0]])
    yield x, paddle.to_tensor(2.0)
    yield -x, paddle.to_tensor(2.0)
