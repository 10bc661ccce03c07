"""Branches on tensors."""

from __future__ import annotations

import paddle

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.inputs import square
from d2s.bench.work import Work


def twenty_ifs() -> Work:
    def function(x):
        for _ in range(20):
            if x.sum() > 8.0:
                x = x * 0.5
            else:
                x = x * 1.5
        return x

    return Work(function, (square(),))


def _twenty_by_hand(x):
    for _ in range(20):
        # The default values keep what this trip has: the branches are built at once.
        x = paddle.static.nn.cond(x.sum() > 8.0, lambda x=x: x * 0.5, lambda x=x: x * 1.5)
    return x


SCENARIOS = (
    Scenario(
        "twenty-ifs",
        "20 tensor ifs in a row",
        twenty_ifs,
        by_hand=ByHand(_twenty_by_hand),
        goals=(Goal(1, "dygraph"), Goal(1 / 8, "paddle-ast")),
    ),
)
