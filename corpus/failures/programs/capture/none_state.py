"""The hidden state of the first step is None."""

import paddle


class Cell(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.gate = paddle.nn.Linear(3, 3)

    def forward(self, x, state=None):
        gate = self.gate(x)
        return gate * state  # <- fails


def main(to_static):
    to_static(Cell())(paddle.ones([2, 3]))
