"""What a loop of the program carries, when it changes its kind on the way (rules C2 to C4)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0)
N = [(X, scalar(n)) for n in (3, 1, 2)]


@pytest.mark.parametrize(
    "body",
    [
        "y = x if y is None else paddle.concat([y, x])",
        "y = x if y is None else y + i",
        "y = (x if y is None else y * 2) + 1",
        "y = i if y is None else y + i",
        "y = x if i < 2 else None",
    ],
)
def test_nothing_before_the_first_trip(body: str) -> None:
    """C3, C4: nothing, then a tensor, of one shape or of several."""
    function = function_of(f"""
def f(x, n):
    y = None
    for i in range(n):
        {body}
    return y
""")
    assert_same(function, *N, (X, scalar(0)))


@pytest.mark.parametrize(
    "body",
    [
        "pair = [pair[1], pair[0] + i]",
        "pair[0], pair[1] = pair[1], pair[0] + i",
        "pair = list(pair)\n        pair[0] = pair[0] + 1",
        "pair = alias",
        "pair, alias = alias, pair",
    ],
)
def test_a_list_that_is_put_in_the_place_of_another(body: str) -> None:
    """C2, B4: the other name keeps the first list."""
    function = function_of(f"""
def f(x, n):
    pair = [x, x * 2]
    alias = pair
    for i in range(n):
        {body}
    return pair, alias
""")
    assert_same(function, *N, (X, scalar(0)))


@pytest.mark.parametrize(
    "body",
    [
        "table['a'] = table['a'] + table['b']",
        "table = {'a': table['b'], 'b': table['a']}",
        "table = dict(table)\n        table['b'] = table['b'] + 1",
        "table.update(a=x * i)",
    ],
)
def test_a_dict_that_changes(body: str) -> None:
    """D2: loop variables by key, whichever dict it is in the end."""
    function = function_of(f"""
def f(x, n):
    table = {{'a': x, 'b': x * 2}}
    first = table
    for i in range(n):
        {body}
    return table, first
""")
    assert_same(function, *N, (X, scalar(0)))


@pytest.mark.parametrize("value", ["'text'", "[x]", "paddle.float32", "{1: x}"])
def test_a_tensor_that_becomes_something_else(value: str) -> None:
    """C3, C4: the run decides which of the two it is."""
    function = function_of(f"""
def f(x, n):
    y = x
    for i in range(n):
        y = {value}
    return y
""")
    assert_same(function, *N, (X, scalar(0)))


class Prickly:
    """An object that cannot be compared."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __eq__(self, other: object) -> bool:
        raise TypeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


def test_a_tensor_that_becomes_another_object_in_each_trip() -> None:
    """C4: the object of the last trip, or the tensor of before the loop; nobody compares them."""

    def f(x, n):
        y = x
        for k in range(n):
            y = Prickly(k)
        return y

    static = d2s.to_static(f)
    for n in (2, 0, 3):
        found, wanted = static(X, scalar(n)), f(X, scalar(n))
        assert type(found) is type(wanted)
        assert int(found.size) == int(wanted.size)


def test_an_object_that_cannot_be_compared() -> None:
    """C2: the same object in every trip; nobody asks whether it is equal."""

    def f(x, n, thing):
        held = thing
        for _ in range(n):
            x = x + held.size
            held = thing
        return x, held

    static = d2s.to_static(f)
    for count in (2, 0):
        thing = Prickly(3)
        (want, _), (got, held) = (which(X, scalar(count), thing) for which in (f, static))
        assert got.tolist() == want.tolist()
        assert held is thing
