"""An exit after each layer: the first confident output is returned.

exercises: return out of zip of two LayerLists decided by a tensor
rows: 31, 39, 43
"""

import paddle
from paddle import nn


class Cascade(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])
        self.heads = nn.LayerList([nn.Linear(3, 2) for _ in range(3)])

    def forward(self, x, bound):
        for block, head in zip(self.blocks, self.heads):
            x = paddle.tanh(block(x))
            p = nn.functional.softmax(head(x))
            if p.max() > bound:
                return p
        return p * 0


def build():
    return Cascade()


def inputs():
    for bound in (0.0, 0.6, 0.65, 0.7, 1.1):
        yield paddle.to_tensor([[0.5, -1.0, 2.0]]), paddle.to_tensor(bound)
