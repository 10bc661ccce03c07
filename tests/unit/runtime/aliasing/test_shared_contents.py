"""Changes in place of what arguments, outer variables and views are (rules A1, F3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, scalar, tensor

WRITES = {
    "a view that has the argument's name": "x = x[0]\n    x.add_(x)",
    "a view of a view": "x = x[0][1:]\n    x.add_(x)",
    "an item of it": "x = x[1]\n    x[0] = 9",
    "itself": "x.add_(x)",
    "itself in a branch": "if x.sum() > 0:\n        x.add_(x)",
}


@pytest.mark.parametrize("name", WRITES)
def test_the_caller_sees_the_change(name: str) -> None:
    """A1: also where no variable of the function holds the argument any more."""
    function = function_of(f"def f(x):\n    {WRITES[name]}\n    return x")
    assert_same(function, *(paddle.to_tensor([[1, 2], [3, 4]]) * sign for sign in (1, -1)))


PARTS = {
    "of a split": "parts = paddle.split(x, 2, axis=1)",
    "of unbind": "parts = paddle.unbind(x, axis=1)",
    "of chunks": "parts = paddle.chunk(x, 2, axis=1)",
    "of a transposed": "parts = [x.transpose([1, 0]), x]",
    "of a view with a stride": "parts = [x[:, ::2], x]",
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("write", ["row.add_(row)", "parts[0].add_(parts[0])"])
def test_a_reshaped_part_that_may_be_a_copy(name: str, write: str) -> None:
    """A1: never silent, as nobody knows whether it is a view."""
    function = function_of(f"""
    def f(x):
        {PARTS[name]}
        row = parts[0].reshape([-1])
        {write}
        return x, parts, row
    """)
    with pytest.raises(InplaceError, match="view"):
        d2s.to_static(function)(paddle.arange(12, dtype="int64").reshape([3, 4]))


@pytest.mark.parametrize("write", ["row.add_(row)", "parts[0].add_(parts[0])"])
def test_a_reshaped_view_with_a_shape(write: str) -> None:
    """A1: it is a view of the argument, which lies in one piece."""
    function = function_of(f"""
    def f(x):
        parts = [x.view([2, 6]), x]
        row = parts[0].reshape([-1])
        {write}
        return x, parts, row
    """)
    assert_same(function, paddle.arange(12, dtype="int64").reshape([3, 4]))


def test_a_variable_of_the_module() -> None:
    """F3: it has its new contents after every run."""
    steps = [paddle.zeros([2]), paddle.zeros([2])]

    def outer(kept: Any) -> Any:
        def f(x):
            before = kept * 1
            if x.sum() > 0:
                kept.add_(x)
            view = kept[0]
            kept.add_(x)
            return before, kept * 2, view + 0

        return f

    static = d2s.to_static(outer(steps[0]))
    plain = outer(steps[1])
    for given in [(1.0, 2.0), (-1.0, -5.0), (3.0, 0.0)]:
        for got, want in zip(static(tensor(*given)), plain(tensor(*given)), strict=True):
            assert got.tolist() == want.tolist()
        assert steps[0].tolist() == steps[1].tolist()


def test_a_buffer_of_paddle_s_layer() -> None:
    """F3: ``None`` before a helper gives it a tensor, on the runs that do so."""

    def outer() -> Any:
        layer = paddle.nn.Linear(2, 2)
        layer.register_buffer("seen", None)

        def note(owner, x):
            owner.seen = x * 2

        def f(x):
            if x.sum() > 0:
                note(layer, x)
            return x + 1, layer.seen

        return f

    plain, static = outer(), d2s.to_static(outer())
    for given in [(-1.0, 0.0), (1.0, 2.0), (-3.0, 1.0)]:
        want, got = plain(tensor(*given))[1], static(tensor(*given))[1]
        assert (got is None) == (want is None)
        assert want is None or got.tolist() == want.tolist()


NAMES = {
    "of the argument": """
        for i in range(n):
            t = x
            y = y + t * i
        x.add_(x)
    """,
    "of a view": """
        for i in range(n):
            t = x[0]
            y = y + t * i
        x.add_(x)
    """,
    "of another variable": """
        for i in range(n):
            t = y
            y = t + 1
        y.add_(x)
    """,
    "of a list": """
        out = []
        for i in range(n):
            t = out
            t.append(i)
        for i in range(n):
            out.append(i)
        y = y, out
    """,
    "in an inner loop": """
        for i in range(n):
            t = y
            while t.sum() < 50:
                t = t + i + 1
            y = y + 1
        y.add_(x)
    """,
    "bound before": """
        t = y
        for i in range(n):
            t = y + i
            y = t + x
        t = x
        x.add_(x)
    """,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_only_a_trip_uses(name: str) -> None:
    """A1, C2: behind the loop it is no other name of what changes."""
    function = function_of(f"""
    def f(x, n):
        y = x * 1{NAMES[name]}
        return x, y
    """)
    x = paddle.to_tensor([1, 2])
    assert_same(function, (x, scalar(2)), (x, scalar(0)))
