"""Whose an exception is: a defect of ours must not pass for the program's own exception."""

from __future__ import annotations

import importlib
import operator
import sys
import types

import paddle
import pytest

import d2s
from d2s.diagnostics import blame, frames
from d2s.diagnostics.blame import is_defect
from d2s.errors import DefectError
from d2s.program.state.lifted import Lifted
from d2s.runtime.control_flow import merge
from tests.helpers import function_of


def broken(*arguments: object, **options: object) -> None:
    """Fails as code of ours with a mistake in it fails."""
    None.missing


def as_ours(monkeypatch: pytest.MonkeyPatch, owner: type | types.ModuleType, name: str) -> None:
    """Let ``name`` of ``owner`` be :func:`broken`, as if it were written in the owner's module."""
    home = owner.__module__ if isinstance(owner, type) else owner.__name__
    code = broken.__code__.replace(co_filename=str(sys.modules[home].__file__))
    made = type(broken)(code, {"__name__": home})
    monkeypatch.setattr(owner, name, made)


X = paddle.to_tensor([1.0, 2.0])


def raised(function) -> Exception:
    """What a call raises."""
    try:
        function(X)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_a_defect_after_an_effect_is_raised_at_capture(monkeypatch, capsys) -> None:
    """A1, F1: it is not kept for the run, and no program stays behind."""
    kept = []

    def f(x):
        kept.append(x)
        print("before")
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
        return y

    static = d2s.to_static(f)
    as_ours(monkeypatch, merge.Merger, "finish")
    with pytest.raises(DefectError, match="missing") as caught:
        static(X)
    assert isinstance(caught.value.__cause__, AttributeError)
    assert (caught.value.file, caught.value.line) == (__file__, f.__code__.co_firstlineno + 3)
    assert static.programs == []
    assert kept == []
    assert capsys.readouterr().out == ""
    monkeypatch.undo()
    assert static(X).tolist() == [2.0, 3.0]
    assert len(kept) == 1


def test_a_defect_in_a_branch_of_a_branch_is_raised_at_capture(monkeypatch) -> None:
    """B1: the branch around does not keep it as an exception of its side."""

    def f(x):
        if x.sum() > 100:
            if x.max() > 1:
                x = x + 1
        return x

    as_ours(monkeypatch, merge.Merger, "finish")
    with pytest.raises(DefectError, match="missing"):
        d2s.to_static(f)(X)


class Counter(paddle.nn.Layer):
    """Counts its calls in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


def test_a_defect_while_a_number_is_lifted_is_not_hidden(monkeypatch) -> None:
    """G2: it is no reason to take the number as a constant."""
    layer = d2s.to_static(Counter())
    layer(X)
    as_ours(monkeypatch, Lifted, "value")
    with pytest.raises(DefectError, match="missing"):
        layer(X)
    monkeypatch.undo()
    assert layer(X).tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    "line",
    [
        "{}['key']",
        "[1, 2][7]",
        "x.no_such_attribute",
        "paddle.concat([x, x.reshape([2, 1])])",
        "x.reshape([3, 5])",
        "int('no number')",
        "x + None",
        "len(3)",
        "max(x, 1, 2, key=7)",
        "(lambda a: a)(1, 2)",
        "next(iter([]))",
        "sorted([1, 'a'])",
        "x[5][6][7][8]",
        "[*7]",
        "{**7}",
    ],
)
def test_what_the_users_operations_raise_is_the_users(line: str, capsys) -> None:
    """A1, F1: the text before it is printed, then the run raises it, every time."""
    f = function_of(f"def f(x):\n    print(x)\n    return {line}\n")
    want = raised(f)
    printed = capsys.readouterr().out
    static = d2s.to_static(f)
    for _ in range(2):
        assert type(raised(static)) is type(want)
        assert capsys.readouterr().out == printed


def test_an_exception_of_the_users_own_code_is_none() -> None:
    """A1: nor one that the user's code lets a library raise."""
    for make in (lambda: 1 / 0, lambda: paddle.ones([2]).reshape([3])):
        assert not is_defect(raised(lambda x, make=make: make()))


# -- the last line of defence ----------------------------------------------------------------------

LEAVING = [
    ("paddle.histogram_bin_edges(x)", TypeError, "histogram_bin_edges"),
    ("x.histogram_bin_edges()", TypeError, "histogram_bin_edges"),
    ("paddle.lcm(x, x)", TypeError, "lcm"),
    ("x.as_strided([2], [1])", AssertionError, "as_strided"),
    ("x.get_strides()", AttributeError, "get_strides"),
]


@pytest.mark.parametrize(("text", "kind", "named"), LEAVING)
def test_what_paddle_refuses_in_a_program_alone(text: str, kind: type, named: str) -> None:
    """G1b: dygraph takes the call, so it is no exception of the user's: code, line, cause, cure."""
    f = function_of(f"def f(x):\n    y = x * 2\n    return {text}\n")
    f(X)  # dygraph raises nothing
    with pytest.raises(DefectError, match=named) as caught:
        d2s.to_static(f)(X)
    error = caught.value
    assert (error.code, error.file, error.line) == ("D2S902", f.__code__.co_filename, 3)
    assert isinstance(error.__cause__, kind)
    assert "report" in error.cure


@pytest.mark.parametrize("kind", ["Exception", "TypeError", "(TypeError, ValueError)"])
def test_a_handler_of_the_users_does_not_take_it(kind: str) -> None:
    """A1: dygraph goes on in the body of the ``try``; the handler would be another program."""
    f = function_of(f"""
        def f(x):
            try:
                y = paddle.histogram_bin_edges(x)
            except {kind}:
                y = x
            return y
    """)
    with pytest.raises(DefectError):
        d2s.to_static(f)(X)


def test_a_stand_in_of_ours_in_a_message() -> None:
    """D1: a C function that is given a list that has grown on the run."""
    f = function_of(
        """
        def f(x):
            items = []
            while x.max() > 1:
                x = x * 0.5
                items.append(x.max())
            return operator.length_hint(memoryview(items))
    """,
        "f",
        operator=operator,
    )
    with pytest.raises(d2s.D2SError):
        d2s.to_static(f)(X * 8)


def test_the_users_own_exceptions_stay() -> None:
    """A1: what dygraph raises, too, has its type and no code."""
    for line in ("x.no_such_method()", "x + None", "x.reshape([3, 5])", "paddle.lcm(x, None)"):
        f = function_of(f"def f(x):\n    return {line}\n")
        want, got = raised(f), raised(d2s.to_static(f))
        assert type(got) is type(want)
        assert not isinstance(got, d2s.D2SError)


def test_modules_that_are_told_apart_by_name_are_there() -> None:
    """A module that was renamed would pass for one that does what the user wrote."""
    for name in sorted(blame._BUILDING | frames._MODULES):
        assert importlib.import_module(name).__name__ == name
