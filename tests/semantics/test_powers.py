"""Powers of whole numbers, which Python and dygraph do not round (rules A1, E1)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

NUMBERS = [(scalar(n),) for n in (3, 0, 1, -1, -7, 1000003, 2147483647)]

OF_TENSORS = [
    "t ** 2", "t ** 3", "t ** 0", "t ** 1", "(t % 2000000) ** 3", "t.astype('int32') ** 2",
    "paddle.stack([t, t + 1]) ** 2", "paddle.pow(t, 2)", "t.pow(3)", "t ** 2.0",
]  # fmt: skip


@pytest.mark.parametrize("power", OF_TENSORS)
def test_of_tensors(power: str) -> None:
    """E1: those of integers are products."""
    f = function_of(f"def f(t):\n    return {power}")
    assert_same(f, *NUMBERS, (scalar(5000000035),), (scalar(-5000000035),), rtol=0, grad=False)


OF_NUMBERS = [
    "n ** 2", "(n % 2000000) ** 3", "n ** 0", "n ** True", "pow(n, 2)", "n ** 2.0", "n ** -1",
    "n ** -2", "2 ** (n % 60)", "3 ** (n % 39)", "(-3) ** (n % 39)", "(n % 7) ** (n % 20)",
    "1.5 ** (n % 9)", "float(n) ** 2", "abs(n) ** 0.5", "(n % 5) ** (n % 5 - 2)", "1 ** n",
    "(-1) ** n", "(n % 3 - 1) ** (n % 200)", "2 ** (n % 8 - 4)",
]  # fmt: skip


@pytest.mark.sampled(3, also=["n ** 0"])
@pytest.mark.parametrize("power", OF_NUMBERS)
def test_of_numbers_of_the_run(power: str) -> None:
    """E1: an int, or a float where the exponent is negative; zero has no such power."""
    f = function_of(f"def f(t):\n    n = int(t)\n    return {power}")
    assert_same(f, *NUMBERS, rtol=1e-15, grad=False)


def test_in_a_loop_and_with_a_gradient() -> None:
    """E1, C7: powers in a static loop, beside floats that have a gradient."""
    f = function_of("""
    def f(x, n):
        total = 0
        for i in range(n):
            total += (i * 1000003) ** 2
            x = x * i ** 2 + (-1) ** i
        return x, total
    """)
    assert_same(f, *((tensor(1.0, 2.0), scalar(n)) for n in (3, 0, 5)))


def test_with_a_modulus() -> None:
    """E1: which a program has no operation for."""
    f = function_of("def f(t):\n    return pow(int(t), 2, 7), pow(3, 4, 5)")
    with pytest.raises(UnsupportedInGraphError, match="with a modulus"):
        d2s.to_static(f)(scalar(3))
