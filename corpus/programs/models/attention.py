"""Multi-head attention with an optional mask.

exercises: None default argument; python condition; dropout that is off in eval; reshape by x.shape
rows: 41, 89, 91, 99
"""

import math

import paddle
from paddle import nn
from paddle.nn import functional as F

MODES = ("eval",)


class Attention(nn.Layer):
    def __init__(self, width, heads, dropout=0.1):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.dropout = dropout

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape([batch, length, self.heads, width // self.heads]).transpose([0, 2, 1, 3])

    def forward(self, x, mask=None):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose([0, 1, 3, 2]) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + (1.0 - mask) * -1e4
        weights = F.dropout(F.softmax(scores, axis=-1), self.dropout, training=self.training)
        mixed = (weights @ v).transpose([0, 2, 1, 3])
        return self.out(mixed.reshape([x.shape[0], x.shape[1], -1])), weights


def build():
    return Attention(8, 2)


def inputs():
    x = paddle.randn([2, 4, 8])
    yield (x,)
    yield x, paddle.tril(paddle.ones([4, 4]))
    yield paddle.randn([3, 4, 8]), paddle.ones([4, 4])
