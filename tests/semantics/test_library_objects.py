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
