"""The tables of errors: what a variable is before a loop and in it, on each side of a branch."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import d2s
from tests.helpers import function_of, scalar, tensor


def said(text: str, *given: Any, **scope: Any) -> str:
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(function_of(text, "f", **scope))(*given)
    return str(caught.value)


def test_tensors_and_numbers_of_a_loop() -> None:
    """A table has type, dtype and shape of a tensor, and the type of a number."""
    message = said(
        """
        def f(x, n):
            y = x
            for i in range(n):
                y = paddle.stack([y, y])
            return y
        """,
        tensor(1.0, 2.0),
        scalar(3),
    )
    rows = [line.split() for line in message.splitlines() if line.strip().startswith("y ")]
    assert len(rows) == 5, message  # four forms of the trips are tried
    assert all("Tensor" in row for row in rows), message
    assert "float32" in message
    assert "[2]" in message
    assert "[2, 2]" in message


def test_a_loop_whose_text_is_gone(monkeypatch) -> None:
    """Without a text the table has no lines, and the error is the same."""
    monkeypatch.setattr("d2s.runtime.values.tables.function_at", lambda file, line: None)
    message = said(
        """
        def f(x, n):
            y = x
            for i in range(n):
                y = paddle.stack([y, y])
            return y
        """,
        tensor(1.0, 2.0),
        scalar(3),
    )
    assert "before the loop" in message
    assert "after a trip" in message


def test_sides_that_are_no_branch_s_alone() -> None:
    """What one branch chooses and another one changes is on neither of the sides of the second."""
    message = said(
        """
        def f(x):
            y = None
            if x.sum() > 0:
                y = x * 2
            if x.sum() > 2:
                y = x + 1
            return {y: 1}
        """,
        tensor(1.0, 2.0),
    )
    rows = [line for line in message.splitlines() if line.strip().startswith("y ")]
    assert len(rows) == 2, message
    assert "on one side" in rows[0]
    assert "on the other" in rows[1]


def test_an_object_of_a_trip_is_named_once() -> None:
    """An object that holds what its trip has computed is refused when it comes: no second try."""
    message = said(
        """
        def f(x, n):
            s = None
            for i in range(n):
                y = x + i
                if s is None:
                    s = "a"
                elif s == "a":
                    s = partial(add, y)
                x = x + 1
            return x
        """,
        tensor(1.0, 2.0),
        scalar(3),
        partial=functools.partial,
        add=lambda a, b: a + b,
    )
    assert "[D2S202]" in message
    assert message.count(" partial") == 1, message


def test_nothing_on_several_paths_is_one_thing() -> None:
    """B4: ``None`` is one thing that a variable may be, however many branches take it away."""
    message = said(
        """
        def f(x):
            y = x * 2
            if x.sum() > 0:
                y = None
            if x.sum() > 1:
                y = None
            return {y: 1}
        """,
        tensor(1.0, 2.0),
    )
    rows = [line.split() for line in message.splitlines() if line.strip().startswith("y ")]
    assert len(rows) == 2, message
    assert sum("None" in row for row in rows) == 1, message
