"""Mixed precision on the CPU inside of the function.

exercises: auto_cast with bfloat16 around a matmul; cast back; tensor branch inside
rows: 102
"""

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 2)

    def forward(self, x):
        with paddle.amp.auto_cast(dtype="bfloat16", level="O1"):
            h = self.first(x)
            if h.sum() > 0:
                h = h * 2
            y = self.second(h)
        return y.astype("float32"), y


def build():
    return Net()


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0, 3.0]]) * sign,)
