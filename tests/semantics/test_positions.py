"""Converted code speaks of the user's lines: tracebacks, and the lines that coverage and
debuggers see (decision 0001; rules A1 and F1). ``tests/diagnostics`` looks closer."""

from __future__ import annotations

import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from d2s.conversion import convert_function
from tests.diagnostics.failing_texts import FAILING
from tests.diagnostics.lines import EVERY, lines_in, visited
from tests.diagnostics.running_texts import VISITED
from tests.helpers import function_of, tensor


def lines_of(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[int]]:
    """The exception, and the user's lines of its traceback without repetitions."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        function(*arguments)
    file = inspect.unwrap(function).__code__.co_filename
    found: list[int] = []
    for frame in traceback.extract_tb(caught.value.__traceback__):
        if frame.filename == file and found[-1:] != [frame.lineno]:
            found.append(frame.lineno)
    return caught.value, found


@pytest.mark.parametrize("name", FAILING)
def test_an_exception_comes_from_its_line(name: str) -> None:
    """A1: the innermost line of the traceback is the original's."""
    function = function_of(FAILING[name], "f")
    want, lines = lines_of(function, 1)
    got, mine = lines_of(d2s.convert(function), 1)
    assert (type(got), str(got)) == (type(want), str(want))
    assert mine[-1] == lines[-1]


@pytest.mark.parametrize("name", FAILING)
def test_the_lines_on_the_way_are_lines_of_the_original(name: str) -> None:
    """A1: every user line of the traceback lies in the function, in the order of nesting."""
    function = function_of(FAILING[name], "f")
    _, lines = lines_of(function, 1)
    _, mine = lines_of(d2s.convert(function), 1)
    assert set(lines) <= set(mine)
    assert set(mine) <= lines_in(function.__code__)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.row(126)
def test_no_line_is_lost(name: str) -> None:
    """Decision 0001: a breakpoint on any line that had code still has code.

    Only the keyword of an ``elif`` whose test begins on a later line may go: generated code points
    at the test, and Python itself never comes to such a line.
    """
    function = function_of(EVERY[name], "f")
    converted = convert_function(function)
    text = textwrap.dedent(EVERY[name]).strip("\n").splitlines()
    lost = {
        line
        for line in lines_in(function.__code__) - lines_in(converted.__code__)
        if line and text[line - 1].strip() != "elif ("
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


@pytest.mark.parametrize("name", VISITED)
@pytest.mark.row(126)
def test_a_tracer_sees_the_users_lines(name: str) -> None:
    """F2: debuggers stop, and coverage counts, exactly where they do without d2s, call by call."""
    text, values = VISITED[name]
    function = function_of(text, "f")
    converted = d2s.convert(function)
    file = function.__code__.co_filename
    for value in values:
        want, got = visited(file, function, value), visited(file, converted, value)
        assert got == want, f"for {value}: {sorted(got - want)} more, {sorted(want - got)} missing"


@pytest.mark.parametrize("cell", ["<ipython-input-3-0a1b2c>", "/tmp/ipykernel_77/4059.py"])
def test_a_notebook_cell_is_named_as_the_notebook_names_it(cell: str) -> None:
    """A5: IPython registers the text of a cell with linecache under such names."""
    text = "def f(x):\n    if x > 0:\n        x = x.missing\n    return x\n"
    linecache.cache[cell] = (len(text), None, text.splitlines(keepends=True), cell)
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(text, cell, "exec", dont_inherit=True), names)
        _, lines = lines_of(names["f"], tensor(1.0))
        error, mine = lines_of(d2s.to_static(names["f"]), tensor(1.0))
        assert mine == lines == [3]
        last = traceback.extract_tb(error.__traceback__)[-1]
        assert (last.filename, last.name, last.line) == (cell, "f", "x = x.missing")
    finally:
        del linecache.cache[cell]
