"""Single dispatch, methods, things without a hash: what is called (rule E2)."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest

from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


def body(text: str, **scope: Any) -> Any:
    """A function ``f(x)`` with this body."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return function_of(f"def f(x):\n{lines}", "f", itertools=itertools, **scope)


@functools.singledispatch
def kind_of(x: Any) -> Any:
    return "other", x


class _Unhashable:
    """It has no hash, and can be called."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *given: Any) -> Any:
        return functools.reduce(lambda a, b: a * b, given, 2)


class _FailingHash(_Unhashable):
    def __hash__(self) -> int:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "text",
    [
        "return kind_of(x), kind_of(3), kind_of('a')",
        "import types\nreturn types.MethodType(max, 3)(5) * x, types.MethodType(thing, 3)(x)",
        "return thing(x), failing(x)",
        "return x.unique(), paddle.unique(x) * 2, paddle.unique(x.astype('int64')).dtype",
        "u, c = paddle.unique(x.astype('int64'), return_counts=True)\nreturn u + 1, c",
    ],
)
def test_what_is_called(text: str) -> None:
    """E2: a single dispatch, a method of an object, something without a hash, ``unique``."""
    scope = {"kind_of": kind_of, "thing": _Unhashable(), "failing": _FailingHash()}
    assert_same(body(text, **scope), POSITIVE, NEGATIVE, grad="unique" not in text)
