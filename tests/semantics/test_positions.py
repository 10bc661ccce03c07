"""Converted code speaks of the user's lines: tracebacks, and the lines that coverage and
debuggers see (decision 0001; rules A1 and F1)."""

from __future__ import annotations

import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

import paddle
import pytest

import d2s
from d2s.conversion import convert_function
from tests.helpers import function_of, tensor

TEXTS = {
    "in if": """
        def f(x):
            y = x

            if y > 0:
                y = y + 1
                y = 1 / 0
            return y
    """,
    "in else": """
        def f(x):
            if x < 0:
                y = 1
            elif x < 1:
                y = 2
            else:
                y = 3
                y = y / 0
            return y
    """,
    "in the test of an elif": """
        def f(x):
            if x < 0:
                y = 1
            elif (
                x / 0
            ):
                y = 2
            return y
    """,
    "in while": """
        def f(x):
            while x < 5:
                x = x + 1
                if x == 3:
                    raise ValueError(
                        "three"
                    )
            return x
    """,
    "in the test of a while": """
        def f(x):
            i = 3
            while 1 / i:
                i = i - 1
            return i
    """,
    "in for": """
        def f(x):
            out = []
            for i in range(3):
                out.append(1 / (1 - i))
            return out
    """,
    "in the iterable": """
        def f(x):
            for i in (
                range(3),
                *x,
            ):
                pass
            return i
    """,
    "in the unpacking of a target": """
        def f(x):
            out = []
            for a, b in [(1, 2), 3]:
                out.append(a)
            return out
    """,
    "in a nested function": """
        def f(x):
            def inner(y):
                if y:
                    return y.missing

                return 0

            if x:
                return inner(x)
            return 0
    """,
    "in a lambda": """
        def f(x):
            g = (
                lambda y: y
                and y.missing
            )
            return g(x)
    """,
    "in a comprehension": """
        def f(x):
            return [
                1 / (1 - i)
                for i in range(3)
                if i or x
            ]
    """,
    "in a ternary": """
        def f(x):
            return (
                1 / 0
                if x
                else 2
            )
    """,
    "in a call over several lines": """
        def f(x):
            y = max(
                1,
                x.missing,
                key=None,
            )
            return y
    """,
    "in the right operand": """
        def f(x):
            return (
                x
                and x == 1
                and x / 0
            )
    """,
    "in an assertion": """
        def f(x):
            y = x
            assert y == 2, (
                "message"
            )
            return y
    """,
    "in with and try": """
        def f(x):
            import contextlib

            with contextlib.suppress(KeyError):
                try:
                    if x:
                        x = x / 0
                finally:
                    x = 2
            return x
    """,
    "in a handler": """
        def f(x):
            try:
                x = x.missing
            except AttributeError as error:
                if x:
                    raise KeyError("k") from error
            return x
    """,
    "in match": """
        def f(x):
            match x:
                case 0:
                    y = 1
                case int() if x > 0:
                    y = x.missing
            return y
    """,
    "in an f-string": """
        def f(x):
            return f"a {x} b {x.missing}"
    """,
    "in a store": """
        def f(x):
            y = [1]
            y[
                x
            ] = 3
            return y
    """,
    "an unbound variable": """
        def f(x):
            if x < 0:
                y = 1
            x = x + 1
            return y
    """,
    "after a break": """
        def f(x):
            for i in range(5):
                if i == x:
                    break
                x = x
            else:
                x = 5
            return x / 0
    """,
    "in a default and a decorator of an inner function": """
        def f(x):
            if x:
                def inner(y=x.missing):
                    return y
                x = inner()
            return x
    """,
}


def lines_of(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[int]]:
    """The exception, and the user's lines of its traceback without repetitions."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(*arguments)
    file = function.__code__.co_filename
    found: list[int] = []
    for frame in traceback.extract_tb(caught.value.__traceback__):
        if frame.filename == file and found[-1:] != [frame.lineno]:
            found.append(frame.lineno)
    return caught.value, found


@pytest.mark.parametrize("name", TEXTS)
def test_an_exception_comes_from_its_line(name: str) -> None:
    """A1: the innermost line of the traceback is the original's."""
    function = function_of(TEXTS[name], "f")
    want, lines = lines_of(function, 1)
    got, mine = lines_of(d2s.convert(function), 1)
    assert (type(got), str(got)) == (type(want), str(want))
    assert mine[-1] == lines[-1]


