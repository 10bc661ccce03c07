"""``try`` behind branches that may raise, and with an ``else`` (rules A1, F1)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, 2.0)


def test_a_refusal_behind_a_branch_that_may_raise() -> None:
    """E2: what the branch has left open is closed, and the next capture begins afresh."""
    f = function_of("""
        def f(x, export):
            try:
                if x.max() > 5:
                    raise ValueError("large")
                if export:
                    x = x + hash(x.max().item())
            except ValueError:
                x = x - 5
            return x * 2
    """)
    static = d2s.to_static(f)
    with pytest.raises(d2s.D2SError) as caught:
        static(X, True)
    assert caught.value.line == 6
    assert_same(f, (X, False), (X * 5, False))


def test_the_else_of_a_try_whose_body_returns() -> None:
    """B6: it runs unless the body has returned."""
    f = function_of("""
        def f(x):
            try:
                if x.sum() > 0:
                    return x * 3
            except ValueError:
                x = x - 1
            else:
                x = x + 1
            return x * 2
    """)
    assert_same(f, (X,), (-X,))
