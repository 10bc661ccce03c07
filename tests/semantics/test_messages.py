"""Warnings and records of loggers name the line that they name in dygraph (rules A1, F1)."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

PLACES = {
    "plain": "{say}",
    "if": """
        if n > 0:
            {say}
    """,
    "else": """
        if n > 5:
            pass
        elif n > 0:
            {say}
    """,
    "for": """
        for i in range(2):
            if i == 1:
                {say}
    """,
    "while": """
        while n > 0:
            n = n - 1
            {say}
    """,
    "nested function": """
        def inner():
            if n > 0:
                {say}
        if n > 0:
            inner()
    """,
    "try": """
        try:
            if n > 0:
                raise ValueError
        except ValueError:
            {say}
    """,
    "expression": "n > 0 and {say}",
    "lambda": "tell = lambda: {say}\n        if n > 0: tell()",
    "callback": "sorted([1, 2], key=lambda item: {say} or item)",
    "break": """
        while True:
            if n > 0:
                {say}
                break
    """,
}


def program(place: str, say: str) -> Callable[[Any], Any]:
    """A function that says something in a function that another one calls in a branch."""
    body = PLACES[place].format(say=say)
    return function_of(
        f"""
    def talker(n):
        {body}
        return n

    def middle(n):
        if n is not None:
            return talker(n)

    def outer(n):
        for i in range(1):
            result = middle(n)
        return result
    """,
        warnings=warnings,
        logging=logging,
        log=logging.getLogger("users.tests.messages"),
    )


def warned(function: Callable[[Any], Any], value: Any) -> list[Any]:
    """File, line, text and type of each warning of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of objects that other tests have left
        function(value)
    return [(w.filename, w.lineno, str(w.message), w.category) for w in caught]


@pytest.mark.parametrize("level", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("place", PLACES)
def test_where_a_warning_points(place: str, level: int) -> None:
    """A1: frames of d2s do not count, nor do the functions that run a part of the user's."""
    f = program(place, f"warnings.warn('old', DeprecationWarning, stacklevel={level})")
    want = warned(f, 1)
    assert want
    assert warned(d2s.convert(f), 1) == want


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("place", ["plain", "if", "for", "while", "nested function", "expression"])
def test_where_a_warning_of_a_program_points(place: str, level: int) -> None:
    """F1: under a tensor condition it happens on the runs that come to it."""
    f = program(place, f"warnings.warn('old', stacklevel={level})")
    static = d2s.to_static(f)
    positive, negative = paddle.to_tensor(1.0), paddle.to_tensor(-1.0)
    guarded = place in ("if", "while", "nested function", "expression")
    if guarded:
        assert warned(static, negative) == []
    assert warned(static, positive) == warned(f, positive)
    if guarded:
        assert warned(static, positive) == warned(f, positive)
        assert warned(static, negative) == []


def test_a_warning_with_a_tensor_in_its_text() -> None:
    """F1: on every run, with the tensor of the run."""
    f = program("plain", "warnings.warn(f'large: {n}')")
    static = d2s.to_static(f)
    for value in (1.0, 2.0):
        x = paddle.to_tensor(value)
        assert warned(static, x) == warned(f, x)


def test_a_warning_that_is_an_error() -> None:
    """F1, A1: a filter makes an exception of it."""
    f = program("if", "warnings.warn('old', UserWarning)")
    static = d2s.to_static(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(static(paddle.to_tensor(-1.0))) == -1.0
        with pytest.raises(UserWarning, match="old"):
            static(paddle.to_tensor(1.0))


@pytest.mark.parametrize("wrong", ["'x', int", "'x', stacklevel='1'", "", "'x', no_such=1"])
def test_a_wrong_call_of_warn(wrong: str) -> None:
    """A1: the same exception with the same message."""
    f = program("if", f"warnings.warn({wrong})")
    with pytest.raises(TypeError) as want:
        f(1)
    with pytest.raises(TypeError) as got:
        d2s.convert(f)(1)
    assert str(got.value) == str(want.value)


def test_a_warning_is_shown_once() -> None:
    """A1: the registry of the module that is warned about remembers it."""

    def shown(function: Callable[[Any], Any]) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                function(1)
        return len(caught)

    say = "warnings.warn('old', UserWarning, stacklevel=2)"
    assert shown(d2s.convert(program("if", say))) == shown(program("if", say)) == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="an argument of Python 3.12")
def test_files_that_a_warning_skips() -> None:
    """A1: frames of these files do not count."""
    f = program("if", "warnings.warn('old', skip_file_prefixes=('<test',))")
    assert warned(d2s.convert(f), 1) == warned(f, 1)


def recorded(function: Callable[[Any], Any], value: Any) -> list[str]:
    """File, line, function and text of each record of a call."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(pathname)s:%(lineno)d:%(funcName)s %(message)s"))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        function(value)
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    return stream.getvalue().splitlines()


LEVELS = [1] if sys.version_info < (3, 11) else [1, 2, 3]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("call", ["log.info(", "logging.info(", "logging.log(30, "])
@pytest.mark.parametrize("place", PLACES)
def test_where_a_record_points(place: str, call: str, level: int) -> None:
    """A1, F1: converted, and in a program on every run."""
    counted = "" if level == 1 else f", stacklevel={level}"
    f = program(place, f"{call}'text'{counted})")
    want = recorded(f, 1)
    assert want
    got = recorded(d2s.convert(f), 1)
    if place == "expression":  # an operand that waits is a function without a name
        got = [line.replace("<lambda>", "talker") for line in got]
    assert got == want
    if place == "try":  # the exception that a tensor decides is another matter
        return
    static = d2s.to_static(f)
    for value in (1.0, -1.0, 1.0):
        x = paddle.to_tensor(value)
        if place == "break" and value < 0:
            continue  # it does not end
        assert recorded(static, x) == recorded(f, x)


def test_the_name_of_a_function_in_a_traceback() -> None:
    """A1: a part of a function has the function's name."""
    f = function_of("def f(n):\n    if n > 0:\n        for i in range(n):\n            1 / 0\n")
    with pytest.raises(ZeroDivisionError) as caught:
        d2s.convert(f)(1)
    names = [entry.name for entry in caught.traceback if "<test" in str(entry.path)]
    assert set(names) == {"f"}
