"""``math``, ``str`` and ``and``/``or`` on what Python knows, in a program (rules B5, E1)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor


def test_math_on_numbers_that_python_knows() -> None:
    """E1: the result is Python's own number, which a library takes."""

    def f(x):
        return x + np.full(math.floor(2.5), math.sqrt(4.0), "float32")

    assert_same(f, tensor(1.0, 2.0))


def test_math_outside_of_a_capture() -> None:
    """E1: ``math`` on a tensor of dygraph is ``math``."""
    f = d2s.convert(lambda x: math.sqrt(x))
    assert type(f(scalar(4.0))) is float


def test_a_text_of_bytes() -> None:
    """A1: ``str`` with an encoding."""

    def f(x, raw):
        return x, str(raw, encoding="ascii"), str(raw, "utf-8", errors="strict")

    assert_same(f, (tensor(1.0), b"ab"), grad=False)


@pytest.mark.parametrize("word", ["and", "or"])
def test_more_than_two_operands(word: str) -> None:
    """B5: each of them has its say."""
    function = function_of(f"""
    def f(x, a, b, c):
        if x.sum() > 0 {word} a > 0 {word} b > 0 {word} c > 0:
            return x * 2, x.max() > 0 {word} a {word} b {word} c
        return x * 3, None
    """)
    inputs = [
        (tensor(x), *(scalar(int(mask >> place & 1)) for place in range(3)))
        for x in (1.0, -1.0)
        for mask in range(8)
    ]
    assert_same(function, *inputs, grad=False)
