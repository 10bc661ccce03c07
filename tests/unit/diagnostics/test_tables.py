"""The tables of errors: what each variable is on each side, and the line that has assigned it."""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

import gast
import paddle
import pytest

import d2s
from d2s.analysis.assignments import Side, moments_of, sides_of
from d2s.errors import AmbiguousValueError, ContainerInGraphError, D2SError, LoopMismatchError, Row
from tests.helpers import function_of

X = paddle.to_tensor([1.0, 2.0])


def refused(text: str, kind: type[D2SError]) -> D2SError:
    """The error of the function in ``text``, whose first line is line 1."""
    with pytest.raises(kind) as caught:
        d2s.to_static(function_of(text))(X)
    return caught.value


# -- from the run of a capture ---------------------------------------------------------------------


def test_a_loop_variable_of_another_type() -> None:
    """D2S202: before and after, and both lines."""
    error = refused(
        """
        def f(x):
            s = x.sum()
            while x.sum() < 10:
                s = {1}
                x = x * 2
            return s
        """,
        LoopMismatchError,
    )
    assert error.table == (
        Row("s", "before the loop", "Tensor", "float32", "[]", 2),
        Row("s", "after a trip", "set", "", "", 4),
    )
    assert error.line == 3
    assert "keep 's' a tensor" in error.cure


def test_a_loop_variable_of_many_ranks() -> None:
    """D2S202: the shapes as they follow."""
    error = refused(
        """
        def f(x):
            s = paddle.ones([])
            for i in range(paddle.to_tensor(3)):
                s = s.unsqueeze(0)
            return s
        """,
        LoopMismatchError,
    )
    assert [row.shape for row in error.table][:3] == ["[]", "[1]", "[1, 1]"]
    assert [row.line for row in error.table][:2] == [2, 4]


def test_a_key_that_a_loop_makes() -> None:
    """D2S207: the keys on both sides, and which one is missing."""
    error = refused(
        """
        def f(x):
            found = {"first": x}
            while x.sum() < 10:
                x = x * 2
                found[len(found)] = x
            return found
        """,
        ContainerInGraphError,
    )
    assert error.table == (
        Row("found", "before the loop", "dict of 'first', 1, 2, 3, 4", "", "", 2),
        Row("found", "after a trip", "dict of 'first', 1, 2, 3, 4, 5", "", "", 5),
    )
    assert "final form before the loop" in error.cure


def test_an_attribute_of_a_layer() -> None:
    """F3: the path as the user writes it."""

    class Net(paddle.nn.Layer):
        def forward(self, x):
            self.h = x
            while self.h.sum() < 10:
                self.h = self.h.unsqueeze(0)
            return self.h

    first = Net.forward.__code__.co_firstlineno
    with pytest.raises(LoopMismatchError) as caught:
        d2s.to_static(Net())(X)
    rows = caught.value.table
    assert [(row.variable, row.line) for row in rows[:2]] == [
        ("self.h", first + 1),
        ("self.h", first + 3),
    ]


BRANCHES = """
def f(x):
    name = "none"
    if x.sum() > 0:
        name = 3
    elif x.sum() < -5:
        name = x
    return {name: 0}
"""


def test_sides_of_a_branch() -> None:
    """D2S203: a row for each thing that it may be; one that is unchanged keeps its line."""
    error = refused(BRANCHES, AmbiguousValueError)
    assert error.table == (
        Row("name", "if x.sum() > 0", "int 3", "", "", 4),
        Row("name", "else, if x.sum() < -5", "Tensor", "float32", "[2]", 6),
        Row("name", "else, else", "str 'none'", "", "", 2),
    )


@pytest.mark.parametrize(("absent", "lines"), [("if", (3, 5)), ("else", (5, 3))])
def test_none_on_either_side(absent: str, lines: tuple[int, int]) -> None:
    """B2: whichever side leaves ``None``, each row has its own condition and line."""
    sides = ["None", "x"] if absent == "if" else ["x", "None"]
    error = refused(
        f"""
        def f(x):
            if x.sum() > 0:
                name = {sides[0]}
            else:
                name = {sides[1]}
            return {{name: 0}}
        """,
        AmbiguousValueError,
    )
    assert {row.type: (row.where, row.line) for row in error.table} == {
        "None": ("if x.sum() > 0" if absent == "if" else "else", lines[0]),
        "Tensor": ("else" if absent == "if" else "if x.sum() > 0", lines[1]),
    }
    assert [row.where for row in error.table] == ["if x.sum() > 0", "else"]


