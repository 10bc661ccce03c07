"""Which other names of a tensor that is changed in place get its new contents (rules A1, F3)."""

from __future__ import annotations

import paddle
import pytest

from tests.helpers import assert_same, function_of, tensor

LATER = {
    "in the next trip of a loop that stays Python": """
        s = x * 0
        for i in (1, 2, 3):
            try:
                s = s + z * i
                y.add_(x)
            finally:
                continue
        return s
    """,
    "in a function inside": """
        def g():
            return z * 2

        y.add_(x)
        return g()
    """,
    "in a function in a function inside": """
        def g():
            def h():
                return z * 2

            return h()

        y.add_(x)
        return g()
    """,
    "nowhere, as a function inside binds it": """
        def g():
            nonlocal z
            z = x
            return z

        y.add_(x)
        return g() + y
    """,
}


@pytest.mark.parametrize("name", LATER)
def test_a_name_that_is_read_later(name: str) -> None:
    """A1: ``z`` is the tensor that ``y`` is, wherever it is read."""
    function = function_of(f"""
    def f(x):
        y = x * 1
        z = y
    {LATER[name]}
    """)
    assert_same(function, tensor(1.0, 2.0))


class Part(paddle.nn.Layer):
    """A layer without anything, as ``nn.Layer()`` is."""


@pytest.mark.parametrize("path", ["net.here", "net.inner.here", "net.parts[0]"])
def test_an_attribute_of_a_layer(path: str) -> None:
    """F3: it holds the same tensor as before."""
    function = function_of(
        f"""
        def f(x):
            net = Part()
            net.inner = Part()
            net.parts = [x]
            {path} = x * 3
            y = {path}
            y.add_(x)
            return y, {path} * 2
        """,
        "f",
        Part=Part,
    )
    assert_same(function, tensor(1.0, 2.0))


def test_a_variable_of_the_same_name_in_a_function_between() -> None:
    """A1: ``xs`` of ``g`` is the one of ``f``, not that of ``h``, which calls it."""

    def f(x):
        xs = [x]

        def g():
            nonlocal xs
            if x.sum() > 0:
                ys = []
                for _ in range(x.sum().astype("int64")):
                    ys.append(x)
                xs = ys

        def h():
            xs = "another"

            def k():
                return xs

            g()
            return k()

        return h(), paddle.stack(xs)

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.0))
