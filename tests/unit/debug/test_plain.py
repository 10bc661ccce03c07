"""The dump to read: plain where the call stayed what it was, exact on request."""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import textwrap
import types
from pathlib import Path

import gast
import pytest
from typer.testing import CliRunner

import d2s
from d2s.api import trace
from d2s.cli import app
from d2s.markup.plain import readable
from d2s.syntax.printer import text_of, to_source

WORDS = {
    "d2s.call(f)(x)": "f(x)",
    "d2s.call(x.abs)().max": "x.abs().max",
    "d2s.call(d2s.call(x.abs)().max)()": "x.abs().max()",
    "d2s.call_unpacked(f)(*d2s.unpacked(a), k=1, **d2s.keywords(b))": "f(*a, k=1, **b)",
    "d2s.shape(x)[0]": "x.shape[0]",
    "d2s.getitem(x, i)": "x[i]",
    "d2s.not_(x + 1)": "not x + 1",
    "d2s.in_(a, b)": "a in b",
    "d2s.not_in(a, b)": "a not in b",
    "d2s.is_(a, None)": "a is None",
    "d2s.eq(a, b) + 1": "(a == b) + 1",
    "d2s.read(y, 'y')": "y",
    "d2s.percent(t, x)": "t % x",
    "d2s.not_(d2s.in_(d2s.shape(x), d2s.call(f)()))": "not x.shape in f()",
}
KEPT = [
    "d2s.call(len)(x)",
    "d2s.call(range)(n)",
    "d2s.and_(a, lambda: b)",
    "d2s.text((y, None, ''))",
    "d2s.if_(c, body, None, ('y',))",
    "other.call(f)(x)",
]


def f(x, items):
    y = x.abs().max()
    if y > 1 and x.shape[0] not in items:
        y = y - len(items)
    return y


@pytest.mark.parametrize("exact", WORDS)
def test_words_that_are_taken_out(exact: str) -> None:
    tree = gast.parse(exact).body[0].value
    before = gast.dump(tree)
    assert text_of(readable(tree)) == WORDS[exact]
    assert gast.dump(tree) == before, "a copy is changed"


@pytest.mark.parametrize("text", KEPT)
def test_words_that_stay(text: str) -> None:
    assert text_of(readable(gast.parse(text).body[0].value)) == text


def dumped(**options: bool) -> str:
    said = io.StringIO()
    d2s.dump(f, file=said, **options)
    return said.getvalue()


def test_plain_by_default_and_exact_on_request() -> None:
    assert "y = x.abs().max()" in dumped()
    assert "y = d2s.call(d2s.call(x.abs)().max)()" in dumped(exact=True)
    assert "d2s.call(len)(items)" in dumped()
    assert "d2s.call(d2s.call(x.abs)().max)()" in d2s.code(f)
    assert len(dumped().splitlines()) == len(dumped(exact=True).splitlines())
    assert "x.abs().max()" in dumped(side_by_side=True)


def test_of_the_command() -> None:
    target = f"{Path(__file__)}:f"
    plain = CliRunner().invoke(app, ["dump", target]).stdout
    exact = CliRunner().invoke(app, ["dump", target, "--exact"]).stdout
    assert "y = x.abs().max()" in plain
    assert "d2s.call(d2s.call(x.abs)().max)()" in exact


@pytest.mark.parametrize("module", [argparse, difflib, textwrap], ids=lambda m: m.__name__)
def test_it_is_python(module: types.ModuleType) -> None:
    """Whatever the function is."""
    classes = [item for item in vars(module).values() if isinstance(item, type)]
    items = [item for owner in [module, *classes] for item in vars(owner).values()]
    functions = [item for item in items if isinstance(item, types.FunctionType)]
    assert len(functions) > 5
    for function in functions:
        if function.__module__ == module.__name__:
            ast.parse(to_source(readable(trace(function, keep_steps=False).tree)).text)
