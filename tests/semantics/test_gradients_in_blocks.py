"""``paddle.grad`` in a branch or loop, of what was computed around it (rule C7)."""

from __future__ import annotations

import textwrap
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import LoopGradientError
from tests.helpers import assert_same, function_of, scalar

LEAF = "x = x.detach(); x.stop_gradient = False; g = paddle.zeros_like(x); n = paddle.zeros([])"

SCENES = {
    "a list of gradients behind an early return": """
        if x.sum() > 100:
            return x
        out, rows = x * x, []
        for i in range(out.shape[0]):
            rows.append(paddle.grad(out[i], x, retain_graph=True)[0].sum())
        return paddle.stack(rows)
    """,
    "a list of gradients, and a branch with another": """
        out = x * x
        rows = [paddle.grad(out[i], x, retain_graph=True)[0] for i in range(out.shape[0])]
        if x.sum() > 100:
            return paddle.stack(rows)
        out = x * x * x
        rows = [paddle.grad(out[i], x, retain_graph=True)[0] for i in range(out.shape[0])]
        return paddle.stack(rows)
    """,
    "a loop around a list of gradients": """
        for _ in range(3):
            y = x.detach(); y.stop_gradient = False
            out = y * y
            rows = [paddle.grad(out[i], y, retain_graph=True)[0] for i in range(out.shape[0])]
            x = x - 0.1 * paddle.stack(rows).sum(0)
            if x.abs().sum() < 2:
                break
        return x
    """,
    "a loop that saves nothing": """
        if x.max() > 0:
            y = x
            while y.abs().sum() < 100:
                y = y * 2
            g = paddle.grad(y.sum(), x)[0]
        return g
    """,
    "a branch before the loop, which saves nothing": """
        y = x * x * x
        if x.sum() > 0:
            y = x * x
        while n < 3:
            g = g + paddle.grad(y.sum(), x, retain_graph=True)[0]
            n = n + 1
        return g
    """,
    "a branch before the branch, and later calls": """
        if x.sum() > 0:
            y = x * x
        else:
            y = x * x * x
        if x.max() > 1:
            g = paddle.grad(y.sum(), x, retain_graph=True)[0]
        return g
    """,
    "a loop before it, that it does not go through": """
        z, y = x, x * x
        while z.sum() < 30:
            z = z * z + 1
        while n < 3:
            g = g + paddle.grad(y.sum(), x, retain_graph=True)[0]
            n = n + 1
        return g + z.detach()
    """,
    "a loop in each trip": """
        while n < 3:
            y = x * (n + 1)
            while y.sum() < 50 * (n + 1):
                y = y * y + 1
            g = g + paddle.grad(y.sum(), x)[0]
            n = n + 1
        return g
    """,
    "a branch in a trip, in a later branch": """
        while n < 3:
            y = x * (n + 1)
            if y.sum() < 5:
                y = y * y + 1
            else:
                y = y * y * y
            if n == 1:
                g = g + paddle.grad(y.sum(), x)[0]
            n = n + 1
        return g
    """,
}

REFUSED = {
    "a loop before the loop": """
        y = x
        while y.sum() < 100:
            y = y * y + 1
        while n < 3:
            g = g + paddle.grad(y.sum(), x, retain_graph=True)[0]
            n = n + 1
        return g
    """,
    "a branch before the loop": """
        if x.sum() > 0:
            y = x * x
        else:
            y = x * x * x
        while n < 3:
            g = g + paddle.grad(y.sum(), x, retain_graph=True)[0]
            n = n + 1
        return g
    """,
    "a loop before the branch": """
        y = x
        while y.sum() < 30:
            y = y * y + 1
        if x.max() > 1:
            g = paddle.grad(y.sum(), x, retain_graph=True)[0]
        return g
    """,
    "a loop of a trip, in a later branch": """
        while n < 3:
            y = x * (n + 1)
            while y.sum() < 50 * (n + 1):
                y = y * y + 1
            if n == 1:
                g = g + paddle.grad(y.sum(), x)[0]
            n = n + 1
        return g
    """,
}


