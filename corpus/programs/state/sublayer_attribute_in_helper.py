"""A helper far down sets an attribute of a sublayer of a sublayer.

exercises: attribute of a nested sublayer assigned by a function called in a tensor branch
rows: 85, 84
"""

import paddle
from paddle import nn

STATE = ("encoder.block.scale",)


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = paddle.ones([])

    def forward(self, x):
        return self.linear(x) * self.scale


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)


def rescale(model, peak):
    def apply(block):
        block.scale = (1 / peak).detach()

    apply(model.encoder.block)


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        y = self.encoder(x)
        peak = y.abs().max()
        if peak > 2:
            rescale(self, peak)
            y = self.encoder(x)
        return y


def build():
    return Model()


def inputs():
    for value in (0.1, 9.0, 0.1):
        yield (paddle.to_tensor([value, 0.5]),)
