"""Objects of the standard library that are their attributes: state, arguments and results."""

from __future__ import annotations

import argparse
from collections import ChainMap, UserDict, UserList
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, scalar


def shown(found: Any) -> Any:
    """Tensors as numbers, wrappers as what they wrap."""
    if isinstance(found, tuple | UserList):
        return [shown(item) for item in found]
    if isinstance(found, UserDict):
        return {key: shown(item) for key, item in found.items()}
    return found.item() if isinstance(found, paddle.Tensor) else found


class Holder:
    """Keeps one of each."""

    def __init__(self) -> None:
        self.seen = UserList()
        self.named = UserDict(count=0)
        self.scopes = ChainMap({}, {"k": 0})
        self.options = argparse.Namespace(step=0, last=None)

    def wrapped(self, x):
        self.seen.append(x * 2)
        self.named["count"] += 1
        self.named["last"] = x
        self.scopes["k"] = self.scopes["k"] + 1
        return len(self.seen), self.seen[-1], self.named["count"], self.scopes["k"]

    def settings(self, x):
        self.options.step += 1
        self.options.last = x * self.options.step
        if x > 2:
            self.options.step = self.options.step + 1
        return self.options.last + self.options.step, self.options.step


@pytest.mark.parametrize("name", ["wrapped", "settings"])
def test_state_of_several_calls(name: str) -> None:
    """F3, F4: what a call appends, sets or counts is there in the next one, and outside."""
    plain, converted = Holder(), Holder()
    function = d2s.to_static(getattr(converted, name), full_graph=True)
    for value in (1.0, 3.0, 2.0, 4.0):
        wanted = shown(getattr(plain, name)(scalar(value)))
        assert shown(function(scalar(value))) == wanted
        assert shown(converted.seen) == shown(plain.seen)
        assert shown(converted.named) == shown(plain.named)
        assert shown(converted.options.step) == plain.options.step


def test_arguments_that_grow() -> None:
    """F4: an argument is changed as in dygraph."""

    def grown(x, items):
        items.append(x)
        return len(items), items[0]

    plain, given = UserList(), UserList()
    function = d2s.to_static(grown, full_graph=True)
    for value in (1.0, 2.0, 3.0):
        wanted = shown(grown(scalar(value), plain))
        assert shown(function(scalar(value), given)) == wanted
    assert shown(given) == [1.0, 2.0, 3.0]


def test_made_in_the_function() -> None:
    """B4, D2: branches and static loops change them; they are returned as what they are."""

    def branched(x):
        items, named = UserList([x]), UserDict(a=x)
        if x > 0:
            items.append(x * 2)
        else:
            items.append(x * 3)
        if x > 1:
            named["a"] = x + 5
        return items[1], named["a"], len(items)

    def looped(x, y):
        scope = ChainMap({}, {"x": x, "y": y})
        while scope["y"] - scope["x"] > 0:
            scope["x"] = scope["x"] + scope["x"]
        return scope["x"]

    assert_same(branched, (scalar(-1.0),), (scalar(0.5),), (scalar(2.0),))
    assert_same(looped, (scalar(1.0), scalar(5.0)), (scalar(1.0), scalar(50.0)))
    made = d2s.to_static(lambda x: (UserList([x, x + 1]), UserDict(k=x)), full_graph=True)
    for value in (1.0, 2.0):
        items, named = made(scalar(value))
        assert type(items) is UserList
        assert type(named) is UserDict
        assert shown((items, named)) == [[value, value + 1], {"k": value}]


class Totals(UserDict):
    """Makes what is missing."""

    def __missing__(self, key):
        self.data[key] = paddle.zeros([2])
        return self.data[key]

    def push(self, key, value):
        self[key] = self[key] + paddle.stack([paddle.to_tensor(1.0), value])


def in_a_branch(x):
    scopes = ChainMap({}, {"x": x})
    if x > 0:
        scopes["x"] = x + 1
    return scopes["x"], len(scopes.maps[0])


def in_a_loop(x):
    scopes = ChainMap({}, {"x": x})
    while scopes["x"] > 0:
        scopes["x"] = scopes["x"] - 1
    return scopes["x"]


def caught(x):
    scopes = ChainMap({}, {})
    if x > 0:
        scopes["x"] = x
    try:
        return scopes["x"]
    except KeyError:
        return x - 10


def missing(x):
    totals = Totals()
    for key in ("a", "b", "a"):
        if x > 0:
            totals.push(key, x)
    return dict(totals)


@pytest.mark.parametrize("function", [in_a_branch, in_a_loop, caught, missing])
def test_methods_that_a_tensor_decides(function: Any) -> None:
    """E2: what a class of the standard library does in Python is converted like a user's."""
    assert_same(function, scalar(3.0), scalar(-1.0), scalar(5.0))
