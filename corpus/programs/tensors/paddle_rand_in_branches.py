"""Exploration noise drawn in one branch only.

exercises: paddle.rand, randn, randint, dropout and bernoulli under a seed, drawn in every call
rows: 73
"""

import paddle
from paddle.nn import functional as F


def explore(x, greedy):
    if greedy > 0:
        y = x + paddle.rand([3])
    else:
        y = F.dropout(x, 0.5) * paddle.randint(1, 5, [3]).astype("float32")
    return y + paddle.randn([3]), paddle.bernoulli(paddle.full([3], 0.5))


def build():
    return explore


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x, paddle.to_tensor(1)
