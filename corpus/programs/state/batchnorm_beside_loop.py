"""A layer with batch normalisation after a loop whose length a tensor decides.

exercises: BatchNorm and a step counter outside of a tensor loop in the same program; train and eval
rows: 99, 86
"""

import paddle
from paddle import nn

MODES = ("train", "eval")
RTOL, ATOL = 1e-4, 1e-5


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1D(3)
        self.out = nn.Linear(3, 1)
        self.register_buffer("calls", paddle.zeros([]))

    def forward(self, x, depth):
        for _ in range(depth):
            x = paddle.tanh(x) * 1.5
        self.calls = self.calls + 1
        return self.out(self.norm(x))


def build():
    return Net()


def inputs():
    for depth in (2, 0, 1):
        yield paddle.randn([5, 3]), paddle.to_tensor(depth)
