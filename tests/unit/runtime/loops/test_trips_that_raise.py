"""Loops and tries whose exceptions only the run can raise (rules A1, C2, F1)."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

ENDS = {
    "a raise on both sides": """
        y = "text"
        if x.max() > 2:
            raise ValueError("large")
        else:
            raise KeyError("small")
    """,
    "a list is longer by then": """
        kept.append(x)
        kept.append("text")
        if x.max() > 2:
            raise ValueError("large")
        raise KeyError("small")
    """,
    "a raise": """
        y = None
        raise ValueError("every trip")
    """,
    "an exception of Python's": """
        y = (x, 1)
        [][1]
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_a_trip_that_ends_in_an_exception(name: str) -> None:
    """C2, F1: what it leaves in the variables is never read."""
    function = function_of(f"""
    def f(x, n):
        y, kept = x * 2, [x]
        while x.sum() < n:{ENDS[name].replace(chr(10), chr(10) + "    ")}
        return y, kept
    """)
    assert_same(
        function,
        (tensor(1.0, 2.0), scalar(1)),
        (tensor(1.0, 2.0), scalar(9)),
        (tensor(1.0, 3.0), scalar(9)),
    )


def test_a_try_inside_of_a_loop_and_a_branch() -> None:
    """F1: the run goes to the handler, which stands in the same trip."""

    def f(x, n):
        total, caught = x * 0, 0
        for i in range(n):
            if x.sum() > 0:
                try:
                    if x.max() > i:
                        raise ValueError("small index")
                    total = total + x
                except ValueError:
                    caught = caught + 1
                    total = total - x
        return total, caught

    given = [(tensor(1.0, 2.0), scalar(count)) for count in (0, 1, 5)]
    assert_same(f, *given, (tensor(-1.0, -2.0), scalar(2)))


def test_the_line_of_one_of_two_equal_exceptions() -> None:
    """F1: raised on two lines of a helper, with one text."""
    function = function_of("""
    def check(x):
        if x.max() > 2:
            raise ValueError("bad")
        if x.min() < 0:
            raise ValueError("bad")

    def f(x):
        y = x
        try:
            check(x)
            y = x * 2
        except ValueError as error:
            if x.sum() > 100:
                y = x * 3
            else:
                raise
        return y
    """)
    static: Any = d2s.to_static(function)

    def lines(which: Any, *given: float) -> list[int]:
        with pytest.raises(ValueError, match="bad") as caught:
            which(tensor(*given))
        file = function.__code__.co_filename
        return [entry.lineno + 1 for entry in caught.traceback if str(entry.path) == file]

    for given in [(1.0, 3.0), (1.0, -3.0), (1.0, 3.0)]:
        assert lines(static, *given)[-1] == lines(function, *given)[-1]
    assert_same(function, tensor(1.0, 1.5), tensor(200.0, 1.0), tensor(-1.0, 1.0))


def test_an_open_dimension_in_dygraph_s_words() -> None:
    """A1: no size that nobody has given is spoken of."""

    def f(x, y):
        return paddle.concat([x, y])

    static = d2s.to_static(
        f,
        input_spec=[
            paddle.static.InputSpec([None, 3], "float32", "x"),
            paddle.static.InputSpec([4], "float32", "y"),
        ],
    )
    with pytest.raises(Exception, match=r"concat|Concat") as caught:
        static(paddle.ones([7, 3]), paddle.ones([4]))
    assert "[2, 3]" not in str(caught.value)
    assert "[3, 3]" not in str(caught.value)


def test_a_function_of_paddle_s_that_somebody_has_wrapped(monkeypatch) -> None:
    """A1: what dygraph says is asked of Paddle's function, not of the user's around it."""
    original = paddle.flip
    calls = []

    @d2s.not_to_static
    @functools.wraps(original)
    def flip(*given: Any) -> Any:
        calls.append(given)
        return original(*given)

    monkeypatch.setattr(sys.modules[original.__module__], "flip", flip)

    def f(x):
        return flip(x, "a")

    said = []
    for which in (f, d2s.to_static(f)):
        with pytest.raises(TypeError) as caught:
            which(paddle.ones([2]))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert len(calls) == 2


def test_what_was_changed_before_a_warning_that_is_an_error() -> None:
    """F1, F3: it stays changed."""

    def outer() -> Any:
        holder = types.SimpleNamespace(total=paddle.zeros([]))

        def f(x):
            holder.total = holder.total + x.sum()
            if x.sum() > 0:
                warnings.warn("positive", stacklevel=1)
            holder.total = holder.total * 2
            return x

        return f, holder

    (plain, first), (static, second) = outer(), outer()
    static = d2s.to_static(static)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in [(-1.0, 0.0), (1.0, 2.0), (-3.0, 1.0), (5.0, 2.0)]:
            for which in (plain, static):
                if sum(given) > 0:
                    with pytest.raises(UserWarning, match="positive"):
                        which(tensor(*given))
                else:
                    which(tensor(*given))
            assert second.total.item() == first.total.item()


def test_a_defect_in_a_trip(monkeypatch) -> None:
    """C1: it is no exception of the user's that the run would raise, if it came to the trip."""

    def f(x, n):
        for i in range(n):
            if x.sum() > i:
                x = x + 1
        return x

    monkeypatch.setattr("d2s.runtime.control_flow.cond.snapshot", None, raising=False)
    monkeypatch.setattr("d2s.runtime.control_flow.cond.State", None)
    with pytest.raises(Exception, match="NoneType"):
        d2s.to_static(f)(tensor(1.0), scalar(0))
