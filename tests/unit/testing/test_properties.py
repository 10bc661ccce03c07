"""Each property can fail: a defect is planted, and the verdict is that the program is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gast
import paddle
import pytest

from d2s import api, conversion
from d2s.errors import UnsupportedInGraphError
from d2s.passes.base import Pass
from d2s.pipeline import PIPELINE
from d2s.testing import PROPERTIES, Program, Property, judge
from d2s.testing.properties import on_python, on_tensors
from d2s.testing.properties.spies import Spy

LOOP = """\
import paddle


def f(x):
    for i in range(3):
        x = x * 0.5
        if SUM > -100.0:
            break
    return x
"""
TENSORS = Program(LOOP.replace("SUM", "x.sum()"), ("x",), (([2.0, 1.0],), ([-1.0, 3.0],)))
PYTHON = Program(LOOP.replace("SUM", "x"), ("x",), ((2.0,), (-1.0,)), tensors=False)


class _WithoutBreaks(gast.NodeTransformer):  # type: ignore[misc]
    def visit_Break(self, node: Any) -> Any:
        return gast.copy_location(gast.Pass(), node)


PLANTED = Pass("planted", lambda tree, ctx: _WithoutBreaks().visit(tree))


def plant_a_pass(patch: pytest.MonkeyPatch) -> None:
    changed = {**conversion._PIPELINES, "usual": (PLANTED, *PIPELINE)}
    patch.setattr(conversion, "_PIPELINES", changed)


def plant_a_step(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(on_python, "PIPELINE", (PIPELINE[0], PLANTED, *PIPELINE[1:]))


def plant_other_texts(patch: pytest.MonkeyPatch) -> None:
    count = itertools.count()
    patch.setattr(api, "code", lambda function: f"text {next(count)}")


def plant_other_lines(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(api, "convert", lambda function: lambda x: x)


def plant_a_plain_call(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(api, "to_static", lambda function: function)


def plant_a_wrong_file(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(api, "load", lambda path: lambda x: x + 7)


def plant_a_wrong_text(patch: pytest.MonkeyPatch) -> None:
    original = on_tensors.to_source

    class Printed:
        def __init__(self, tree: Any) -> None:
            self.text = original(tree).text.replace("0.5", "0.25")

    patch.setattr(on_tensors, "to_source", Printed)


def plant_a_cut(patch: pytest.MonkeyPatch) -> None:
    static = api.to_static
    patch.setattr(
        api, "to_static", lambda function: lambda x: static(function)(x) + x.detach() * 0 + x
    )


def plant_a_size(patch: pytest.MonkeyPatch) -> None:
    made = itertools.count()
    static = api.to_static

    def to_static(function: Any) -> Any:
        shift, converted = next(made), static(function)
        return lambda x: converted(x) + shift

    patch.setattr(api, "to_static", to_static)


def plant_a_shift(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(api, "to_static", lambda function, **options: lambda x: function(x) + 7)


DEFECTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "same as dygraph": plant_a_pass,
    "state over calls": plant_a_pass,
    "gradients are slopes": plant_a_cut,
    "open sizes change nothing": plant_a_size,
    "no Python on later calls": plant_a_plain_call,
    "saved and loaded": plant_a_wrong_file,
    "printed is the same": plant_a_wrong_text,
    "split as dygraph": plant_a_shift,
    "same as Python": plant_a_pass,
    "same after each pass": plant_a_step,
    "converted twice": plant_other_texts,
    "same lines": plant_other_lines,
}


def program_for(what: Property) -> Program:
    return TENSORS if what.tensors else PYTHON


@pytest.mark.parametrize("what", PROPERTIES, ids=lambda what: what.name)
def test_a_property_holds(what: Property) -> None:
    assert judge(what, program_for(what)).kind == "right"


@pytest.mark.parametrize("what", PROPERTIES, ids=lambda what: what.name)
def test_a_property_fails_with_a_planted_defect(
    what: Property, monkeypatch: pytest.MonkeyPatch
) -> None:
    DEFECTS[what.name](monkeypatch)
    verdict = judge(what, program_for(what))
    assert verdict.kind == "wrong", verdict
    assert verdict.text


def test_the_pass_that_breaks_a_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_a_step(monkeypatch)
    what = next(what for what in PROPERTIES if what.name == "same after each pass")
    assert "after the pass 'planted'" in judge(what, PYTHON).text


def test_a_refusal_and_a_crash() -> None:
    def refuses(program: Program) -> None:
        raise UnsupportedInGraphError("no")

    def crashes(program: Program) -> None:
        raise IndexError("out")

    refused = judge(Property("p", "", refuses), TENSORS)
    assert (refused.kind, refused.cause) == ("refused", "D2S205")
    crashed = judge(Property("p", "", crashes), TENSORS)
    assert (crashed.kind, crashed.cause) == ("wrong", "IndexError")


def test_a_spy_notes_what_is_done_in_order() -> None:
    log: list[str] = []
    x, y = Spy(2.0, log), Spy(3.0, log)
    result = -(x + y) if 1 < x < y else abs(x)
    assert (result.value, f"{x:.1f}", float(y), [x, y].index(y)) == (-5.0, "2.0", 3.0, 1)
    assert log == [
        "2.0 > 1", "bool(True)", "2.0 < 3.0", "bool(True)", "2.0 + 3.0", "-5.0",
        "format(2.0, '.1f')", "float(3.0)", "2.0 == 3.0", "bool(False)",
    ]  # fmt: skip


DELETED = """\
def f(x, y):
    a = x * 2
    for i1, e1 in enumerate(y):
        x = x * 0.5 + e1 * i1
        for i2, e2 in enumerate(y):
            x = x + e2 * i2
            del a
    return x
"""


def test_an_unbound_variable_is_a_free_one_in_a_printed_text() -> None:
    """A2, B2: ``NameError`` for ``UnboundLocalError``; another exception would be wrong."""
    program = Program(DELETED, ("x", "y"), (([0.5, 0.5], [0.5, 0.5]),))
    on_tensors.printed_is_the_same(program)
    names = [on_tensors._as_printed((kind, "a", 3)) for kind in ("NameError", "UnboundLocalError")]
    assert names[0] == names[1] != on_tensors._as_printed(("ValueError", "a", 3))
    assert on_tensors._as_printed(("ValueError", "a", 3)) == ("ValueError", "a")


OBJECT = """\
class Box:
    def __init__(self, held):
        self.held = held
        self.count = 0


def f(x):
    return (Box(x * 0.5), x)
"""


def test_a_saved_program_gives_what_objects_of_the_result_hold() -> None:
    """G3."""
    program = Program(OBJECT, ("x",), (([2.0, 1.0],),))
    on_tensors.saved_and_loaded(program)


def test_a_file_without_what_an_object_holds_is_wrong() -> None:
    """G3."""
    held = type("Box", (), {})()
    held.held = paddle.to_tensor([1.0])
    with pytest.raises(AssertionError, match="there should be more"):
        on_tensors._equal_tensors([held], [])
