"""Built-in functions on what a tensor decides (rules E1, E5)."""

from __future__ import annotations

import itertools
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import (
    ConditionError,
    D2SError,
    UnsupportedInGraphError,
)
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


def body(text: str, **scope: Any) -> Any:
    """A function ``f(x)`` with this body."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return function_of(f"def f(x):\n{lines}", "f", itertools=itertools, **scope)


def refused(text: str, kind: type[D2SError], words: str, line: int, **scope: Any) -> None:
    """A direct call of the function with this body is refused, at this line of it."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(body(text, **scope))(POSITIVE)
    assert f":{line + 1}: " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "n = 0\nfor i in range(0, x.sum().astype('int64'), 0):\n    n = n + 1\nreturn n",
        "n = 0\nfor i in range(0, 3, x.astype('int64').min() * 0):\n    n = n + 1\nreturn n",
        "return list(map(lambda v: v * 2, C)), list(zip(C, x)), list(reversed(C))",
        "return [(i, v) for i, v in enumerate(x, x.sum().astype('int64'))]",
        "return list(enumerate([1, 2], x.sum().astype('int64')))",
        "return [i + v for i, v in enumerate(range(x.sum().astype('int64') + 1), 3)]",
        "xs = [x.sum() > 0, x.max() > 1.5] if x.sum() > 0 else [x.min() > 0]\n"
        "return any(xs), all(xs), max(xs), sum(xs)",
        "xs = (1, 2) if x.sum() > 0 else (0, 0, 3)\n"
        "return any(xs), all(xs), max(xs), min(xs), sum(xs), sorted(xs), len(xs)",
        "m = paddle.masked_select(x, x > 0.3)\nreturn any(m), all(m), max(m, default=0.0)",
        "m = paddle.nonzero(x > 0.3)\nreturn any(m), all(m), max(m), sorted(m)",
        "r = range(x.sum().astype('int64') + 2)\n"
        "return any(r), all(r), sum(r), max(r, default=-1), min(r, default=-1)",
        "return any(v for v in [0, x[0] > 0, None, x[1] > 1]), all(v for v in [1, x[0], 'a'])",
        "return max([x[0], x[0]], key=lambda t: t * 2), max([('a', x[0]), ('a', x[1])], key=KEY)",
        "return max(1, x[0], default=1)",
        "return max(x, foo=1)",
        "return sum([1, 2], x), sum(x, 1), sorted([x[1], x[0]], key=lambda v: v.unsqueeze(0))",
    ],
)
def test_built_ins(text: str) -> None:
    """E1: values and exceptions are dygraph's."""
    scope = {"C": tensor(3.0, 4.0), "KEY": lambda pair: pair[1]}
    assert_same(body(text, **scope), POSITIVE, SMALL)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("return range(x.astype('int64'))", ConditionError, r"shape \[2\] is used as a bound"),
        ("return sorted(x, reverse=x.sum() > 0)", UnsupportedInGraphError, "sorted.. reverses"),
        ("return x.view('int32')", UnsupportedInGraphError, "memory of a tensor as another dtype"),
    ],
)
def test_built_ins_that_the_run_would_have_to_answer(
    text: str, kind: type[D2SError], words: str
) -> None:
    """E1, E5: refused at their line."""
    refused(text, kind, words, 1)


@pytest.mark.parametrize(
    "text",
    [
        "return max(m, key=lambda v: -v)",
        "return min(m, key=lambda v: -v, default=None)",
        "return max(range(len(m)), key=lambda i: m[i], default=-1), m.sum()",
    ],
)
def test_the_greatest_of_items_that_the_run_counts(text: str) -> None:
    """E1: by a key, of any number of them."""
    function = function_of(
        "def f(x):\n    m = paddle.masked_select(x, x > 0.3)\n    " + text, paddle=paddle
    )
    assert_same(function, POSITIVE, NEGATIVE, SMALL)
