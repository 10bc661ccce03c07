"""Fresh names collide with nothing (A3)."""

from __future__ import annotations

import textwrap

import gast
import pytest

from d2s.syntax.names import Names, names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = y", "x y"),
        ("def f(a, /, b, *c, d=e, **g): pass", "f a b c d e g"),
        ("class C(B): pass", "C B"),
        ("global a\nx", "a x"),
        ("import a.b, c as d\nfrom e import g as h", "a d h"),
        ("try:\n    pass\nexcept E as e:\n    pass", "E e"),
        ("[a for b in c]", "a b c"),
        ("(a := 1)", "a"),
        ("lambda p: q", "p q"),
        ("match s:\n    case [a, *b]: pass\n    case {1: c, **d}: pass\n    case E(f=g): pass",
         "s a b c d E g"),
    ],
)  # fmt: skip
def test_every_way_to_name(text: str, names: str) -> None:
    assert names_in(gast.parse(textwrap.dedent(text))) == frozenset(names.split())


def test_fresh_names_are_counted_up_and_kept() -> None:
    names = Names({"body", "body_2", "x"})
    assert [names.fresh("body") for _ in range(2)] == ["body_3", "body_4"]
    assert names.fresh("y") == "y"
    assert names.fresh("y") == "y_2"


def test_a_name_that_was_handed_out_blocks_later_wishes() -> None:
    names = Names(())
    assert names.fresh("a_2") == "a_2"
    assert [names.fresh("a") for _ in range(2)] == ["a", "a_3"]
