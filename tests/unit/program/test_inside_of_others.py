"""Static functions and tensors of a program in code that stays Python (rules A1, E1, E2, F1)."""

from __future__ import annotations

from typing import Any

import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import (
    NotStaticError,
    UnsupportedInGraphError,
)
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


def test_it_becomes_a_part_of_what_is_captured() -> None:
    """E2: called by code that stays Python, it is converted there all the same."""

    @d2s.to_static
    def inner(x):
        if x.sum() > 0:
            return x * 2
        return x

    @d2s.not_to_static
    def helper(x):
        return inner(x)

    def outer(x):
        return helper(x) + 1

    assert_same(outer, (X,), (-X,))


def stays(text: str) -> Any:
    return d2s.not_to_static(function_of(f"def stays(x):\n    {text}"))


@pytest.mark.parametrize(
    "text",
    ["return len(x)", "return [v for v in x]"],
)
def test_the_size_of_a_tensor_in_code_that_stays_python(text: str) -> None:
    """E1: of one without dimensions what dygraph says; an open one is refused."""
    function = stays(text)

    def f(x):
        return function(x)

    assert_same(f, (scalar(1.0),), (X,))
    with pytest.raises(UnsupportedInGraphError, match="open first dimension"):
        d2s.to_static(f, input_spec=[InputSpec([None])])(X)


def test_methods_that_change_a_tensor_in_code_that_stays_python() -> None:
    """A1: as in dygraph."""
    function = stays("x.add_(x); x.scale_(3.0); return x")

    def f(x):
        y = x * 2
        return function(y), y

    assert_same(f, (X,))


def test_text_of_a_tensor_in_code_that_stays_python() -> None:
    """F1: an f-string would keep the text of one run; a debugger sees what the value is."""
    formats, shows = stays("return f'{x}'"), stays("return 'Value' in str(x)")

    def refused(x):
        return x, formats(x)

    def shown(x):
        return x, shows(x)

    with pytest.raises(NotStaticError, match="formatted into text"):
        d2s.to_static(refused)(X)
    assert d2s.to_static(shown)(X)[1]
