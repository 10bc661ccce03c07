"""A linear net with two inputs, converted for any batch size.

exercises: InputSpec with a None dimension; x.shape[0] of an unknown dimension; condition on a shape
rows: 1, 89
"""

import paddle
from paddle import nn
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None, 4], "float32", "x"), InputSpec([None, 3], "float32", "y")]  # noqa: E731


class TwoInputs(nn.Layer):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(4, 2)
        self.right = nn.Linear(3, 2)

    def forward(self, x, y):
        out = self.left(x) + self.right(y)
        if x.shape[0] > 2:
            out = out - out.mean(axis=0)
        return out.reshape([x.shape[0], 2, 1])


def build():
    return TwoInputs()


def inputs():
    for batch in (1, 3, 2, 5):
        yield paddle.randn([batch, 4]), paddle.randn([batch, 3])
