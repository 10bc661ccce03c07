"""A head trained in mixed precision on features that take no gradient.

exercises: auto_cast inside around a linear layer whose input is detached
rows: 102
"""

import paddle
from paddle import nn


class Head(nn.Layer):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        features = x.detach() * 2
        with paddle.amp.auto_cast(dtype="bfloat16", level="O1"):
            y = self.head(features)
            if y.sum() > 0:
                y = y * 2
        return y


def build():
    return Head()


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0, 3.0]]) * sign,)
