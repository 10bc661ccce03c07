"""Text that the run fills in, and exceptions with such text (rules E1, F1)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import d2s
from d2s.errors import (
    D2SError,
    NotStaticError,
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
        "s = f'{x.sum()} abc'\nprint(s * 2, 2 * s, s * 0, s[3], s[:4], s.upper()[1:], s + '!')",
        "s = f'{x.sum()} %s'\nprint(s % 3, s % (4,), repr(s), [s], f'{s:>30}', '{:>30}'.format(s))",
        "print(THREE)\nprint(f'{THREE} {x.sum()}', {'a': [x, 1]}, x.numpy(), sep='-', end='|')",
        "k = 1 if x.sum() > 0 else 2\nprint(f'{k}', '%(a)s' % {'a': k}, {'a': [k]}, (k, [k]))",
        "k = 1 if x.sum() > 0 else 'a'\nprint('%d' % k)",
    ],
)
def test_text_of_the_run(text: str, capfd: Any) -> None:
    """F1: letter for letter what dygraph prints, or raises."""
    function = body(text + "\nreturn x", THREE=tensor(3.0))
    static, said = d2s.to_static(function), []
    for which, given in itertools.product((function, static), (POSITIVE, NEGATIVE)):
        try:
            which(given.detach())
        except TypeError as error:
            print(type(error), error)
        said.append(capfd.readouterr().out)
    assert said[:2] == said[2:]
    assert said[0] != said[1]


def test_text_of_the_run_is_needed_at_once() -> None:
    """F1: only the run knows it."""
    refused("s = f'{x.sum()} abc'\nreturn {s: 1}", NotStaticError, "text that contains a", 2)


@pytest.mark.parametrize(
    "use", ["len(s)", "1 if s else 2", "[c for c in s]", "'a' in s", "s == '3.0 abc'"]
)
def test_text_of_the_run_is_asked_by_the_run(use: str) -> None:
    """F1: the run knows it."""
    assert_same(body(f"s = f'{{x.sum().item():.1f}} abc'\nreturn {use}"), POSITIVE, grad=False)


def test_text_of_the_run_is_text() -> None:
    """E1: what kind of a thing it is, is known."""
    assert_same(
        body("s = f'{x.sum()}'\nreturn type(s), isinstance(s, str), isinstance(s, int), s"),
        POSITIVE,
    )


@pytest.mark.parametrize(
    "raised",
    [
        "raise ValueError",
        "raise ValueError('a') from KeyError",
        "raise ValueError(x, [1, x], {'a': x})",
    ],
)
def test_what_a_branch_raises(raised: str) -> None:
    """F1: type, arguments and cause."""
    function = body(f"if x.sum() > 0:\n    {raised}\nreturn x")
    assert_same(function, POSITIVE, NEGATIVE)
    seen = []
    for which in (function, d2s.to_static(function)):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
            which(POSITIVE)
        seen.append((type(caught.value.__cause__), caught.value.__suppress_context__))
    assert seen[0] == seen[1]
