"""Texts inside of texts, and numbers without a literal, as the printer writes them (rule A5)."""

from __future__ import annotations

import ast
import math
from typing import Any

import gast
import pytest

from d2s.syntax.printer import to_source


def printed(text: str) -> str:
    """``text``, printed and parsed again; the tree is the same."""
    tree = ast.parse(text)
    made = to_source(gast.ast_to_gast(tree)).text
    assert ast.dump(ast.parse(made)) == ast.dump(tree), made
    return made


@pytest.mark.parametrize(
    "text",
    [
        "f'{x!r:>{width}}' f\"{y['a']}\"",
        "f\"{'a' + 'b'}{x:{'>'}{10}}\"",
        "f'''{d[\"k\"]} {f\"{x}\"}'''",
        "f'{b\"abc\"}{(lambda: 1)()}'",
        "f'{ {1: 2}[1] }{{}}'",
        "f'''{x\n+ y}'''",
    ],
)
def test_texts_inside_of_texts(text: str) -> None:
    """A5: quotes are found that no part of the f-string needs."""
    printed(text)


def statement(value: Any) -> Any:
    return gast.ast_to_gast(ast.fix_missing_locations(ast.Module([ast.Expr(value)], [])))


def test_texts_that_no_quotes_fit() -> None:
    """A5: an f-string that passes have made may hold what no f-string of this Python can; it is
    shown as ``str.format`` then, also inside of another one.
    """

    def shown(value: Any) -> str:
        inner = ast.JoinedStr([ast.FormattedValue(ast.Constant(value), -1, None)])
        outer = ast.JoinedStr([ast.Constant("a "), ast.FormattedValue(inner, -1, None)])
        return to_source(statement(outer)).text

    for value in ("new\x00", b"\xff", 'it\'s "both" \'\'\'and\'\'\' """more"""'):
        assert eval(shown(value)) == f"a {value}"
    field = ast.FormattedValue(ast.Name("x", ast.Load()), ord("r"), None)
    assert eval(to_source(statement(field)).text, {"x": "a"}) == "'a'"


def test_numbers_that_have_no_literal() -> None:
    """A5: an imaginary NaN or infinity is computed."""
    for value in (complex(0, math.nan), complex(0, math.inf), 2j, 1e300j):
        made = eval(to_source(statement(ast.Constant(value))).text)
        assert repr(made.imag) == repr(value.imag)
