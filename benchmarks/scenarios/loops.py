"""Loops that tensors bound: ``while``, ``range`` of a tensor, a list that grows, a convergence."""

from __future__ import annotations

import paddle
from paddle import nn

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import ramp, square
from d2s.bench.work import Work

TRIPS = 1000
GRADIENT_TRIPS = 100
STEPS = 64


def while_loop(trips: int = TRIPS) -> Work:
    def function(x, trips):
        i = paddle.zeros([], dtype="int64")
        while i < trips:
            x = x * 0.999
            i = i + 1
        return x

    return Work(function, (square(), paddle.to_tensor(trips)))


def _while_by_hand(x, trips):
    i = paddle.zeros([], dtype="int64")
    _, x = paddle.static.nn.while_loop(
        lambda i, x: i < trips, lambda i, x: [i + 1, x * 0.999], [i, x]
    )
    return x


def while_gradient() -> Work:
    def function(x, trips):
        y = x
        i = paddle.zeros([], dtype="int64")
        while i < trips:
            y = y * 0.99 + x
            i = i + 1
        return y.mean()

    return Work(
        function, (square(gradient=True), paddle.to_tensor(GRADIENT_TRIPS)), kind="gradient"
    )


def written_items() -> Work:
    """A table of 1 MiB, of which each trip writes a row, as dynamic programming does."""

    def function(table, trips):
        table = table.clone()
        i = paddle.ones([], dtype="int64")
        while i < trips:
            table[i] = table[i - 1] * 0.999 + 1.0
            i = i + 1
        return table

    return Work(function, (paddle.zeros([TRIPS, 256]), paddle.to_tensor(TRIPS)))


def _written_items_by_hand(table, trips):
    i = paddle.ones([], dtype="int64")

    def body(i, table):
        row = paddle.gather(table, i - 1) * 0.999 + 1.0
        return [i + 1, paddle.scatter(table, i.reshape([1]), row.reshape([1, 256]))]

    _, table = paddle.static.nn.while_loop(lambda i, _: i < trips, body, [i, paddle.assign(table)])
    return table


def _while_gradient_by_hand(x, trips):
    i = paddle.zeros([], dtype="int64")
    y = paddle.assign(x)
    _, y = paddle.static.nn.while_loop(
        lambda i, y: i < trips, lambda i, y: [i + 1, y * 0.99 + x], [i, y]
    )
    return y.mean()


class RNN(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(8, 4)

    def forward(self, x, steps):
        h = paddle.zeros([2, 4])
        states = []
        for t in range(steps):
            h = paddle.tanh(self.cell(paddle.concat([x[:, t], h], axis=-1)))
            states.append(h)
        return paddle.stack(states, axis=1)


def rnn_stack() -> Work:
    return Work(RNN(), (ramp(2, STEPS, 4), paddle.to_tensor(STEPS)))


def _rnn_by_hand(layer, x, steps):
    # The length is bounded by the input's: a buffer, not a list.
    by_time = x.transpose([1, 0, 2])

    def body(t, h, states):
        h = paddle.tanh(layer.cell(paddle.concat([by_time[t], h], axis=-1)))
        states = paddle.scatter(states, t.reshape([1]), h.unsqueeze(0))
        return [t + 1, h, states]

    start = [paddle.zeros([], dtype="int64"), paddle.zeros([2, 4]), paddle.zeros([STEPS, 2, 4])]
    _, _, states = paddle.static.nn.while_loop(lambda t, h, states: t < steps, body, start)
    return states.transpose([1, 0, 2])


def newton() -> Work:
    def function(x, target):
        trips = paddle.zeros([], dtype="int64")
        while (x * x - target).abs().max() > 1e-4 and trips < 50:
            x = 0.5 * (x + target / x)
            trips = trips + 1
        return x, trips

    return Work(function, (square() + 1.0, square() * 50.0 + 1.0))


def _newton_by_hand(x, target):
    def unfinished(x, trips):
        far = (x * x - target).abs().max() > 1e-4
        return paddle.logical_and(far, trips < 50)

    trips = paddle.zeros([], dtype="int64")
    return paddle.static.nn.while_loop(
        unfinished, lambda x, trips: [0.5 * (x + target / x), trips + 1], [x, trips]
    )


SCENARIOS = (
    Scenario(
        "while",
        f"while, {TRIPS} trips, no gradient",
        while_loop,
        by_hand=ByHand(_while_by_hand),
        goals=(Goal(1, "dygraph"), Goal(1 / 8, "paddle-ast")),
        limit_s=20.0,  # Paddle SOT unrolls it: minutes
    ),
    Scenario(
        "while-gradient",
        f"while, {GRADIENT_TRIPS} trips, forward and backward",
        while_gradient,
        by_hand=ByHand(_while_gradient_by_hand),
        goals=(Goal(1.5, "dygraph"),),
    ),
    Scenario(
        "written-items",
        f"while, {TRIPS} trips, each of which writes a row of a table",
        written_items,
        by_hand=ByHand(_written_items_by_hand),
        goals=(Goal(1, "dygraph"),),
        limit_s=20.0,
    ),
    Scenario(
        "rnn-stack",
        f"range(tensor): {STEPS} RNN steps, append, stack",
        rnn_stack,
        by_hand=ByHand(_rnn_by_hand, RNN),
        goals=(Goal(1, "dygraph"), Goal(1 / 12, "paddle-ast")),
    ),
    Scenario(
        "newton",
        "Newton's method, while a and b",
        newton,
        by_hand=ByHand(_newton_by_hand),
        goals=(Goal(1, "dygraph"),),
    ),
)
