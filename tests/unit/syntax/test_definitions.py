"""Sources that do not parse, definitions that share a line, trees that do not compile."""

from __future__ import annotations

import gast
import pytest

import d2s
from d2s.analysis.definitions import definitions_of
from d2s.errors import D2SError
from d2s.syntax.load import compile_tree
from d2s.syntax.source import source_of
from d2s.syntax.trees import copied
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


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
