"""Cached properties, and other attributes that only some runs have (E2, F3)."""

from __future__ import annotations

import functools
from typing import Any

import paddle
import pytest

from tests.helpers import assert_same, tensor

CALLS = (tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(3.0, 4.0, 5.0))


class Thing:
    def __init__(self, x: Any) -> None:
        self.x = x
        self.asked = 0

    @functools.cached_property
    def total(self) -> Any:
        self.asked += 1
        return self.x.sum()

    @functools.cached_property
    def turned(self) -> Any:
        self.asked += 1
        if self.x.sum() > 0:
            return self.x * 2
        return -self.x

    @functools.cached_property
    def nothing(self) -> None:
        self.asked += 1


def _in_an_expression(x: Any) -> Any:
    thing = Thing(x)
    first = thing.total if x[0] > 0 else x[0]
    return first + thing.total, thing.asked


def _in_an_unrolled_loop(x: Any) -> Any:
    thing = Thing(x)
    for index in range(3):
        if x[index] > 0:
            x = x + thing.total
    return x + thing.total, thing.asked


def _in_a_static_loop(x: Any) -> Any:
    thing = Thing(x)
    while x.sum() < 10:
        x = x + 1
        if x[0] > 2:
            x = x + thing.total * 0.1
    return x + thing.total, thing.asked


def _with_a_branch_of_its_own(x: Any) -> Any:
    thing = Thing(x)
    first = thing.turned + thing.turned
    return first, thing.asked


def _set_on_one_side(x: Any) -> Any:
    thing = Thing(x)
    first = thing.turned if x[0] > 0 else x
    if x[1] > 1:
        thing.turned = x
    return first + thing.turned, thing.asked


def _deleted_on_one_side(x: Any) -> Any:
    thing = Thing(x)
    first = thing.turned
    if x[0] > 0:
        del thing.turned
        thing.x = thing.x + 1
    return first + thing.turned, thing.asked


def _of_none(x: Any) -> Any:
    thing = Thing(x)
    if x[0] > 0:
        thing.nothing
    return thing.nothing is None, thing.asked, x


def _looked_for(x: Any) -> Any:
    thing = Thing(x)
    if x[0] > 0:
        x = x + thing.total
    known = "total" in thing.__dict__, "total" in vars(thing), "other" in vars(thing)
    return x, known, hasattr(thing, "total"), thing.asked


@pytest.mark.sampled(3, also=["_looked_for", "_deleted_on_one_side", "_set_on_one_side"])
@pytest.mark.parametrize(
    "function",
    [
        _in_an_expression,
        _in_an_unrolled_loop,
        _in_a_static_loop,
        _with_a_branch_of_its_own,
        _set_on_one_side,
        _deleted_on_one_side,
        _of_none,
        _looked_for,
    ],
    ids=lambda function: function.__name__,
)
def test_what_only_some_runs_have_computed(function: Any) -> None:
    """E2: it is computed where the run has not done so, and once where it has."""
    assert_same(function, *CALLS)


def test_of_a_layer() -> None:
    """E2: an attribute of a layer that is kept from call to call."""

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.scale = 3.0

        @functools.cached_property
        def twice(self) -> float:
            return self.scale * 2

        def forward(self, x: Any) -> Any:
            if x.sum() > 0:
                x = x * self.twice
            return x + self.twice

    for x in CALLS:
        assert_same(Net(), x, static=None)


def test_a_length_that_is_none() -> None:
    """E2: ``len`` refuses what Python refuses, where the run decides the length."""

    class Sized:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __len__(self) -> int:
            return int(self.x.sum())

    assert_same(lambda x: x * len(Sized(x)), *CALLS)
