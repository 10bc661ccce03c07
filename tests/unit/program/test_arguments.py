"""Arguments and specs that do not fit, or have the name of another's part (rules G1, G2)."""

from __future__ import annotations

import functools
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import (
    ArgumentsError,
    InputSpecError,
)
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


def test_an_argument_has_the_name_of_a_part_of_another() -> None:
    """G1: the inputs of the program have names of their own."""

    def f(a, a_0):
        return a[0] + a_0 * 2

    static = assert_same(f, ([X], scalar(2.0)))
    text = str(static.main_program)
    assert text.count('name:"a_0"') == 1


def test_specs_of_a_function_with_open_arguments() -> None:
    """G2: each argument behind the first has its spec; what does not fit is named."""

    def f(x, *rest, **options):
        return x + rest[0] * rest[1] * options.get("k", 1)

    fits = [InputSpec([None])] * 3
    assert_same(f, (X, X * 2, X), static=d2s.to_static(f, input_spec=fits))
    wrong = d2s.to_static(f, input_spec=[*fits[:2], InputSpec([None, 2])])
    with pytest.raises(InputSpecError, match=r"rest\[1\]"):
        wrong(X, X, X)


def test_specs_that_are_no_list() -> None:
    """G2: one spec alone is refused where it is given."""
    with pytest.raises(InputSpecError, match="not a list"):
        d2s.to_static(lambda x: x, input_spec=InputSpec([3]))


def test_a_value_of_a_static_program_is_no_argument() -> None:
    """G1: it cannot be run."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            value = paddle.static.data("value", [3])
    finally:
        paddle.disable_static()
    with pytest.raises(ArgumentsError, match="static program"):
        d2s.to_static(lambda x: x)(value)


def scaled(k: Any, x: Any) -> Any:
    return x * k


@functools.wraps(scaled)
def wrapped(*things: Any, **named: Any) -> Any:
    return scaled(*things, **named)


@pytest.mark.parametrize("function", [functools.partial(scaled, 2), wrapped])
def test_too_many_arguments_for_what_is_no_plain_function(function: Any) -> None:
    """G1: a ``TypeError``, as in dygraph."""
    for call in (function, d2s.to_static(function)):
        with pytest.raises(TypeError, match="positional argument"):
            call(X, X, X)
