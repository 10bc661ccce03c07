"""The layers that are switched off are listed in an attribute, edited between calls.

exercises: list and dict attributes of a layer changed in place after the capture
rows: 97
"""

import paddle
from paddle import nn


class Skipping(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.LayerList([nn.Linear(2, 2) for _ in range(3)])
        self.skipped = []
        self.gains = {"out": 1.0}

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            if i in self.skipped:
                continue
            x = layer(x)
            if x.sum() > 0:
                x = x * 0.5
        return x * self.gains["out"]


layer = None


def BEFORE(index):
    layer.skipped[:] = ([], [1], [0, 2])[index]
    layer.gains["out"] = (1.0, 1.0, 3.0)[index]


def build():
    global layer
    layer = Skipping()
    return layer


def inputs():
    for value in (1.0, 1.0, -2.0):
        yield (paddle.to_tensor([value, 0.5]),)
