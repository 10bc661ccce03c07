"""Exceptions that code has caught, held by a variable or shown in a text, around static loops."""

from __future__ import annotations

import traceback
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0)
LIMITS = [scalar(limit) for limit in (1.0, 5.0, 7.0, 100.0)]


class StoppedError(RuntimeError):
    """One with an attribute besides."""

    def __init__(self, value: Any, trip: Any) -> None:
        super().__init__(f"stopped with {value:.1f}", trip)
        self.trip = trip


def shown_in_a_text(x: Any, limit: Any) -> Any:
    notes, i = "", paddle.zeros([], "int64")
    while i < 3:
        try:
            x = x * 2
            if x.max() > limit:
                raise ValueError(f"too large: {x.max()}")
        except ValueError as error:
            notes = f"{type(error).__name__}: {error}"
        i = i + 1
    return x, notes


def shown_with_two_arguments(x: Any, limit: Any) -> Any:
    i = paddle.zeros([], "int64")
    while i < 3:
        try:
            x = x * 2
            if x.max() > limit:
                raise ValueError("too large", x.max())
        except ValueError as error:
            return x, f"{error}; {error!r}; {error!s:>9}"
        i = i + 1
    return x, ""


def kept_and_shown_later(x: Any, limit: Any) -> Any:
    last, i = None, paddle.zeros([], "int64")
    while i < 3:
        try:
            x = x * 2
            if x.max() > limit:
                raise ValueError(f"too large: {x.max()}")
        except ValueError as error:
            last = error
        i = i + 1
    return x, str(last), isinstance(last, ValueError)


def kept_and_raised_later(x: Any, limit: Any) -> Any:
    last, i = None, paddle.zeros([], "int64")
    while i < 3:
        i = i + 1
        try:
            x = x * 2
            if x.max() > limit:
                raise StoppedError(x.max(), i)
            if x.min() > 3:
                raise KeyError(f"small {x.min()}")
        except (RuntimeError, KeyError) as error:
            last = error
    if last is not None:
        raise last
    return x


def raised_from_the_last(x: Any, limit: Any) -> Any:
    last = None
    for trip in range(3):
        try:
            x = x * 2
            if x.max() > limit:
                raise ValueError(f"too large: {x.max()}", trip)
            break
        except ValueError as error:
            last = error
    if last is not None:
        raise RuntimeError("gave up") from last
    return x


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    "f",
    [
        shown_in_a_text,
        shown_with_two_arguments,
        kept_and_shown_later,
        kept_and_raised_later,
        raised_from_the_last,
    ],
)
def test_caught_in_a_loop(f: Any, limit: Any) -> None:
    """F1: what is kept of an exception behind the loop is what it was in its trip."""
    assert_same(f, (X, limit))


def test_raised_again_shows_the_cause() -> None:
    """F1: an exception that a loop has kept is raised with its attributes, at the user's line."""
    with pytest.raises(StoppedError) as caught:
        d2s.to_static(kept_and_raised_later)(X, scalar(1.0))
    assert caught.value.trip.item() == 3
    assert str(caught.value.args[0]) == "stopped with 16.0"
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.line) == ("kept_and_raised_later", "raise last")


def undone(x: Any, steps: list[float], limit: Any) -> Any:
    done: list[float] = []
    start = x
    try:
        for step in steps:
            x = x * step
            done.append(step)
            if x.abs().max() > limit:
                raise OverflowError(f"{step} left {x.abs().max():.2f}")
    except OverflowError as error:
        note = f"{type(error).__name__}: {error}"
        while done:
            try:
                step = done.pop()
                if step < 1:
                    raise NotImplementedError(f"{step} cannot be undone at {x.sum():.1f}")
                x = x / step
            except NotImplementedError as inner:
                return start, f"{note}; {inner}"
        return x, note
    return x, f"{len(done)} applied"


@pytest.mark.parametrize("limit", [1.5, 3.0, 9.0, 50.0])
def test_an_exception_while_another_is_handled(limit: float) -> None:
    """F1: a text holds what an exception says, not the exception, which another trip may change."""
    assert_same(undone, (X, [2.0, 0.5, 3.0], scalar(limit)))
