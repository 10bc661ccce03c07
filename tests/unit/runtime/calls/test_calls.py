"""What a call becomes, with a program and without (rules A1, E2, E5)."""

from __future__ import annotations

import inspect
import sys

import pytest

import d2s
from d2s.errors import ContainerInGraphError, NotStaticError
from tests.helpers import assert_same, function_of, tensor


def test_a_function_that_is_called_outside_of_a_program() -> None:
    """A1: it is converted, and nobody is told of it."""
    function = function_of("""
    def g(a, b):
        return a if a > b else b

    def f(values):
        found = []
        for at, value in enumerate(values):
            found.append(g(at, value))
        return found
    """)
    assert d2s.convert(function)([3, -1, 2]) == function([3, -1, 2]) == [3, 1, 2]


@pytest.mark.parametrize(
    "look", ["inspect.currentframe()", "inspect.stack()[0].frame", "sys._getframe()"]
)
def test_a_look_at_the_frame_that_calls(look: str) -> None:
    """A1: it is the user's."""
    function = function_of(
        f"def f(x):\n    frame = {look}\n    return x * 2, frame.f_code.co_name, frame.f_lineno",
        "f",
        inspect=inspect,
        sys=sys,
    )
    assert_same(function, tensor(1.0, 2.0))


def test_the_numbers_of_a_tensor_of_the_program() -> None:
    """E5: a coded error with the line, the columns and the cure."""
    function = function_of("""
    def f(x):
        y = x * 2
        return len(memoryview(y.numpy()))
    """)
    with pytest.raises(NotStaticError, match=r"memoryview\(\) asks for the numbers") as caught:
        d2s.to_static(function)(tensor(1.0, 2.0))
    assert caught.value.line == 3
    assert "or tensors" in caught.value.cure
    if sys.version_info >= (3, 11):
        first, last = caught.value.columns
        line = "        return len(memoryview(y.numpy()))"
        assert line[4:][first:last] == "memoryview(y.numpy())"


def test_the_list_of_a_tensor_is_called_list() -> None:
    """D1: a list that the user has not named yet."""

    def f(x):
        return set().union(*list(x[x > 0]))

    with pytest.raises(ContainerInGraphError, match="the list 'list', whose length"):
        d2s.to_static(f)(tensor(1.0, 2.0))
