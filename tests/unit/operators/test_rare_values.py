"""Calls, texts, items and built-ins that are seldom used on what a tensor decides (E1, E2, F1)."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import (
    ConditionError,
    ContainerInGraphError,
    D2SError,
    InplaceError,
    NotStaticError,
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


@functools.singledispatch
def kind_of(x: Any) -> Any:
    return "other", x


@kind_of.register(paddle.Tensor)
def _(x: Any) -> Any:
    return "tensor", x * 2


@kind_of.register(int)
def _(x: int) -> Any:
    return "int", x + 1


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


@pytest.mark.parametrize(
    "use", ["len(s)", "1 if s else 2", "[c for c in s]", "'a' in s", "s == '3.0 abc'", "{s: 1}"]
)
def test_text_of_the_run_is_needed_at_once(use: str) -> None:
    """F1: only the run knows it."""
    refused(f"s = f'{{x.sum()}} abc'\nreturn {use}", NotStaticError, "text that contains a", 2)


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
        ("return list(map(abs, range(x.sum())))", UnsupportedInGraphError, "code that stays"),
        ("return sorted(x, reverse=x.sum() > 0)", UnsupportedInGraphError, "sorted.. reverses"),
        ("return x.view('int32')", UnsupportedInGraphError, "memory of a tensor as another dtype"),
        ("return set(x.tolist())", NotStaticError, r"a number that only the run knows is hashed"),
    ],
)
def test_built_ins_that_the_run_would_have_to_answer(
    text: str, kind: type[D2SError], words: str
) -> None:
    """E1, E5: refused at their line."""
    refused(text, kind, words, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("return max(m, key=lambda v: -v)", "with a key is asked for items whose number"),
        ("return max(list(zip(m, m)))", "asked for tuples or texts, and a tensor decides how many"),
        ("a, *b = range(paddle.shape(m)[0])\nreturn a", "code that stays Python iterates"),
    ],
)
def test_built_ins_on_items_that_the_run_counts(text: str, words: str) -> None:
    """E1: refused at their line."""
    refused("m = paddle.masked_select(x, x > 0.3)\n" + text, UnsupportedInGraphError, words, 2)


CHOSEN = "if x.sum() > 0:\n    k = {}\nelse:\n    k = {}\n"


@pytest.mark.parametrize(
    "text",
    [
        CHOSEN.format(1, 0) + "y = paddle.stack([x, x * 2])\nreturn y[k, 1], y[k:, 0], y[0, k:]",
        CHOSEN.format(1, None) + "y = paddle.stack([x, x * 2])\nreturn y[k:], y[:, :k], y[k]",
        CHOSEN.format("[x, x * 2]", "(x, x + 1, 4)") + "return k[1], k[int(x.max() > 1.5)]",
        CHOSEN.format(1, "x") + "return type(k) is int, isinstance(k, (int, (str, float)))",
        "return isinstance(x, (int, (paddle.Tensor, float))), isinstance(x, int | str)",
        CHOSEN.format(1, "'a'") + "return type(k)",
        "if x.sum() > 0:\n    k = 1\nreturn type(k), isinstance(k, int), hasattr(k, 'shape')",
        CHOSEN.format("'shape'", "'nope'") + "return hasattr(x, k), getattr(x, k, 5) is None",
        CHOSEN.format("'ndim'", "'nope'") + "return getattr(x, k)",
        CHOSEN.format("x", 3) + "return getattr(k, 'ndim', 7), hasattr(k, 'ndim')",
        "k = x.sum()\nif k > 0:\n    k = 3\nreturn getattr(k, 'ndim', 7), type(k), hasattr(k, 'T')",
        CHOSEN.format(1, 0) + "y = paddle.stack([x, x])\ny[k] = x * 2\nreturn y",
        CHOSEN.format(1, None) + "y = paddle.stack([x, x])\ny[k:] = x * 2\nreturn y",
        "return getattr(x, 'a', 1, 2)",
        "return getattr(x, 'nope')",
        "return isinstance(x, 3)",
        "return {0: x, 1: x * 2, 'a': 3}[int(x.max() + 5)]",
        "return {}[int(x.max())], [][int(x.max())]",
        "return [][int(x.max())]",
        "return ['a', 'a', x][int(x.max() * 0)]",
        "y = x * 1\ny[0] = x[1].astype('float64') * 2.7\nreturn y",
    ],
)
def test_items_and_attributes_of_what_a_branch_has_chosen(text: str) -> None:
    """B4, E1: what dygraph has there, or raises."""
    assert_same(body(text), POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    ("text", "kind", "words", "line"),
    [
        (
            CHOSEN.format(1, 0) + "d = [x, x]\nd[k:] = [x]\nreturn d",
            ContainerInGraphError,
            "is one of several lists or dicts",
            6,
        ),
        (
            CHOSEN.format("'a'", "'b'") + "d = {'a': x}\nd[k] = x\nreturn d",
            ContainerInGraphError,
            "a tensor decides which new key",
            6,
        ),
        ("y = x.sum()\ny.add_(x)\nreturn y", InplaceError, "another dtype or rank", 2),
        ("y = x * 1\nt = (y, 3)\ny.add_(x)\nreturn t", InplaceError, "that a tuple holds too", 3),
    ],
)
def test_changes_that_no_program_can_make(
    text: str, kind: type[D2SError], words: str, line: int
) -> None:
    """B4, F3: refused at their line."""
    refused(text, kind, words, line)


@pytest.mark.parametrize(
    ("begin", "change"),
    [
        ("y = x * 1\nt = (y, 3)", "y.add_(x)"),
        ("y = x * 1\nt = [y, 3]", "y.add_(x)"),
        ("t = [x * 1, 3]\ny = t[0]", "t[0].add_(x)"),
        ("t = (x * 1, 3)\ny = t[0]", "t[0].add_(x)\n    t = (t[0], 4)"),
        ("t = {'a': x * 1}\ny = t['a']", "t['a'].add_(x)\n    t['b'] = 3"),
    ],
)
def test_a_change_in_place_in_a_loop_with_another_name(begin: str, change: str) -> None:
    """F3: the other name would keep the old contents."""
    text = f"{begin}\nn = paddle.zeros([])\nwhile n < 3:\n    {change}\n    n = n + 1\nreturn t, y"
    refused(text, InplaceError, "outside of it is the same tensor", 5)


SLOTS = """
class Point:
    __slots__ = ("a", "b")

