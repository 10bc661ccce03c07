"""The dump: gutters, columns, diffs. Most traces are made by hand, so that every line is known."""

from __future__ import annotations

import textwrap

import gast
import pytest
from rich.cells import cell_len

from d2s.debug.dump import render_passes, render_program, render_side_by_side, render_text
from d2s.pipeline import Step, Trace, transform
from d2s.syntax.source import FunctionSource, source_of

ORIGINAL = """\
def f(x):
    # why
    if x > 0:
        x = x + 1
    else:
        x = 0
    return x
"""
# Each generated line with the original line that it comes from.
GENERATED = """\
def f(x):                       # 10
    def body():                 # 12
        nonlocal x              # 12
        x = x + 1               # 13
    def orelse():               # 12
        nonlocal x              # 12
        x = 0                   # 15
    d2s.if_(x > 0, body, orelse)  # 12
    return x                    # 16
"""


def annotated(text: str) -> gast.FunctionDef:
    """A tree whose statements have the line numbers that the comments name."""
    lines = [int(line.rpartition("#")[2]) for line in text.splitlines()]
    tree = gast.parse(text).body[0]
    for node in gast.walk(tree):
        if isinstance(node, gast.stmt):
            node.lineno = lines[node.lineno - 1]
    return tree


def source_from(text: str, first_line: int = 1, name: str = "f") -> FunctionSource:
    return FunctionSource(
        text=text,
        tree=gast.parse(text).body[0],
        file="net.py",
        first_line=first_line,
        name=name,
    )


def trace_from(original: str, tree: gast.AST, first_line: int = 1, steps=()) -> Trace:
    return Trace(source_from(original, first_line), tuple(steps), tree, "d2s")


@pytest.fixture
def trace() -> Trace:
    return trace_from(ORIGINAL, annotated(GENERATED), first_line=10)


def step(name: str, text: str) -> Step:
    return Step(name, gast.parse(textwrap.dedent(text)).body[0])


# -- text -----------------------------------------------------------------------------------------


def test_text_has_two_gutters(trace):
    assert render_text(trace) == textwrap.dedent(
        """\
        new | old | f (net.py:10)
          1 |  10 | def f(x):
          2 |  12 |     def body():
          3 |  12 |         nonlocal x
          4 |  13 |         x = x + 1
          5 |     |
          6 |  12 |     def orelse():
          7 |  12 |         nonlocal x
          8 |  15 |         x = 0
          9 |     |
         10 |  12 |     d2s.if_(x > 0, body, orelse)
         11 |  16 |     return x
        """
    )


def test_gutters_grow_with_the_numbers():
    tree = gast.parse("def f():\n    x = 1").body[0]
    tree.lineno, tree.body[0].lineno = 123_456, 7
    lines = render_text(trace_from("def f():\n    x = 1\n", tree, 123_456)).splitlines()
    assert lines == [
        "new |    old | f (net.py:123456)",
        "  1 | 123456 | def f():",
        "  2 |      7 |     x = 1",
    ]


def test_text_without_positions():
    name = gast.Name("x", gast.Load(), None, None)
    tree = gast.Expr(name)
    assert render_text(trace_from("x\n", tree)).splitlines()[1:] == ["  1 |     | x"]


def test_continuations_have_no_original_line():
    names = ", ".join(f"argument_number_{number}" for number in range(12))
    tree = gast.parse(f"def f():\n    g({names})").body[0]
    lines = render_text(trace_from("def f(): ...\n", tree)).splitlines()
    assert lines[2] == "  2 |   2 |     g("
    assert {line[:11] for line in lines[3:]} == {f"{n:>3} |     |" for n in range(3, len(lines))}


# -- side by side ---------------------------------------------------------------------------------


SIDE_BY_SIDE = """\
 10 def f(x):                          |   1 def f(x):
 11     # why                          |
 12     if x > 0:                      |   2     def body():
                                       |   3         nonlocal x
 13         x = x + 1                  |   4         x = x + 1
                                       |   5
                                       |   6     def orelse():
                                       |   7         nonlocal x
 14     else:                          |
 15         x = 0                      |   8         x = 0
                                       |   9
                                       |  10     d2s.if_(x > 0, body, orelse)
 16     return x                       |  11     return x
"""


def test_side_by_side(trace):
    assert render_side_by_side(trace, 80) == SIDE_BY_SIDE


@pytest.mark.parametrize("width", [80, 200, 41, 120])
def test_side_by_side_fits_the_width_and_shows_every_line(trace, width):
    rows = render_side_by_side(trace, width).splitlines()
    assert max(map(cell_len, rows)) <= width
    bars = {row.index(" | ") for row in rows if " | " in row}
    assert len(bars) == 1
    (bar,) = bars
    left = [row[:bar].strip().split(" ")[0] for row in rows]
    right = [row[bar + 3 :].strip().split(" ")[0] for row in rows]
    assert [number for number in left if number] == [str(n) for n in range(10, 17)]
    assert [number for number in right if number] == [str(n) for n in range(1, 12)]


