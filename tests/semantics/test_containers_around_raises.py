"""Containers from outside that code changes between several raises of one ``try``."""

from __future__ import annotations

import collections
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import scalar, tensor


class StoppedError(Exception):
    pass


class Rows(list):  # type: ignore[type-arg]
    """A list with a method that changes it."""

    def note(self, value: Any) -> None:
        self.append(value)


class Holder:
    def __init__(self, rows: Any = None) -> None:
        self.rows: Any = [] if rows is None else rows


def _noted_by_all(holder: Holder, value: Any) -> None:
    for each in holder.rows:
        each.note(value)


CHANGES = {
    "list": (list, lambda h, v: h.append(v)),
    "list of a class": (Rows, lambda h, v: h.note(v)),
    "dict": (dict, lambda h, v: h.update({len(h): v})),
    "set": (set, lambda h, v: h.add(len(h))),
    "deque": (collections.deque, lambda h, v: h.append(v)),
    "attribute": (Holder, lambda h, v: h.rows.append(v)),
    "item": (lambda: {"rows": []}, lambda h, v: h["rows"].append(v)),
    "item of an item": (lambda: [[1], {"rows": []}], lambda h, v: h[1]["rows"].append(v)),
    "item of an attribute": (lambda: Holder({"rows": Rows()}), lambda h, v: h.rows["rows"].note(v)),
    "one of those an attribute holds": (lambda: Holder([Rows()]), _noted_by_all),
}


def _twice(h: Any, change: Any, x: Any, limit: Any) -> Any:
    try:
        change(h, x.max())
        if x.max() > limit:
            raise StoppedError("first")
        x = x * 2
        change(h, x.max())
        if x.max() > limit:
            raise StoppedError("second")
        change(h, x.max())
    except StoppedError as error:
        return x, str(error)
    return x, ""


def _in_trips(h: Any, change: Any, x: Any, limit: Any) -> Any:
    note = ""
    try:
        for k in range(4):
            x = x * 2
            change(h, x.max())
            if x.max() > limit:
                raise StoppedError(f"trip {k}")
    except StoppedError as error:
        note = str(error)
    return x, note


def _of_two_kinds(h: Any, change: Any, x: Any, limit: Any) -> Any:
    try:
        if x.max() > limit:
            raise StoppedError("high")
        change(h, x.max())
        if x.min() < limit - 3:
            raise ValueError("low")
        change(h, x.min())
    except StoppedError:
        change(h, x.sum())
    except ValueError:
        x = x * 3
    return x, ""


REFUSED = [("set", _of_two_kinds), ("dict", _of_two_kinds)]
"""D2: one that a tensor has chosen already, and that is changed again, has no other name."""


def _contents(h: Any) -> Any:
    held = vars(h) if isinstance(h, Holder) else h
    if isinstance(held, dict):
        return {key: _contents(value) for key, value in held.items()}
    if isinstance(held, list | collections.deque):
        return [_contents(each) for each in held]
    return held.item() if isinstance(held, paddle.Tensor) else held


@pytest.mark.parametrize("function", [_twice, _in_trips, _of_two_kinds])
@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_in_it_when_it_was_raised(kind: str, function: Any) -> None:
    """F1, B4: the container holds what it held where the run has raised, no more and no less."""
    make, change = CHANGES[kind]

    def f(h: Any, x: Any, limit: Any) -> Any:
        return function(h, change, x, limit)

    converted = d2s.to_static(f)
    if (kind, function) in REFUSED:
        with pytest.raises(ContainerInGraphError):
            converted(make(), tensor(1.0, 2.0), scalar(1.0))
        return
    for limit in (100.0, 7.0, 3.0, 1.0, 7.0):
        mine, expected = make(), make()
        result = f(expected, tensor(1.0, 2.0), scalar(limit))
        made = converted(mine, tensor(1.0, 2.0), scalar(limit))
        assert made[1] == result[1]
        assert made[0].tolist() == result[0].tolist()
        assert _contents(mine) == _contents(expected)
