"""The temperature of a layer is lowered between calls.

exercises: float, bool and str attributes changed after the first capture
rows: 97
"""

import paddle
from paddle import nn


class Sharpen(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.temperature = 1.0
        self.hard = False
        self.mode = "softmax"

    def forward(self, x):
        logits = self.linear(x) / self.temperature
        if self.mode == "relu":
            return nn.functional.relu(logits)
        out = nn.functional.softmax(logits)
        if self.hard and out.max() > 0.5:
            out = out * 2
        return out


layer = None
SETTINGS = [(1.0, False, "softmax"), (0.1, True, "softmax"), (2.0, True, "relu")]


def BEFORE(index):
    layer.temperature, layer.hard, layer.mode = SETTINGS[index]


def build():
    global layer
    layer = Sharpen()
    return layer


def inputs():
    for value in (1.0, 1.0, -2.0):
        yield (paddle.to_tensor([value, 0.5]),)
