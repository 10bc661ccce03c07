"""``round``, ``int`` and ``float`` of tensors and of numbers that the run decides (rule E1)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.errors import (
    ConditionError,
    UnsupportedInGraphError,
)
from tests.helpers import scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


def refused(function: Any, kind: type[Exception], words: str, line: int) -> None:
    with pytest.raises(kind, match=words) as error:
        d2s.to_static(function)(*SIGNS[0])
    assert error.value.line == function.__code__.co_firstlineno + line


def test_digits_that_are_not_known() -> None:
    """E1: ``round`` of a number of the run wants a constant, right of the point."""

    def left(x, s):
        return round(float(s), -1)

    def unknown(x, s):
        return round(float(s), int(s))

    refused(left, UnsupportedInGraphError, "round", 1)
    refused(unknown, UnsupportedInGraphError, "round", 1)


@pytest.mark.parametrize("kind", [int, float])
def test_numbers_of_tensors_with_a_dimension(kind: Any) -> None:
    """E1: one element is a number, whatever its shape and dtype; more are refused."""

    def f(x, s):
        return kind(x)

    with pytest.raises(ConditionError, match="needs one element"):
        d2s.to_static(f)(*SIGNS[0])
    for dtype in ("int64", "float64", "float32"):
        found = d2s.to_static(f)(tensor(2, dtype=dtype), scalar(1.0))
        assert (type(found), found) == (kind, 2)
