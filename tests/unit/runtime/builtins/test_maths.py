"""Functions of ``math`` over numbers of the run (rule E1)."""

from __future__ import annotations

import math

import paddle
import pytest

import d2s


def test_a_product_over_a_range_of_the_run() -> None:
    """E2: refused with a code where ``sum`` of it is known."""

    def f(n):
        return math.prod(range(1, n))

    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f)(paddle.to_tensor(4))
    assert caught.value.code == "D2S205"
    assert caught.value.line == f.__code__.co_firstlineno + 1
