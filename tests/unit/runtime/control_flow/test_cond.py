"""Constants of two sides, and operands that wait (rules B1, B5)."""

from __future__ import annotations

from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, 2.0)


def test_constants_of_two_sides() -> None:
    """B4: not a number is one constant, arrays that do not say "equal" are two."""
    f = function_of("""
        import numpy as np

        FIRST, SECOND = np.array([1.0, 2.0]), np.array([1.0, 2.0])

        def f(x):
            if x.sum() > 0:
                missing, array = float("nan"), FIRST
            else:
                missing, array = float("nan"), SECOND
            return x, missing != missing, array is FIRST
    """)
    assert_same(f, (X,), (-X,))


def test_operands_of_a_chain_that_wait() -> None:
    """B5: ``a and (b and c)`` asks each once, and only when the one before holds."""
    f = function_of("""
        def f(x):
            seen = []

            def ask(value):
                seen.append(1)
                return value

            if ask(x.sum() > 0) and (ask(x.max() > 1) and ask(x.min() > 0)):
                x = x + 1
            return x, len(seen)
    """)
    assert_same(f, (X,), (-X,), (X - 1.5,))
