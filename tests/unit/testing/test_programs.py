"""The generator: what it reaches, that its programs are plain Python, and how they shrink."""

from __future__ import annotations

import ast
import collections
import functools
import random
from pathlib import Path
from typing import Any

import gast
import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

import d2s
from corpus.rows import ROWS
from d2s import conversion
from d2s.passes.base import Pass
from d2s.testing import PROPERTIES, Program, constructs, judge, programs
from d2s.testing.forms import rows
from d2s.testing.program import read
from tests.processes import python

SAME_AS_PYTHON = next(what for what in PROPERTIES if what.name == "same as Python")


def drawn(count: int, **options: Any) -> list[Program]:
    """Programs as a nightly run draws them."""
    found: list[Program] = []

    @hypothesis.seed(1)
    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(**options))
    def each(program: Program) -> None:
        found.append(program)

    each()
    return found


@functools.cache
def many() -> list[Program]:
    return drawn(1500)


def test_every_construct_is_reached() -> None:
    counts = collections.Counter(name for program in many() for name in program.constructs)
    assert set(counts) == set(constructs())


LISTS = ("for over a list that grew", "append", "list changed")


def test_no_loop_grows_the_list_that_it_goes_over() -> None:
    """Programs end: the find was ``for v in items: ... items.append(...)``."""
    for program in drawn(150, only=LISTS):
        for loop in ast.walk(ast.parse(program.text)):
            if isinstance(loop, ast.For) and ast.unparse(loop.iter) == "items":
                lines = "\n".join(map(ast.unparse, loop.body))
                assert "items." not in lines, program.text
                assert "items +=" not in lines, program.text


def test_most_pairs_of_constructs_are_reached() -> None:
    names = constructs()
    pairs = {
        (one, other)
        for program in many()
        for one in program.constructs
        for other in program.constructs
        if one < other
    }
    assert len(pairs) > 0.4 * len(names) * (len(names) - 1) / 2


def test_every_row_about_a_language_construct_has_a_form() -> None:
    """Rows that are about calling, saving, tools or a part of Paddle are no constructs."""
    others = {
        34,  # an object that has __getitem__ only: a class of its own, for one loop
        51,  # converting a lambda itself: a way to be called
        73,  # random numbers: a program draws as Paddle's static mode does (rule F5)
    }
    wanted = {row.number for row in ROWS if row.number <= 90} - others
    assert wanted - rows() == set()


@pytest.mark.parametrize("tensors", [True, False])
def test_a_program_is_plain_python_that_ends(tensors: bool) -> None:
    """It compiles, says which parameters it has, and has no loop without an end."""
    for program in drawn(200, tensors=tensors):
        tree = ast.parse(program.file)
        function = next(
            node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f"
        )
        assert [item.arg for item in function.args.args] == list(program.parameters)
        assert all(len(call) == len(program.parameters) for call in program.calls)
        for node in ast.walk(function):
            if isinstance(node, ast.While):  # what it counts, or what it halves, stands in it
                bound = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
                assert bound & {item.id for item in ast.walk(node) if is_stored(item)}


def is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def test_the_file_of_a_program_can_be_read_again() -> None:
    for program in many()[:100]:
        again = read(program.file)
        assert (again.text, again.parameters, again.calls) == (
            program.text,
            program.parameters,
            program.calls,
        )
    with pytest.raises(ValueError, match="CALLS"):
        read("import paddle\n")


def test_the_file_of_a_program_runs_without_d2s(tmp_path: Path) -> None:
    program = max(many(), key=lambda program: len(program.constructs))
    assert "d2s" not in program.file
    file = tmp_path / "program.py"
    file.write_text(program.file, encoding="utf-8")
    done = python(str(file), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= len(program.calls)


def test_one_size_and_without_are_obeyed() -> None:
    for program in drawn(100, one_size=True, without=["break", "print"]):
        assert not program.constructs & {"break", "print"}
        sizes = {len(value) for call in program.calls for value in call if isinstance(value, list)}
        assert len(sizes) == 1


def test_an_unknown_construct_is_an_error() -> None:
    with pytest.raises(ValueError, match="'goto'"):
        drawn(1, only=["goto"])


AROUND_BREAK = ("break", "for range", "print", "append", "ternary", "nested function")


class _WithoutBreaks(gast.NodeTransformer):  # type: ignore[misc]
    def visit_Break(self, node: Any) -> Any:
        return gast.copy_location(gast.Pass(), node)


def test_a_defect_shrinks_to_a_program_that_a_person_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted defect: a pass that drops each ``break``."""
    planted = Pass("planted", lambda tree, ctx: _WithoutBreaks().visit(tree))
    pipelines = {**conversion._PIPELINES, "usual": (planted, *conversion._PIPELINES["usual"])}
    monkeypatch.setattr(conversion, "_PIPELINES", pipelines)
    with d2s.options(verify=False):  # looking at the trees between passes takes most of the time
        smallest = find(
            programs(tensors=False, only=AROUND_BREAK, size=6),
            lambda program: judge(SAME_AS_PYTHON, program).kind == "wrong",
            settings=settings(
                max_examples=2000, database=None, phases=[Phase.generate, Phase.shrink]
            ),
            random=random.Random(5),
        )
    lines = smallest.text[smallest.text.index("def f(") :].splitlines()
    assert "break" in smallest.text
    assert len(lines) <= 8, smallest.text
    assert len(smallest.calls) == 1
