"""Equal operations are merged where Paddle's pass for it comes to an end (rule A1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

from d2s.paddle_bridge.preparing.equals import merges_in_time
from tests.helpers import assert_same, function_of, tensor


def chain(value: Any, links: int, factor: float = 0.5) -> Any:
    """Each link reads the one before it twice."""
    for _ in range(links):
        value = value + value * factor
    return value


def merges(make: Any) -> bool:
    """The verdict on the program in which ``make`` has computed something of a value."""
    program = paddle.static.Program()
    with paddle.static.program_guard(program):
        make(paddle.static.data("x", [3]))
    return merges_in_time(program)


@pytest.fixture(autouse=True)
def static() -> Any:
    paddle.enable_static()
    yield
    paddle.disable_static()


def test_one_long_chain_is_merged() -> None:
    assert merges(lambda x: chain(x, 500))


def test_two_chains_of_different_values_are_merged() -> None:
    assert merges(lambda x: (chain(x, 60), chain(x + x, 60)))


def test_two_short_equal_chains_are_merged() -> None:
    assert merges(lambda x: (chain(x, 8), chain(x, 8), chain(x, 200, 0.25)))


@pytest.mark.parametrize("count", [2, 3])
def test_long_equal_chains_are_not(count: int) -> None:
    assert not merges(lambda x: [chain(x, 40) for _ in range(count)])


def test_many_equal_pairs_are_merged() -> None:
    """Comparing many is no reason: only what doubles is."""
    assert merges(lambda x: [x * 0.5 for _ in range(1000)])


def test_an_equal_chain_in_a_branch_is_not() -> None:
    def make(x: Any) -> Any:
        return paddle.static.nn.cond(
            x.sum() > 0, lambda: chain(x, 40) + chain(x, 40), lambda: x * 2.0
        )

    assert not merges(make)


def test_a_call_with_two_equal_chains_comes_to_an_end() -> None:
    """With 40 links Paddle's pass would take months; found by a nightly run."""
    paddle.disable_static()
    f = function_of(
        """
        def f(x):
            def residual(z):
                for _ in range(40):
                    z = z * 0.5 + z * 0.25
                return z
            return residual(x) * residual(x)
        """
    )
    assert_same(f, (tensor(1.0, -2.0),))