def test_side_by_side_cuts_with_an_ellipsis():
    text = "def f():\n    return '" + "a" * 100 + "END'\n"
    trace = trace_from(text, gast.parse(text).body[0])
    narrow = render_side_by_side(trace, 80).splitlines()
    assert [line.count("…") for line in narrow] == [0, 2]
    assert narrow[1].endswith("a…")
    assert len(narrow[1]) == 80
    wide = render_side_by_side(trace, 260)
    assert "…" not in wide
    assert wide.count("END") == 2


def test_side_by_side_counts_the_cells_of_wide_characters():
    text = "def f():\n    return '" + "字" * 60 + "'\n"
    trace = trace_from(text, gast.parse(text).body[0])
    for width in (80, 81, 82, 83):
        rows = render_side_by_side(trace, width).splitlines()
        assert cell_len(rows[1]) <= width
        assert len({cell_len(row.partition(" | ")[0]) for row in rows}) == 1


def test_side_by_side_with_tabs():
    trace = trace_from("def f():\n\treturn 1\n", gast.parse("def f():\n    return 1").body[0])
    assert "\t" not in render_side_by_side(trace, 80)


def test_side_by_side_is_never_narrower_than_its_columns(trace):
    rows = render_side_by_side(trace, 1).splitlines()
    assert all(len(row) <= 33 for row in rows)
    assert "def f(x):" in rows[0]


def test_side_by_side_takes_the_width_of_the_terminal(trace, monkeypatch):
    for columns in ("60", "90"):
        monkeypatch.setenv("COLUMNS", columns)
        assert render_side_by_side(trace) == render_side_by_side(trace, int(columns))


def test_a_line_that_goes_back_does_not_stop_the_alignment():
    original = "def f():\n    a = 1\n    b = 2\n    c = 3\n"
    tree = annotated(
        "def f():  # 1\n    names = ()  # 4\n    a = 1  # 2\n    b = 2  # 3\n    c = 3  # 4\n"
    )
    rows = [row.split() for row in render_side_by_side(trace_from(original, tree), 80).splitlines()]
    assert rows == [
        ["1", "def", "f():", "|", "1", "def", "f():"],
        ["|", "2", "names", "=", "()"],
        ["2", "a", "=", "1", "|", "3", "a", "=", "1"],
        ["3", "b", "=", "2", "|", "4", "b", "=", "2"],
        ["4", "c", "=", "3", "|", "5", "c", "=", "3"],
    ]


def test_a_line_from_outside_of_the_function_stands_alone():
    tree = annotated("def f():  # 1\n    a = 1  # 99\n    b = 2  # 100\n")
    rows = render_side_by_side(trace_from("def f():\n    b = 2\n", tree), 80).splitlines()
    assert [row.partition("|")[0].split() for row in rows] == [
        ["1", "def", "f():"],
        [],
        [],
        ["2", "b", "=", "2"],
    ]


# -- passes ---------------------------------------------------------------------------------------


def test_passes():
    first = "def f(x):\n    y = 1\n    return x"
    second = "def f(x):\n    y = 2\n    return x"
    trace = trace_from(
        first,
        gast.parse(second).body[0],
        first_line=3,
        steps=[
            step("source", first),
            step("idle", first),
            step("change", second),
            step("lazy", second),
        ],
    )
    assert render_passes(trace) == textwrap.dedent(
        """\
        === f (net.py:3)

        === change
        --- idle
        +++ change
        @@ -1,3 +1,3 @@
         def f(x):
        -    y = 1
        +    y = 2
             return x

        unchanged by: idle, lazy
        """
    )


def test_passes_that_all_change_something():
    trace = trace_from(
        "x\n", gast.parse("y").body[0], steps=[step("source", "x"), step("one", "y")]
    )
    assert "unchanged" not in render_passes(trace)


def test_passes_without_steps():
    assert render_passes(trace_from("x\n", gast.parse("x").body[0])) == "=== f (net.py:1)\n\n"


# -- program --------------------------------------------------------------------------------------


class FakeProgram:
    def __str__(self) -> str:
        return "\n{\n  (%0) = op ()   \n\n}  \n\n"


def test_program_loses_trailing_blanks_only():
    assert render_program(FakeProgram()) == "{\n  (%0) = op ()\n\n}\n"


# -- the real thing -------------------------------------------------------------------------------


def real(x, n):
    """A function as users write them."""
    total = x
    for i in range(n):
        if total.sum() > i:
            continue
        total = total * 2
    while total.mean() < 3:
        total += 1
    return total


def test_a_real_trace_renders_in_every_form():
    trace = transform(source_of(real), keep_steps=True)
    first = trace.source.first_line
    text = render_text(trace)
    assert f"{first:>3} | def real(x, n):" in text
    assert render_text(trace).count("\n") > 10
    for width in (80, 200):
        rows = render_side_by_side(trace, width).splitlines()
        assert max(map(len, rows)) <= width
        aligned = [row for row in rows if row.count("total * 2") == 2]
        assert len(aligned) == 1
    passes = render_passes(trace)
    changed = passes.count("\n=== ")
    unchanged = passes.rpartition("unchanged by: ")[2].count(",") + 1
    assert changed + unchanged == len(trace.steps) - 1
    assert changed >= 2