def test_the_text_of_a_table_is_aligned() -> None:
    """Between cause and cure; columns under their headings."""
    first, headings, *rows, cure = str(refused(BRANCHES, AmbiguousValueError)).splitlines()
    assert first.startswith("<test ")
    assert cure.startswith("  cure: ")
    assert cure.endswith("[D2S203]")
    assert headings.split() == ["variable", "where", "type", "dtype", "shape", "line"]
    for name in ("where", "type", "line"):
        start = headings.index(name)
        assert all(row[start - 1] == " " != row[start] for row in rows)


def test_a_column_that_nobody_needs_is_left_out() -> None:
    """No dtype and no shape where there is no tensor."""
    error = refused(
        """
        def f(x):
            step = {"a": 1} if x.sum() > 0 else [1]
            match step:
                case {"a": a}:
                    return a
        """,
        AmbiguousValueError,
    )
    assert str(error).splitlines()[1].split() == ["variable", "where", "type", "line"]
    assert [(row.type, row.line) for row in error.table] == [("dict of 'a'", 2), ("list of 1", 2)]


def test_what_returns_leave() -> None:
    """B6: the lines of the returns."""
    error = refused(
        """
        def f(x):
            def kind(x):
                if x.sum() > 0:
                    return "up"
                return x
            return {kind(x): 0}
        """,
        AmbiguousValueError,
    )
    assert [row.line for row in error.table] == [4, 5]


def test_columns() -> None:
    """The part of the line that is meant, in characters (Python 3.11 and later)."""
    error = refused(
        """
        def f(größe):
            s = größe.sum()
            while s < größe.max() + 10:
                s = s.unsqueeze(0)
            return s
        """,
        LoopMismatchError,
    )
    if error.columns is not None:  # Python 3.10 has none
        start, end = error.columns
        line = "    while s < größe.max() + 10:"
        assert line[start:end] == "s < größe.max() + 10"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns before")
def test_columns_of_a_condition_of_many_lines() -> None:
    """The marker ends where its line does."""
    error = refused(
        """
        def f(x):
            s = x.sum()
            while (s < 10 and
                   s > -10):
                s = s.unsqueeze(0)
            return s
        """,
        LoopMismatchError,
    )
    assert error.line == 3
    assert error.columns == (11, len("    while (s < 10 and"))


def test_json() -> None:
    """Editors get all of it."""
    error = refused(BRANCHES, AmbiguousValueError)
    data = json.loads(json.dumps(error.as_dict()))
    assert data["code"] == "D2S203"
    assert data["severity"] == "error"
    assert data["line"] == 7
    assert data["docs"] == "errors/D2S203.md"
    assert [row["line"] for row in data["table"]] == [4, 6, 2]
    assert set(data["table"][0]) == set(Row._fields)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before")
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("if x.sum() > 0:\n  y = 1", "line 3 (if x.sum() > 0)"),
        ("while x.sum() > 0:\n  x = x - 1\n  y = x", "line 4 (in a trip of the loop)"),
        ("for y in range(x.sum().astype('int32')):\n  pass", "line 2 (in a trip of the loop)"),
        (
            "if x.sum() > 0:\n  y = 1\nelif x.sum() > -1:\n  y = 2",
            "line 3 (if x.sum() > 0) or line 5 (else)",
        ),
        (
            "if x.sum() > 0:\n  y = 1\nif x.sum() > 3:\n  y = 2",
            "line 3 (if x.sum() > 0) or line 5 (if x.sum() > 3)",
        ),
        (
            "if x.sum() > 0:\n  y = x\nwhile x.sum() > 3:\n  x = x - 1\n  y = x",
            "line 3 (if x.sum() > 0) or line 6 (in a trip of the loop)",
        ),
    ],
)
def test_an_unbound_variable_names_where_it_is_bound(text: str, note: str) -> None:
    """B2: Python's own error, with a note of the branch or loop that was not taken."""
    body = "\n".join(f"  {line}" for line in text.split("\n"))
    with pytest.raises(UnboundLocalError) as caught:
        d2s.to_static(function_of(f"def f(x):\n{body}\n  return y * x\n"))(-X)
    assert caught.value.__notes__ == [f"'y' is bound on {note}, which has not happened on this run"]
    with pytest.raises(UnboundLocalError) as dygraph:
        function_of(f"def f(x):\n{body}\n  return y * x\n")(-X)
    assert str(caught.value) == str(dygraph.value)


