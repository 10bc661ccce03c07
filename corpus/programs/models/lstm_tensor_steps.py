"""An LSTM over a number of steps that is a tensor, in training.

exercises: range over a tensor; nn.LSTMCell in a tensor loop; backward through a while
rows: 17, 26, 82
"""

import paddle
from paddle import nn

RTOL = 1e-4


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x, steps):
        h = paddle.zeros([x.shape[0], 4])
        c = paddle.zeros([x.shape[0], 4])
        for t in range(steps):
            _, (h, c) = self.cell(x[:, t], (h, c))
        return self.head(h), c


def build():
    return Encoder()


def inputs():
    x = paddle.randn([2, 5, 3])
    for steps in (5, 1, 0, 3):
        yield x, paddle.to_tensor(steps)
