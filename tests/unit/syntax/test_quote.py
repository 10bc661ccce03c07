"""Templates become trees (A3: nothing but the given names is replaced; positions are given)."""

from __future__ import annotations

import ast

import gast
import pytest

from d2s.syntax.positions import Span, span_of
from d2s.syntax.printer import text_of
from d2s.syntax.quote import constant, quote, quote_expr

AT = Span(7, 4, 8, 9)


def expression(text: str):
    return gast.parse(text, mode="eval").body


def texts(statements) -> list[str]:
    return [text_of(statement) for statement in statements]


def test_names_are_replaced_by_trees_names_and_constants() -> None:
    made = quote(
        "target = f(value, name, key, nothing, other)", at=AT,
        value=expression("a + 1"), name="x_2", key=("p", "q"), nothing=None, target="t",
    )  # fmt: skip
    assert texts(made) == ["t = f(a + 1, x_2, ('p', 'q'), None, other)"]


def test_statements_stand_where_their_name_stood_alone() -> None:
    body = gast.parse("a = 1\nb = 2").body
    made = quote("def name():\n    first\n    statements", at=AT, name="body_2", statements=body)
    assert [node.name for node in made] == ["body_2"]
    assert texts(made[0].body) == ["first", "a = 1", "b = 2"]


def test_nonlocal_takes_names_and_vanishes_without() -> None:
    template = "def f():\n    nonlocal names\n    pass"
    (some,) = quote(template, at=AT, names=("a", "b"))
    (none,) = quote(template, at=AT, names=())
    assert some.body[0].names == ["a", "b"]
    assert texts(none.body) == ["pass"]


def test_a_tree_that_stands_twice_is_copied() -> None:
    tree = expression("a")
    (statement,) = quote("f(value, value)", at=AT, value=tree)
    first, second = statement.value.args
    assert first is tree
    assert second is not tree
    assert texts([statement]) == ["f(a, a)"]


def test_positions() -> None:
    value = expression("a + 1")
    mine = span_of(value)
    (statement,) = quote("f(value)", at=AT, value=value)
    assert span_of(statement) == AT
    assert span_of(statement.value.func).line == AT.line
    assert span_of(value) == mine


def test_the_template_is_not_changed() -> None:
    for name in ("a", "b"):
        (statement,) = quote("f(value)", at=AT, value=name)
        assert texts([statement]) == [f"f({name})"]


def test_one_expression() -> None:
    assert text_of(quote_expr("g(x)", at=AT, x=expression("1"))) == "g(1)"
    with pytest.raises(ValueError, match="too many"):
        quote_expr("a\nb", at=AT)


@pytest.mark.parametrize("value", [None, True, 1, "a", (), ("a",), ("a", ("b", 1))])
def test_constants(value) -> None:
    assert ast.literal_eval(text_of(constant(value))) == value
