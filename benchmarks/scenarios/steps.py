"""Whole training steps in one converted function: loss, ``backward``, optimizer."""

from __future__ import annotations

from benchmarks.by_hand import ByHand
from benchmarks.goals import Goal
from benchmarks.scenario import Scenario
from benchmarks.scenarios.layers import LSTM, TIME, as_it_is, lstm_inputs, sgd
from d2s.bench.work import Work


def lstm_step() -> Work:
    layer = LSTM()
    parameters = tuple(layer.parameters())
    optimizer = sgd(parameters)

    def step(x, target):
        loss = layer(x, target)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return Work(step, lstm_inputs(), kind="step", watched=parameters)


SCENARIOS = (
    Scenario(
        "lstm-step",
        f"LSTM over {TIME} steps, as one converted step",
        lstm_step,
        by_hand=ByHand(as_it_is, LSTM, sgd),
        goals=(Goal(1 / 1.4, "dygraph"),),
    ),
)
