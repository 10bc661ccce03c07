"""A penalty that is the int 0 unless the norm asks for more.

exercises: python int against a tensor in branches; used in arithmetic afterwards
rows: 5
"""

import paddle


def penalised(x, limit):
    penalty = 0
    norm = (x * x).sum()
    if norm > limit:
        penalty = (norm - limit) * 0.1
    return x.sum() + penalty


def build():
    return penalised


def inputs():
    limit = paddle.to_tensor(2.0)
    yield paddle.to_tensor([1.0, 2.0]), limit
    yield paddle.to_tensor([1.0, 0.5]), limit
    yield paddle.to_tensor([0.0, 3.0]), limit
