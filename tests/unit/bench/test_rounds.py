"""The clock of the bench: what is counted, and what is not; every second here is a made-up one."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from d2s.bench.rounds import (
    WARM_CALLS,
    Calls,
    Measured,
    Measuring,
    Settings,
    calls_of_a_round,
    seconds,
    spread,
)
from d2s.bench.values import arrays, differ


@dataclass
class Pair:
    left: float
    right: str


class Clock:
    """A clock that moves by what each call is said to cost."""

    def __init__(self, cost: float) -> None:
        self.now, self.cost, self.calls = 0.0, cost, 0

    def __call__(self) -> float:
        return self.now

    def call(self) -> None:
        self.now += self.cost
        self.calls += 1


class Counted:
    """A call that costs more the first time, and computes how often it was called."""

    def __init__(self, clock: Clock, first: float) -> None:
        self.clock, self.first = clock, first

    def __call__(self) -> None:
        if self.clock.calls == 0:
            self.clock.now += self.first
        self.clock.call()

    def values(self):
        return arrays(self.clock.calls)


def test_seconds_are_those_between_the_first_call_and_the_last() -> None:
    clock = Clock(0.5)
    assert seconds(clock.call, 4, clock) == 2.0
    assert clock.calls == 4


def test_no_garbage_is_collected_inside_a_round_and_collection_is_on_again_after_an_error() -> None:
    seen = []
    seconds(lambda: seen.append(gc.isenabled()), 1)
    assert seen == [False]
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        seconds(lambda: 1 / 0, 1)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("cost", "calls"), [(0.001, 50), (0.01, 5), (0.02, 2), (0.05, 1), (3.0, 1)]
)
def test_a_round_has_as_many_calls_as_fill_it_and_at_least_one(cost: float, calls: int) -> None:
    clock = Clock(cost)
    assert calls_of_a_round(clock.call, 0.05, clock) == calls


def test_the_first_call_is_timed_by_itself() -> None:
    clock = Clock(0.01)
    task = Calls(Counted(clock, first=7.0), clock=clock)
    started = task.start(Settings(round_s=0.05))
    assert started.first_s == pytest.approx(7.01)
    assert task.round() == pytest.approx(0.01)


def test_values_are_kept_of_the_first_call_and_of_a_warm_one() -> None:
    clock = Clock(0.01)
    started = Calls(Counted(clock, 0.0), clock=clock).start(Settings())
    assert started.values == [arrays(1), arrays(1 + WARM_CALLS)]


def test_every_call_is_made_in_its_mode() -> None:
    inside: list[bool] = []
    seen: list[bool] = []

    @contextlib.contextmanager
    def mode() -> Iterator[None]:
        inside.append(True)
        yield
        inside.pop()

    clock = Clock(0.02)

    class Call(Counted):
        def __call__(self) -> None:
            seen.append(bool(inside))
            super().__call__()

    task = Calls(Call(clock, 0.0), mode, clock=clock)
    task.start(Settings())
    task.round()
    assert seen
    assert all(seen)
    assert not inside


def test_a_measurement_has_no_first_call() -> None:
    taken = iter([9.0, 1.0, 2.0])
    task = Measuring(lambda: next(taken))
    assert task.start(Settings()).first_s is None
    assert [task.round(), task.round()] == [1.0, 2.0]


def test_best_median_and_spread_are_those_of_the_rounds() -> None:
    found = Measured("timed", first_s=9.0, calls_per_round=2, rounds_s=[4.0, 1.0, 2.0, 3.0, 5.0])
    out = found.as_json()
    assert (out["best_s"], out["median_s"], out["spread"]) == (1.0, 3.0, pytest.approx(2 / 3))
    assert spread([2.0, 2.0, 2.0]) == 0


def test_a_peer_that_was_not_timed_has_no_figures() -> None:
    assert Measured("wrong", "first call").as_json() == {"status": "wrong", "detail": "first call"}


@pytest.mark.parametrize(
    ("mine", "theirs", "difference"),
    [
        ([1.0, [2.0]], [1.0, [2.0]], ""),
        (None, 1.0, "value 0 is missing"),
        (1.0, None, "value 0 is there, should not be"),
        ([1.0], [1.0, 2.0], "1 values, should be 2"),
        (1.5, 1.0, "value 0 is off by 0.5"),
        (True, False, "value 0 is something else"),
        ("mean", "sum", "value 0 is something else"),
        (Pair(1.0, "a"), Pair(2.0, "a"), "value 0 is off by 1"),
        (object(), object(), ""),
        (object(), set(), "value 0 is something else"),
        (float("nan"), float("nan"), ""),
        (1.0, float("nan"), "value 0 is off by nan"),
    ],
)
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_results_are_compared_leaf_by_leaf(mine, theirs, difference) -> None:
    assert differ(arrays(mine), arrays(theirs)) == difference


def test_a_difference_of_shape_is_one() -> None:
    import numpy as np

    assert differ([np.ones(2)], [np.ones(3)]) == "value 0 has shape (2,), should be (3,)"
