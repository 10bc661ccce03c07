"""A decoder that returns attention weights only when they are sharp.

exercises: tuple on one path, tensor on the other
rows: 45
"""

import paddle


def attend(query, keys):
    weights = paddle.nn.functional.softmax(keys @ query)
    out = weights @ keys
    if weights.max() > 0.8:
        return out, weights
    return out


def build():
    return attend


def inputs():
    keys = paddle.to_tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    yield paddle.to_tensor([9.0, 0.1]), keys
    yield paddle.to_tensor([0.9, 0.1]), keys
