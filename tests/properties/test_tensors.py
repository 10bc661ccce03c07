"""What holds for every generated program on tensors, by the rules of the contract."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from d2s.testing import PROPERTIES, Program, Property, programs
from d2s.testing.grammar import forms
from tests.properties.holding import OPEN, Holding

TENSORS = [what for what in PROPERTIES if what.tensors]
MAIN = TENSORS[0]

GROUPS = {
    "B1 to B7, branches and logic": range(1, 17),
    "C1 to C5, loops": range(17, 41),
    "B6, returns": range(41, 47),
    "A4, C6, E2, functions": range(47, 58),
    "F1, exceptions and effects": range(58, 65),
    "B3, C4, E1, E4, values and types": range(65, 74),
    "B4, D1 to D3, containers": range(74, 84),
    "F3, objects, state and in-place changes": range(84, 91),
}
"""Rules, with the rows of the support table that are about them."""


def constructs_of(rows: range) -> list[str]:
    """The constructs that belong to some of the rows; branches and loops are always among them."""
    always = {"if else", "for range of a tensor", "while with a counter", "break"}
    return sorted(
        item.name for item in forms() if item.name in always or set(item.rows) & set(rows)
    )


@pytest.mark.parametrize("rows", GROUPS.values(), ids=GROUPS)
def test_same_as_dygraph(rows: range) -> None:
    """Value, dtype, shape, structure, exception and its line, text, state and gradients."""

    hold = Holding(MAIN)

    @settings(max_examples=12)
    @given(programs(only=constructs_of(rows), without=OPEN, size=9))
    def check(program: Program) -> None:
        hold(program)

    check()


def test_same_as_dygraph_with_everything() -> None:
    """B to F: the same, for programs in which all constructs may meet."""
    hold = Holding(MAIN)

    @settings(max_examples=20)
    @given(programs(without=OPEN, size=9))
    def check(program: Program) -> None:
        hold(program)

    check()


@pytest.mark.parametrize("what", TENSORS[1:], ids=lambda what: f"{what.rules}, {what.name}")
def test_property(what: Property) -> None:
    hold = Holding(what)
    without = (*what.without, *OPEN)

    @settings(max_examples=5 if what.one_size else 10)  # many sizes are many captures
    @given(programs(without=without, one_size=what.one_size, size=9))
    def check(program: Program) -> None:
        hold(program)

    check()
