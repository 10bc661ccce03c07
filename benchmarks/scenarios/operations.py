"""Operations in a row, without control flow: what a call and an operation cost."""

from __future__ import annotations

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import square
from d2s.bench.work import Work


def two_ops() -> Work:
    def function(x):
        return x * 2.0 + 1.0

    return Work(function, (square(),))


def two_ops_backward() -> Work:
    def function(x):
        return (x * x).sum()

    return Work(function, (square(gradient=True),), kind="gradient")


def hundred_ops() -> Work:
    def function(x):
        for _ in range(50):
            x = x * 1.01
            x = x + 0.01
        return x

    return Work(function, (square(),))


def _hundred_by_hand(x):
    for _ in range(50):
        x = x * 1.01 + 0.01
    return x


SCENARIOS = (
    Scenario(
        "two-ops",
        "2 operations, no gradient",
        two_ops,
        by_hand=ByHand(lambda x: x * 2.0 + 1.0),
        goals=(Goal(2, "floor"), Goal(1 / 8, "paddle-ast"), Goal(1 / 5, "paddle-sot")),
    ),
    Scenario(
        "two-ops-backward",
        "2 operations, forward and backward",
        two_ops_backward,
        by_hand=ByHand(lambda x: (x * x).sum()),
        goals=(Goal(1 / 4, "paddle-ast"), Goal(1 / 2, "paddle-sot")),
    ),
    Scenario(
        "hundred-ops",
        "100 operations, no gradient",
        hundred_ops,
        by_hand=ByHand(_hundred_by_hand),
        goals=(Goal(1 / 1.6, "dygraph"),),
    ),
)