def test_a_deleted_variable_has_no_note() -> None:
    """It was bound, and is no more."""
    f = function_of("def f(x):\n  y = x\n  if x.sum() < 0:\n    del y\n  return y\n")
    with pytest.raises(UnboundLocalError) as caught:
        d2s.to_static(f)(-X)
    assert not hasattr(caught.value, "__notes__")


# -- from the text alone ---------------------------------------------------------------------------


def tree_of(text: str) -> Any:
    return gast.ast_to_gast(ast.parse(text)).body[0]


FORMS = {
    "assignment": "y = 1",
    "augmented": "y += 1",
    "annotated": "y: int = 1",
    "tuple": "x, (y, z) = 1, (2, 3)",
    "starred": "x, *y = 1, 2",
    "walrus": "print(y := 1)",
    "for": "for y in x: pass",
    "with": "with x as y: pass",
    "import": "import y",
    "import as": "import x.z as y",
    "def": "def y(): pass",
    "class": "class y: pass",
    "append": "y.append(1)",
    "item": "y[0] = 1",
    "attribute of what holds it": "y = x",
}


@pytest.mark.parametrize("form", FORMS)
def test_each_way_to_give_a_value_counts(form: str) -> None:
    """Whatever binds or changes the variable is its assignment."""
    text = f"def f(x, y):\n  if x > 0:\n    pass\n    {FORMS[form]}\n    print(y, y[0], y.a)\n"
    assert sides_of(tree_of(text), 2, "y") == (Side("if x > 0", 4), Side("else", 1))


@pytest.mark.parametrize(
    "statement",
    ["print(y)", "del y", "y.sum()", "x.y = 1", "x[y] = 1", "lambda y: y", "[y for y in x]"],
)
def test_what_only_reads_does_not_count(statement: str) -> None:
    """Nor does another variable of the same name."""
    text = f"def f(x, y):\n  if x > 0:\n    {statement}\n"
    assert sides_of(tree_of(text), 2, "y") == (Side("if x > 0", 1), Side("else", 1))


PATHS = """
def f(self, cfg):
    self.h = 1
    cfg["k"] = 1
    for i in self.items:
        self.h = 2
        self.other = 3
        cfg["k"] = 2
        cfg["other"] = 3
"""


@pytest.mark.parametrize(
    ("path", "lines"),
    [("self.h", (3, 6)), ("cfg['k']", (4, 9)), ("self.h.x", (3, 6)), ("i", (None, 5))],
)
def test_paths(path: str, lines: tuple[int | None, int | None]) -> None:
    """A part is changed where it is assigned, and where what holds it changes."""
    found = moments_of(tree_of(PATHS), 5, path)
    assert found is not None
    assert tuple(side.line for side in found) == lines


@pytest.mark.parametrize("line", [1, 3, 99])
def test_no_branch_there(line: int) -> None:
    """No answer rather than a wrong one."""
    tree = tree_of("def f(x):\n  if x:\n    y = 1\n")
    assert sides_of(tree, line, "y") is None
    assert moments_of(tree, 2, "y") is None


def test_two_conditions_on_a_line() -> None:
    """Which of them is meant cannot be known."""
    tree = tree_of("def f(x):\n  y = (1 if x else 2) if x > 1 else 3\n")
    assert sides_of(tree, 2, "y") is None
