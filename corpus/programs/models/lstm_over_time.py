"""An LSTM cell written out and run over the time axis.

exercises: range over x.shape[1]; tuple state unpacked in a loop; list append and stack; training
rows: 74, 82, 89
"""

import paddle
from paddle import nn
from paddle.nn import functional as F

RTOL = 1e-4


class LSTM(nn.Layer):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def step(self, x, state):
        h, c = state
        i, f, o, g = self.gates(paddle.concat([x, h], axis=-1)).split(4, axis=-1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * paddle.tanh(g)
        return F.sigmoid(o) * paddle.tanh(c), c

    def forward(self, x):
        state = paddle.zeros([x.shape[0], self.hidden]), paddle.zeros([x.shape[0], self.hidden])
        outs = []
        for t in range(x.shape[1]):
            state = self.step(x[:, t], state)
            outs.append(state[0])
        return paddle.stack(outs, axis=1), state


def build():
    return LSTM(3, 4)


def inputs():
    yield (paddle.randn([2, 5, 3]),)
    yield (paddle.randn([2, 1, 3]),)
    yield (paddle.randn([2, 6, 3]),)
