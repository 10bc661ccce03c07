"""A variable that is of several kinds on the way through a loop (rules B3, C3, C4)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0)
N = [(X, scalar(n)) for n in (3, 1, 2, 0)]


@pytest.mark.parametrize(
    "body",
    [
        "y = x if i < 1 else ('text' if i < 2 else [x, i])",
        "y = x if i < 1 else (None if i < 2 else {'k': x})",
        "y = 'on' if y is None else x",
        "y = (x, 'two') if i < 1 else (x * 2, 'two')",
    ],
)
def test_kinds_that_the_trips_decide(body: str) -> None:
    """C3: what the last trip has left, whatever it is."""
    function = function_of(f"""
def f(x, n):
    y = None
    for i in range(n):
        {body}
    return y
""")
    assert_same(function, *N)


def test_a_text_that_is_made_anew_in_each_trip() -> None:
    """C2: an equal text is the same text."""

    def f(x, n):
        mode = "off"
        for _ in range(n):
            x = x + (1 if mode == "on" else 2)
            mode = "".join(["o", "n"])
        return x, mode

    assert_same(f, *N)


@pytest.mark.parametrize("count", [5, 12])
def test_many_kinds(count: int) -> None:
    """C4: right, or refused with a code; never one kind in the place of another."""
    kinds = ["x", "'t'", "[x]", "(x,)", "{'k': x}", "[x, x]", "(x, x)", "{'l': x}", "'u'", "None"]
    kinds += ["[x, x, x]", "(x, x, x)"]
    lines = "".join(f"        if i == {i}:\n            y = {kinds[i]}\n" for i in range(count))
    function = function_of(
        f"def f(x, n):\n    y = None\n    for i in range(n):\n{lines}    return y"
    )
    if count <= 5:
        assert_same(function, *((X, scalar(n)) for n in (1, 3, 5, 0)), grad=False)
        return
    with pytest.raises(D2SError, match="'y'"):
        d2s.to_static(function)(X, scalar(count))