class Total:
    t = 1

def f(x):
    p = Point()
    p.a = p.b = x
    {text}
"""


@pytest.mark.parametrize(
    "text",
    [
        "if x.sum() > 0:\n        del p.b\n    return p.a, getattr(p, 'b', None), hasattr(p, 'b')",
        "if x.sum() > 0:\n        p.b = x * 2\n    else:\n        del p.a\n"
        "    return hasattr(p, 'a'), hasattr(p, 'b')",
        "if x.sum() > 0:\n        del p.b\n    return p.b * 1",
        "n = paddle.zeros([])\n    while n < 3:\n        p.a = p.a + 1\n        p.b = x * n\n"
        "        n = n + 1\n    return p.a, p.b",
        "Total.u = x\n    if x.sum() > 0:\n        del Total.u\n    r = getattr(Total, 'u', 7)\n"
        "    if hasattr(Total, 'u'):\n        del Total.u\n    return r",
        "if x.sum() > 0:\n        Total.t = Total.t + x\n    else:\n        Total.u = 3\n"
        "    r = Total.t, hasattr(Total, 'u')\n    Total.t = 1\n    return r",
    ],
)
def test_slots_and_class_attributes(text: str) -> None:
    """F3: bound and unbound in a branch, changed in a loop."""
    assert_same(function_of(SLOTS.format(text=text), "f"), POSITIVE, NEGATIVE)
