"""``sorted`` of tensors some of which are NaN: Python's order, however odd it is (E1)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers import assert_same, function_of, tensor

NAN = float("nan")

ROWS: list[Any] = [
    *itertools.permutations((NAN, 2.0, 1.0, 3.0)),
    *itertools.permutations((NAN, NAN, 1.0, 2.0)),
]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("items", ["x", "[x[0], x[1], x[2], x[3]]", "[x[0], x[1]]"])
def test_a_few(items: str, reverse: bool) -> None:
    """E1: in all their orders."""
    f = function_of(f"def f(x):\n    return sorted({items}, reverse={reverse})")
    assert_same(f, *((tensor(*row),) for row in ROWS[::3]), grad=False)


@pytest.mark.parametrize("reverse", [False, True])
def test_many(reverse: bool) -> None:
    """E1: with runs up and down before the first NaN, and gradients."""
    f = function_of(
        f"def f(x):\n    y = sorted(x, reverse={reverse})\n    return y[0] * y[-1] + y[3]"
    )
    rows = [
        [(7.0 * i + seed) % 11 if (i + seed) % 5 else NAN for i in range(20)] for seed in range(8)
    ]
    up = [float(i) for i in range(18)]
    rows += [[*up, NAN, 3.0], [*up[::-1], NAN, 3.0], [*up, 1.0, 2.0]]
    assert_same(f, *((tensor(*row),) for row in rows))
