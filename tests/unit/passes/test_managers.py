"""Generators and choices as context managers (rules A1, F1)."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


class Counter:
    def __init__(self) -> None:
        self.depth = 0

    def __enter__(self) -> Counter:
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.depth -= 1


@contextlib.contextmanager
def one_of_two(x, twice):
    if twice:
        yield x * 2
        return
    yield x


@contextlib.contextmanager
def returns_first(x, log):
    if log is None:
        return
    yield x * 2
    log.append("left")


@contextlib.contextmanager
def works_in_its_try(x, log):
    try:
        log.append("entered")
        yield x * 2
    finally:
        log.append("left")


@contextlib.contextmanager
def takes_an_answer(x, log):
    answer = yield x * 2
    log.append(answer)


@contextlib.contextmanager
def counts_on(x, log):
    count = 1
    try:
        yield x * count
    except ValueError as error:
        count += 1
        log.append(str(error))
    log.append(count)


def under_a_generator(manager, x, fails):
    log: list[Any] = []
    y = x
    with manager(x, log) as scaled:
        if scaled.sum() > 0:
            y = scaled + 1
        if fails:
            raise ValueError("asked for")
    return y, log


@pytest.mark.parametrize(
    "manager", [one_of_two, returns_first, works_in_its_try, takes_an_answer, counts_on]
)
@pytest.mark.parametrize("fails", [False, True])
def test_generators_as_managers(manager, fails) -> None:
    """F3, A1: those that can be cut at their ``yield``, and those that cannot."""

    def function(x):
        return under_a_generator(manager, x, fails)

    assert_same(function, PLUS, MINUS)


def raises_on_the_run(x):
    log: list[Any] = []
    y = x
    with counts_on(x, log) as scaled:
        if scaled.sum() > 0:
            raise ValueError("on the run")
        y = x * 3
    return y, log


def test_a_variable_of_the_generator_goes_on_after_the_yield() -> None:
    """F3: what was bound before the ``yield`` is the same variable behind it."""
    assert_same(raises_on_the_run, PLUS, MINUS)


def chosen_managers(x, counters):
    with counters[0], (lambda: counters[1])():
        if x.sum() > 0:
            x = x * counters[1].depth
    return x, counters[0].depth + counters[1].depth


def test_managers_that_have_no_name() -> None:
    """F3: items and results of calls are entered and left once."""
    for x in (PLUS, MINUS):
        seen = []
        for function in (chosen_managers, d2s.to_static(chosen_managers)):
            counters = [Counter(), Counter()]
            result, depth = function(x, counters)
            seen.append((result.tolist(), depth, [counter.depth for counter in counters]))
        assert seen[0] == seen[1]
        assert seen[0][1:] == (0, [0, 0])
