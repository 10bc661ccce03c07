"""A1: what a scheduler's step reads, and what the function changes in front of it and behind it."""

from __future__ import annotations

import functools
import textwrap
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of


class Held:
    factor = 1.0

    def __init__(self) -> None:
        self.warm, self.calls, self.rates = 1.0, 0, [1.0]


class Slotted:
    __slots__ = ("scale",)

    def __init__(self) -> None:
        self.scale = 1.0

    def __call__(self, epoch: int) -> float:
        return self.scale / (epoch + 1)


class Around:
    def __init__(self) -> None:
        self.of = Slotted()


RATES = {
    "an attribute": ("lambda epoch: held.warm / (epoch + 1)", "held.warm += 1"),
    "an item": ("lambda epoch: held.rates[0] / (epoch + 1)", "held.rates[0] = held.rates[0] + 1"),
    "a longer list": ("lambda epoch: sum(held.rates) / (epoch + 1)", "held.rates.append(2.0)"),
    "through a method": ("held.rate", "held.warm += 1"),
    "through a partial": ("functools.partial(rate_of, held)", "held.warm += 1"),
    "an attribute of an object with slots": ("slotted", "slotted.scale *= 0.5"),
    "one in another object": ("lambda epoch: around.of(epoch)", "around.of.scale *= 0.5"),
    "a variable": ("lambda epoch: warm / (epoch + 1)", "warm += 1"),
}

CHANGED_BEFORE_OR_ELSEWHERE = {
    "in front of the step": ("lambda epoch: held.warm / (epoch + 1)", "held.warm += 1", ""),
    "what it does not read": ("lambda epoch: other.warm / (epoch + 1)", "", "held.warm += 1"),
    "a count": ("lambda epoch: 0.5 ** epoch", "", "held.calls += 1"),
}

STEP = """
    def trained(convert):
        held, other, warm = Held(), Held(), 1.0
        slotted, around = Slotted(), Around()
        net = paddle.nn.Linear(2, 1)
        scheduler = paddle.optimizer.lr.LambdaDecay(0.1, {rate})
        optimizer = paddle.optimizer.SGD(scheduler, parameters=net.parameters())

        def step(x):
            nonlocal warm
            loss = (net(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            {before}
            scheduler.step()
            {behind}
            return loss

        run = convert(step)
        found = []
        for k in range(3):
            found += [float(run(paddle.ones([3, 2]) * k)), scheduler.last_lr]
        return found, held.warm, held.calls, held.rates, warm
"""


def rate_of(held: Held, epoch: int) -> float:
    return held.warm / (epoch + 1)


def trained_by(rate: str, before: str, behind: str) -> Any:
    text = STEP.format(rate=rate, before=before or "pass", behind=behind or "pass")
    names = {
        "Held": Held,
        "Slotted": Slotted,
        "Around": Around,
        "functools": functools,
        "rate_of": rate_of,
    }
    Held.rate = rate_of  # type: ignore[attr-defined]
    return function_of(textwrap.dedent(text), **names)


@pytest.mark.parametrize("name", RATES)
def test_what_a_step_reads_is_changed_behind_it(name: str) -> None:
    """A1: a run steps last; so the change is refused, and by default dygraph makes it."""
    trained = trained_by(RATES[name][0], "", RATES[name][1])
    paddle.seed(1)
    expected = trained(lambda f: f)
    paddle.seed(1)
    assert trained(lambda f: d2s.to_static(f, full_graph=False)) == expected
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="scheduler"):
        trained(lambda f: d2s.to_static(f, full_graph=True))


@pytest.mark.parametrize("name", CHANGED_BEFORE_OR_ELSEWHERE)
def test_what_a_step_reads_is_not_changed_behind_it(name: str) -> None:
    """A1: changes in front of the step, and of what it does not read, are right."""
    trained = trained_by(*CHANGED_BEFORE_OR_ELSEWHERE[name])
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        paddle.seed(1)
        found.append(trained(convert))
    assert found[0] == found[1]
