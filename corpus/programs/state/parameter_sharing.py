"""An autoencoder whose decoder uses the encoder's weight.

exercises: parameter shared by two sublayers; one layer under two names; transposed use
rows: 86
"""

import paddle
from paddle import nn


class Tied(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 2)
        self.same = self.encoder
        self.head = nn.Linear(3, 2)
        self.head.weight = self.encoder.weight

    def forward(self, x):
        code = self.encoder(x)
        if code.sum() > 0:
            code = self.same(x) + self.head(x)
        return code @ self.encoder.weight.t()


def build():
    return Tied()


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0, 3.0]]) * sign,)