@pytest.mark.parametrize("name", TEXTS)
def test_the_lines_on_the_way_are_lines_of_the_original(name: str) -> None:
    """A1: every user line of the traceback lies in the function, in the order of nesting."""
    function = function_of(TEXTS[name], "f")
    _, lines = lines_of(function, 1)
    _, mine = lines_of(d2s.convert(function), 1)
    assert set(lines) <= set(mine)
    assert set(mine) <= lines_in(function.__code__)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def lines_in(code: types.CodeType) -> set[int]:
    return {line for inner in codes_in(code) for _, _, line in inner.co_lines() if line is not None}


@pytest.mark.parametrize("name", TEXTS)
def test_generated_code_has_no_lines_of_its_own(name: str) -> None:
    """Decision 0001: what coverage sees is a subset of the original's lines, in the same file."""
    function = function_of(TEXTS[name], "f")
    converted = convert_function(function)
    assert lines_in(converted.__code__) <= lines_in(function.__code__)
    files = {code.co_filename for code in codes_in(converted.__code__)}
    assert files == {function.__code__.co_filename}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.row(126)
def test_no_line_is_lost(name: str) -> None:
    """Decision 0001: a breakpoint on any line that had code still has code.

    Lines that hold nothing but the keyword of a jump, as ``break``, may go, and a keyword whose
    test begins on a later line: generated code points at the test.
    """
    function = function_of(TEXTS[name], "f")
    converted = convert_function(function)
    text = TEXTS[name].strip("\n").splitlines()
    lost = {
        line
        for line in lines_in(function.__code__) - lines_in(converted.__code__)
        if line and text[line - 1].strip() not in ("break", "continue", "pass", "elif (")
    }
    assert not lost, [text[line - 1] for line in sorted(lost)]


@pytest.mark.row(108)
def test_an_error_of_a_kernel_names_the_line() -> None:
    """A1: what Paddle refuses at capture is raised from the user's line."""

    def f(x):
        y = x * 2
        if x.sum() > 0:
            y = paddle.matmul(y, paddle.ones([5, 5]))
        return y

    _, lines = lines_of(f, tensor(1.0, 2.0))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        d2s.to_static(f)(tensor(1.0, 2.0))
    mine = [
        frame.lineno
        for frame in traceback.extract_tb(caught.value.__traceback__)
        if frame.filename == __file__
    ]
    assert mine[-1] == lines[-1]


@pytest.mark.row(126)
def test_the_call_stack_of_an_operation_names_the_line() -> None:
    """Decision 0001: Paddle's own op call stacks speak of the user's file and line."""

    def f(x):
        if x.sum() > 0:
            x = paddle.tanh(x)
        return x

    static = d2s.to_static(f)
    static(tensor(1.0))
    from d2s import paddle_bridge as bridge

    stacks = [
        bridge.callstack(operation)
        for operation in bridge.operations(static.main_program)
        if operation.name() == "pd_op.tanh"
    ]
    assert stacks
    line = f.__code__.co_firstlineno + 2
    assert any(__file__ in text and f"{line}" in text for text in stacks[0]), stacks[0]


@pytest.mark.row(126)
def test_a_tracer_sees_the_users_lines() -> None:
    """F2: what a debugger or coverage stops at while converted code runs."""
    import sys

    function = function_of("""
        def f(x):
            y = 0
            while x > 0:
                x = x - 1
                if x == 1:
                    y = y + 10
                else:
                    y = y + 1
            return y
    """)

    def visited(call: Callable[..., Any]) -> set[int]:
        seen: set[int] = set()

        def tracer(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != function.__code__.co_filename:
                return None
            if event == "line":
                seen.add(frame.f_lineno)
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            call(3)
        finally:
            sys.settrace(before)
        return seen

    converted = d2s.convert(function)
    assert visited(converted) == visited(function)
