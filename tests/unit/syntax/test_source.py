"""From a function to its text: files, lambdas, registered texts; no wrong answers (A5, E2)."""

from __future__ import annotations

import functools
import importlib.util
import linecache
import os
import textwrap

import pytest

from d2s.errors import NoSourceError, NotAFunctionError
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of
from tests.helpers import function_of


def text_of(function) -> str:
    return to_source(source_of(function).tree).text.strip()


def noted(function):
    return function


def test_a_function_of_a_file() -> None:
    source = source_of(noted)
    assert source.text == "def noted(function):\n    return function\n"
    assert (source.name, source.class_name, source.free) == ("noted", None, ())
    assert source.file == noted.__code__.co_filename
    assert source.first_line == noted.__code__.co_firstlineno == source.tree.lineno


@noted
@functools.wraps(noted)
def decorated(x):
    return x


def test_decorators_are_in_the_text_and_not_in_the_tree() -> None:
    """A2: decorators are not applied twice."""
    source = source_of(decorated)
    assert source.text.startswith("@noted\n@functools.wraps(noted)\ndef decorated")
    assert source.tree.decorator_list == []
    assert source.tree.name == "decorated"


class Outer:
    class Inner:
        def method(self, x):
            """A docstring
            that stands further left."""
            return lambda: self.__x

    def nested(self):
        def inner(y):
            return self, y

        return inner

    pair = (lambda a: a + 1, lambda a: a + 2, lambda b: b + 1)


def test_methods_know_their_class() -> None:
    source = source_of(Outer.Inner.method)
    assert source.class_name == "Inner"
    assert source.text.startswith("def method(self, x):")
    assert source.tree.lineno == Outer.Inner.method.__code__.co_firstlineno


def test_nested_functions_know_their_closure() -> None:
    source = source_of(Outer().nested())
    assert (source.name, source.class_name, source.free) == ("inner", "Outer", ("self",))


def test_lambdas_on_one_line() -> None:
    bodies = [text_of(function).split("\n")[-1].strip() for function in Outer.pair]
    assert bodies == ["return a + 1", "return a + 2", "return b + 1"]


def test_lambdas_that_differ_in_what_they_close_over() -> None:
    p, q = 1, 2
    pair = (lambda: p, lambda: q)
    assert [text_of(f).split("\n")[-1].strip() for f in pair] == ["return p", "return q"]


def test_lambdas_that_differ_in_an_operator_and_have_a_closure() -> None:
    """Rather no answer than a wrong one."""
    p = 3
    pair = (lambda a: a + p, lambda a: a - p)
    assert [text_of(f).split("\n")[-1].strip() for f in pair] == ["return a + p", "return a - p"]


def test_lambdas_that_differ_in_an_inner_lambda() -> None:
    pair = (lambda a: lambda: a + 1, lambda a: lambda: a + 2)
    assert [text_of(f).split("\n")[-1].strip() for f in pair] == [
        "return lambda : a + 1".replace(" :", ":"), "return lambda: a + 2",
    ]  # fmt: skip


def test_lambdas_that_call_an_imported_module() -> None:
    """E2: Python compiles calls into a module otherwise where its import is in sight."""
    function = function_of(
        "import math\npair = (lambda a: math.sin(a), lambda a: math.cos(a))", "pair"
    )
    assert [text_of(item).splitlines()[-1].strip() for item in function] == [
        "return math.sin(a)",
        "return math.cos(a)",
    ]


def test_a_lambda_inside_of_another_one() -> None:
    """E2: both stand on one line, and the inner one in the body of the outer one."""
    outer = function_of("import math\nf = lambda a: (lambda a: math.sin(a))", "f")
    assert text_of(outer(1)) == "def lambda_(a):\n    return math.sin(a)"
    assert text_of(outer).startswith("def lambda_(a):\n    return lambda a:")


def test_a_lambda_over_several_lines() -> None:
    function = (
        lambda x:
        x
        + 1
    )  # fmt: skip
    assert text_of(function) == "def lambda_(x):\n    return x + 1"


def test_a_text_registered_in_linecache() -> None:
    function = function_of("""

        def f(x):
            return x
    """)
    assert source_of(function).text == "def f(x):\n    return x\n"


def test_no_source() -> None:
    """D2S101."""
    names: dict = {}
    exec("def f(x):\n    return x\n", names)
    with pytest.raises(NoSourceError) as caught:
        source_of(names["f"])
    assert caught.value.code == "D2S101"
    assert "'f'" in str(caught.value)
    assert "linecache" in caught.value.cure


@pytest.mark.parametrize(
    "thing", [len, int, "def f(): pass", 3, None, os, functools.partial(noted)]
)
def test_what_is_no_function(thing) -> None:
    """D2S102."""
    with pytest.raises(NotAFunctionError) as caught:
        source_of(thing)
    assert caught.value.code == "D2S102"
    assert isinstance(caught.value, TypeError)


def imported(path, text: str):
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_that_changed_since_it_was_imported(tmp_path) -> None:
    """D2S101: another text under the same line is not taken for the function's."""
    path = tmp_path / "moved.py"
    module = imported(
        path,
        """\
        def f(x):
            return x

        def g(x):
            return -x
    """,
    )
    assert text_of(module.g).endswith("return -x")
    path.write_text("# a new line\n" + path.read_text())
    linecache.checkcache(str(path))
    with pytest.raises(NoSourceError) as caught:
        source_of(module.g)
    assert caught.value.line == 4
    assert "reload" in caught.value.cure
    again = imported(path, path.read_text())
    assert text_of(again.g).endswith("return -x")


def test_another_body_on_the_same_line(tmp_path) -> None:
    """D2S101: the definition stands on its line, but its body is another one by now."""
    path = tmp_path / "edited.py"
    module = imported(path, "def f(x):\n    return x + 1\n")
    path.write_text("def f(x):\n    return x - 100\n")
    with pytest.raises(NoSourceError):
        source_of(module.f)


def test_two_definitions_of_one_name_on_different_lines() -> None:
    function = function_of("""
        if True:
            def f(x):
                return 1
        else:
            def f(x):
                return 2
    """)
    assert text_of(function).endswith("return 1")


def test_an_assertion_that_pytest_has_taken_apart() -> None:
    """Its code has no ``-9.0``, and none of ``2 * 3``: this file's assertions are rewritten."""

    def checked(x):
        assert x > -9.0
        assert x < 2 * 3, "large"
        return x

    assert -9.0 not in checked.__code__.co_consts
    assert source_of(checked).text.startswith("def checked(x):")
