"""The tables of errors: what a variable is before a loop and in it, on each side of a branch."""

from __future__ import annotations

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
    assert len(rows) == 2, message
    assert all("Tensor" in row for row in rows), message
    assert "float32" in message
    assert "[2]" in message
    assert "[2, 2]" in message


def test_a_loop_whose_text_is_gone(monkeypatch) -> None:
    """Without a text the table has no lines, and the error is the same."""
    monkeypatch.setattr("d2s.operators.tables.function_at", lambda file, line: None)
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
