"""State that is kept in caches, views and tables, over several calls (rules A1, F3)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, tensor


def _calls(make: Callable[[], tuple[Callable[..., Any], Any]], inputs: list[Any]) -> None:
    """Hold some calls against dygraph, and the state after each of them."""
    (plain, plain_state), (function, state) = make(), make()
    converted = d2s.to_static(function)
    for given in inputs:
        want, got = plain(given), converted(given)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
        assert list(plain_state) == list(state)


def test_a_table_by_size() -> None:
    """F3: the key is a size, also when the dimension has become an open one."""

    def make() -> tuple[Any, Any]:
        table: dict[int, Any] = {}

        def function(x: Any) -> Any:
            size = x.shape[0]
            if size not in table:
                table[size] = paddle.arange(size).astype("float32")
            return x + table[size]

        return function, table

    _calls(make, [paddle.ones([size]) for size in (2, 3, 2, 5, 3, 2, 7)])


def test_a_table_by_a_counter() -> None:
    """F3: the key is a number of the state that each call changes."""

    def make() -> tuple[Any, Any]:
        table: dict[int, Any] = {}
        count = 0

        def function(x: Any) -> Any:
            nonlocal count
            count += 1
            table[count] = x.sum()
            return table[count] + count

        return function, table

    _calls(make, [paddle.ones([2]) * value for value in (1.0, 2.0, 3.0, 4.0)])


CHANGES = [
    "whole[0] = v",
    "whole.add_(v)",
    "part.add_(v)",
    "part[0] = v",
    "whole.set_value(whole + v)",
]


@pytest.mark.parametrize("change", CHANGES)
def test_two_tensors_of_the_state_that_share_their_storage(change: str) -> None:
    """B4: a change of one is seen in the other in dygraph: refused, not missed."""
    whole = paddle.zeros([2, 3])
    function = function_of(
        f"def f(v):\n    {change}\n    return part + 0, whole + 0", "f", whole=whole, part=whole[0]
    )
    with pytest.raises(InplaceError):
        d2s.to_static(function)(tensor(2.0))


@pytest.mark.parametrize("change", CHANGES[:2])
def test_two_tensors_of_the_state_that_share_nothing(change: str) -> None:
    """B4: a copy is another tensor."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        whole = paddle.zeros([2, 3])
        text = f"def f(v):\n    {change}\n    return part + 0, whole + 0"
        function = convert(function_of(text, "f", whole=whole, part=whole[0].clone()))
        return [value.numpy().tolist() for _ in range(2) for value in function(tensor(2.0))]

    assert run(lambda function: function) == run(d2s.to_static)


@functools.lru_cache(maxsize=8)
def upper(size: int) -> Any:
    """A mask that is made once for each size."""
    return paddle.triu(paddle.ones([size, size]), 1)


@functools.cache
def doubled(value: Any) -> Any:
    """What is not to be called with tensors."""
    return value * 2


