"""Places in messages and tracebacks where little is known; text that few programs hold."""

from __future__ import annotations

import ast
import math
import sys
from typing import Any

import gast
import pytest

import d2s
from d2s.analysis.definitions import definitions_of
from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.frames import span_of
from d2s.diagnostics.location import here, user_line
from d2s.errors import D2SError
from d2s.syntax.load import compile_tree
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of
from d2s.syntax.trees import copied
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


# -- places --------------------------------------------------------------------------------------


def test_where_there_is_no_frame_of_the_users() -> None:
    """No place is better than a wrong one."""
    assert user_line(["no line of a stack", '  File "/x.py", in f']) == (None, None)
    assert is_defect(ValueError("never raised")) is False
    code = compile("x = 1", "<no file>", "exec")
    assert span_of(code, 10**6) is None
    assert here() is not None


def test_code_without_columns(tmp_path: Any) -> None:
    """F1: under ``-X no_debug_ranges`` errors name their line, and lambdas on one line are told
    apart by what they do.
    """
    import subprocess

    script = tmp_path / "script.py"
    script.write_text(
        "import paddle\nimport d2s\n"
        "fs = [lambda x: x * 2 if x.sum() > 0 else x, lambda x: x * 3 if x.sum() > 0 else x]\n"
        "print([d2s.to_static(f)(paddle.to_tensor([1.0])).tolist() for f in fs])\n"
        "same = [lambda x, k=k: x + k if x.sum() > 0 else x for k in (1, 2)]\n"
        "print([d2s.to_static(f)(paddle.to_tensor([1.0])).tolist() for f in same])\n"
        "def f(x):\n    return memoryview(x.numpy()) if x.sum() > 0 else x\n"
        "try:\n    d2s.to_static(f)(paddle.to_tensor([1.0]))\n"
        "except d2s.errors.D2SError as error:\n    print(error.code, error.line)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-X", "no_debug_ranges", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["[[2.0], [3.0]]", "[[2.0], [3.0]]", "D2S208 8"], done.stderr


# -- texts ---------------------------------------------------------------------------------------


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


# -- sources -------------------------------------------------------------------------------------


def test_a_file_that_has_changed_into_no_python() -> None:
    """D2S101: text that does not parse is no source."""
    import linecache

    function = function_of("def f(x):\n    return x * 2 if x.sum() > 0 else x\n")
    file = function.__code__.co_filename
    linecache.cache[file] = (9, None, ["def f(x:\n", "    return\n"], file)
    with pytest.raises(D2SError) as caught:
        d2s.convert(function)
    assert caught.value.code == "D2S101"


def test_definitions_of_a_function_with_another_name_on_its_line() -> None:
    """E2: of several definitions on one line the one with the name and the parameters counts."""
    scope = function_of(
        """
        def make():
            class A:
                f = lambda self, x: x * 2 if x.sum() > 0 else x; g = lambda self, y: y * 3
            return A
        """
    )()
    assert_same(lambda x: scope().f(x), PLUS, MINUS)
    assert_same(lambda x: scope().g(x), PLUS, MINUS)
    assert source_of(scope.f).tree.args.args[1].id == "x"


def test_what_python_cannot_compile_is_a_coded_error() -> None:
    """A5: should a pass leave such a tree, the error names the function and its line."""
    function = function_of("def f(x):\n    return x\n")
    tree = copied(source_of(function).tree)
    tree.body.append(gast.copy_location(gast.Break(), tree.body[0]))
    with pytest.raises(D2SError, match="cannot compile the converted function 'f'") as caught:
        compile_tree(tree, (), function.__code__)
    assert caught.value.code == "D2S103"


def test_definitions_without_a_line() -> None:
    """A name that only a ``global`` of the function makes known has no line of its own."""
    tree = gast.parse("def f(x):\n    global g\n    g = x\n    y = g\n").body[0]
    for node in gast.walk(tree):
        if isinstance(node, gast.Name) and node.id == "y":
            del node.lineno
    assert definitions_of(tree).lines["y"] == ()
