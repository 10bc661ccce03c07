"""A training step meets a batch whose labels do not fit."""

import paddle
from paddle.static import InputSpec


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(4, 1)

    def forward(self, x, target):
        prediction = self.linear(x)
        error = prediction - target  # <- fails
        return (error * error).mean()


def main(to_static):
    batch = InputSpec([None, 4], "float32")
    target = InputSpec([None, 1], "float32")
    model = to_static(Model(), input_spec=[batch, target])
    model(paddle.ones([3, 4]), paddle.ones([3, 1])).backward()
    model(paddle.ones([3, 4]), paddle.ones([2, 1])).backward()