def _function(body: str) -> Any:
    return function_of(f"def f(x):\n    {LEAF}\n{textwrap.indent(textwrap.dedent(body), '    ')}")


def _lists() -> list[Any]:
    return [
        paddle.to_tensor([1.0, 2.0, 0.5]),
        paddle.to_tensor([0.25, -0.5]),
        paddle.to_tensor([-1.0, -2.0, -3.0, 90.0]),
    ]


@pytest.mark.sampled(
    3,
    also=["a branch before the loop, which saves nothing", "a branch in a trip, in a later branch"],
)
@pytest.mark.parametrize("name", SCENES)
def test_gradients_of_what_was_computed_around(name: str) -> None:
    """C7: the branch under capture was differentiated, too; the process ended."""
    function = _function(SCENES[name])
    assert_same(function, *_lists(), grad=False, static=d2s.to_static(function, full_graph=True))


@pytest.mark.parametrize("name", REFUSED)
def test_saved_values_are_taken_back_once(name: str) -> None:
    """C7: what a block saves is there for one gradient; those of later calls were wrong, too."""
    with pytest.raises(LoopGradientError, match="has saved its values for one gradient") as caught:
        d2s.to_static(_function(REFUSED[name]), full_graph=True)(_lists()[0])
    assert caught.value.file is not None


def test_the_first_values_of_inner_loops_are_not_kept() -> None:
    """C7: the run ended in "DenseTensor shouldn't be null"."""
    body = """
        if x.sum() < 100:
            y = x
            while y.sum() < 100:
                z = y * 1.5
                while z.sum() < 50:
                    z = z * z + 1
                y = y + z
            g = paddle.grad(y.sum(), x)[0]
        return g
    """
    with pytest.raises(LoopGradientError, match="inside of another") as caught:
        d2s.to_static(_function(body), full_graph=True)(_lists()[0])
    assert caught.value.file is not None


def test_uses_are_added_up_in_dygraphs_order() -> None:
    """C7: bit by bit, also where a loop beside them fills an array; their sum has three parts."""
    body = """
        rows = [x * i for i in range(n)]
        for i in range(n):
            x = x.detach(); x.stop_gradient = False
            y = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
            x = x - 0.001 * paddle.grad(y, [x], create_graph=True)[0]
        return x, paddle.stack(rows)
    """
    function = function_of("def f(x, n):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    static = d2s.to_static(function, full_graph=True)
    paddle.seed(3)
    for _ in range(20):
        x = paddle.randn([3])
        want, got = function(x, 4)[0], static(x, paddle.to_tensor(4))[0]
        assert got.tolist() == want.tolist()


def test_a_condition_that_is_saved_twice() -> None:
    """C7: of two equal conditions in a branch, each is its own where gradients read it."""

    def twice(x: Any, y: Any, n: Any) -> Any:
        if n != 2:
            for _ in range(2):
                if y.sum() > 1.25:
                    rows = []
                    for i in range(n):
                        rows.append(x * 0.25 * i)
                    x = y * 0.5
                    for row in rows:
                        x = x + row
        return (x - y).sum()

    static = d2s.to_static(twice, full_graph=True)
    for first, second, count in (
        ([-1.0, -1.0, -0.5], [0.5, -1.0, 1.5], 0),
        ([0.0, -0.5, 0.25, -2.0], [0.5, 1.5, -0.5, -1.0], 0),
        ([0.0, -0.5, 0.25], [2.5, 1.5, -0.5], 3),
        ([0.5, -0.5, 0.25, 1.0], [2.5, 1.5, -0.5, 1.0], 1),
        ([0.5, -0.5, 0.25, 1.0], [2.5, 1.5, -0.5, 1.0], 2),
    ):
        found = []
        for function in (static, twice):
            x, y = (paddle.to_tensor(each, stop_gradient=False) for each in (first, second))
            made = paddle.grad(function(x, y, scalar(count)), [x, y], allow_unused=True)
            found.append([None if each is None else each.numpy().tolist() for each in made])
        assert found[0] == found[1]
