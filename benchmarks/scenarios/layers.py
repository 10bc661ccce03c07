"""Small layers: inference, and training steps with the optimizer outside of what is converted."""

from __future__ import annotations

import paddle
from paddle import nn
from paddle.nn import functional as F

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import ramp
from d2s.bench.work import Work

RATE = 0.01
TIME = 32


def sgd(parameters):
    return paddle.optimizer.SGD(RATE, parameters=parameters)


def training(layer: nn.Layer, *arguments: paddle.Tensor) -> Work:
    """A step of SGD on a layer that gives a loss."""
    parameters = tuple(each for each in layer.parameters() if not each.stop_gradient)
    return Work(layer, arguments, kind="training", optimizer=sgd(parameters), watched=parameters)


class MLP(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)
        self.third = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.first(x))
        x = F.relu(self.second(x))
        return self.third(x)


def mlp() -> Work:
    layer = MLP()
    layer.eval()
    return Work(layer, (ramp(8, 64),))


class LSTM(nn.Layer):
    """The loss of an LSTM cell over ``TIME`` steps."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(32, 64)
        self.head = nn.Linear(64, 1)

    def forward(self, x, target):
        h = paddle.zeros([8, 64])
        c = paddle.zeros([8, 64])
        for t in range(TIME):
            h, (h, c) = self.cell(x[:, t], (h, c))
        return F.mse_loss(self.head(h), target)


def lstm_inputs() -> tuple[paddle.Tensor, ...]:
    return ramp(8, TIME, 32), ramp(8, 1)


def lstm() -> Work:
    return training(LSTM(), *lstm_inputs())


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0)

    def forward(self, x, target):
        return F.mse_loss(self.layer(x), target)


def encoder() -> Work:
    return training(Encoder(), ramp(4, 16, 64), ramp(4, 16, 64))


def as_it_is(layer, *inputs):
    """The layer's own forward: without control flow it is what an expert would write."""
    return layer(*inputs)


SCENARIOS = (
    Scenario(
        "mlp",
        "MLP inference, 3 layers of 64",
        mlp,
        by_hand=ByHand(as_it_is, MLP),
        goals=(Goal(1, "dygraph"), Goal(1 / 4, "paddle-ast")),
    ),
    Scenario(
        "lstm",
        f"LSTM over {TIME} steps, training step",
        lstm,
        by_hand=ByHand(as_it_is, LSTM, sgd),
        goals=(Goal(1, "dygraph"),),
    ),
    Scenario(
        "encoder",
        "encoder layer, training step",
        encoder,
        by_hand=ByHand(as_it_is, Encoder, sgd),
        goals=(Goal(1, "dygraph"),),
    ),
)
