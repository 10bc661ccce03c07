"""The code that users see: each ``NAME.py`` here becomes what ``NAME.out`` says.

The function to convert is called ``f``. ``pytest tests/golden --update-golden`` writes the
expected files again.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import gast
import paddle
import pytest

import d2s
from d2s.conversion import resolver
from d2s.pipeline import transform
from d2s.syntax.load import compile_tree
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of

HERE = Path(__file__).parent
CASES = sorted(path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.glob("*/*.py"))


def decorate(function: Any) -> Any:
    """A decorator that shows the function in it, as ``functools.wraps`` does."""
    return functools.wraps(function)(function)


class Base:
    def forward(self, x: Any) -> Any:
        return x


def function_in(name: str) -> Any:
    path = HERE / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {
        "__name__": "golden", "paddle": paddle, "decorate": decorate, "Base": Base,
        "helper": decorate(lambda x: x), "counter": 0,
    }  # fmt: skip
    exec(compile(text, str(path), "exec", dont_inherit=True), names)
    return names["f"]


def generated(function: Any) -> str:
    trace = transform(source_of(function), resolve=resolver(function))
    return to_source(trace.tree).text


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_expected_one(name: str, update_golden: bool) -> None:
    """Readable code (design/style): compared letter for letter."""
    text = generated(function_in(name))
    expected = HERE / f"{name}.out"
    if update_golden:
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_tree(name: str) -> None:
    """What ``d2s.code`` prints is what runs: the text parses to the tree that is compiled."""
    function = function_in(name)
    trace = transform(source_of(function), resolve=resolver(function))
    text = to_source(trace.tree).text
    assert ast.dump(ast.parse(text).body[0]) == ast.dump(gast.gast_to_ast(trace.tree))
    assert d2s.code(function) == text


@pytest.mark.parametrize("name", CASES)
def test_it_compiles(name: str) -> None:
    """A5: the generated code is valid Python in the function's own closure."""
    function = function_in(name)
    trace = transform(source_of(function), resolve=resolver(function))
    code = function.__code__
    compiled = compile_tree(trace.tree, (*code.co_freevars, trace.namespace), code)
    assert compiled.co_name == code.co_name


@pytest.mark.parametrize("name", CASES)
def test_converting_twice_gives_the_same_text(name: str) -> None:
    """Nothing of one conversion stays behind for the next."""
    function = function_in(name)
    assert generated(function) == generated(function)
    converted = d2s.convert(function)
    assert d2s.convert(converted) is converted


@pytest.mark.parametrize("name", CASES)
def test_every_pass_leaves_a_sound_tree(name: str) -> None:
    """Decision 3: ``verify`` runs between the passes."""
    function = function_in(name)
    transform(source_of(function), resolve=resolver(function), check=True)


def test_every_expected_file_has_its_input() -> None:
    """A renamed case leaves nothing behind."""
    outputs = {path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.glob("*/*.out")}
    assert outputs == set(CASES)