def test_what_a_cache_of_functools_keeps_is_made_in_dygraph() -> None:
    """A1: also where a branch of the program is the first to ask for it."""
    upper.cache_clear()
    function = function_of(
        """
        def f(x):
            y = x
            if x.sum() > 4:
                y = x + upper(2)
            return y * upper(2) + upper(x.shape[0]).sum()
        """,
        upper=upper,
    )
    assert_same(function, paddle.ones([2, 2]), paddle.ones([2, 2]) * 2)
    assert upper(2).numpy().tolist() == [[0.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "body",
    [
        """
            @functools.lru_cache(None)
            def scaled(k):
                return x * k
            return scaled(2) + scaled(2) + scaled(3)
        """,
        """
            @functools.cache
            def fib(n):
                return x * n if n < 2 else fib(n - 1) + fib(n - 2)
            return fib(24)
        """,
        """
            @functools.lru_cache
            def distance(i, j):
                if i == 0 or j == 0:
                    return float(i + j)
                cost = (x[i - 1] - x[j - 1]).abs()
                return min(distance(i - 1, j) + 1, distance(i - 1, j - 1) + cost)
            return distance(2, 2)
        """,
        """
            @functools.lru_cache
            def scaled(k):
                return x * k if x.sum() > 4 else x - k
            y = scaled(2)
            if x[0] > 1:
                y = y + scaled(3)
            return y + scaled(3)
        """,
        """
            class Powers:
                def __init__(self, x):
                    self.x = x

                @functools.lru_cache
                def __call__(self, k):
                    return self.x ** k

            powers = Powers(x)
            return powers(2) + powers(2) + powers(3)
        """,
    ],
)
def test_a_cache_of_a_function_that_closes_over_tensors(body: str) -> None:
    """A1: what it gives for one call is remembered for that call."""
    function = function_of(f"def f(x):\n{body}", functools=functools)
    assert_same(function, tensor(1.0, 2.0), tensor(2.0, 4.0))


def test_a_cache_that_is_given_a_tensor() -> None:
    """A1: it is computed in the program, with its gradient; nothing of that is left behind."""
    doubled.cache_clear()
    twice = function_of("def f(x): return doubled(x) + doubled(x)", doubled=doubled)
    converted = d2s.to_static(twice)
    x = tensor(1.0)
    x.stop_gradient = False
    converted(x).backward()
    assert x.grad.item() == 4.0
    assert doubled.cache_info().currsize == 0


@pytest.mark.parametrize(
    "body",
    [
        "paddle.normal(n, 1.0, [3]).shape",
        "paddle.normal(0.0, n, [2, 3]).shape",
        "paddle.assign(n)",
        "paddle.linalg.slogdet(paddle.eye(3) * n)[1] * 2",
        "(lambda sign, log: sign * log)(*paddle.linalg.slogdet(paddle.eye(2) * n))",
        "len(paddle.tensor.array_write(x, paddle.to_tensor([0])))",
        "paddle.tensor.array_length(paddle.tensor.array_write(x, paddle.to_tensor([0]))) + 1",
    ],
)
def test_what_paddle_declares_or_takes_otherwise(body: str) -> None:
    """E1: shapes that Paddle's programs declare wrongly, numbers that they take for tensors."""
    function = function_of(f"def f(x):\n    n = float(x.sum())\n    return {body}")
    assert_same(function, tensor(1.0, 3.0), tensor(2.0, 3.0))


@pytest.mark.parametrize(
    "use",
    [
        *("w * x - m", "(w + m) * x", "w * m.clone() * x"),  # they need no contents of it
        *("w * m * x", "w / m * x", "paddle.matmul(w, m) * x"),
    ],
)
def test_contents_that_are_written_over(use: str) -> None:
    """F3, C7: a gradient that reads them reads the new ones, as in dygraph."""

    def run(convert: Callable[[Any], Any]) -> list[Any]:
        weight = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        buffer = paddle.ones([2])
        text = f"def f(x):\n    y = ({use}).sum()\n    m.set_value(m * 3)\n    return y"
        function = convert(function_of(text, "f", w=weight, m=buffer))
        for value in (1.0, 2.0):
            function(paddle.full([2], value)).backward()
        return [weight.grad.numpy().tolist(), buffer.numpy().tolist()]

    assert run(lambda function: function) == run(d2s.to_static)


@pytest.mark.parametrize("calls", [1, 3])
def test_gradients_through_a_cache_that_each_call_replaces(calls: int) -> None:
    """B1: the backward of a call reads what the call has read, not what the next one will read."""

    class Cache:
        def __init__(self) -> None:
            self.rows = tensor(1.0, 10.0, 100.0).reshape([3, 1])
            self.rows.stop_gradient = False

    def step(x: Any, weight: Any, cache: Cache) -> Any:
        cache.rows = paddle.concat([cache.rows, x])[-3:]
        return cache.rows @ weight

    def gradients(function: Callable[..., Any]) -> list[Any]:
        cache, first = Cache(), None
        first = cache.rows
        weight = paddle.to_tensor([[2.0]], stop_gradient=False)
        for k in range(calls):
            x = paddle.full([1, 1], 0.5 + k)
            y = function(x, weight, cache)
        (y * tensor(1.0, 2.0, 3.0).reshape([3, 1])).sum().backward()
        return [weight.grad.tolist(), first.grad.tolist(), cache.rows.tolist()]

    assert gradients(d2s.to_static(step, full_graph=True)) == gradients(step)
