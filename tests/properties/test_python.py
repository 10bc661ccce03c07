"""What holds for every generated program on Python values: converted is original (rule A1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from d2s.testing import PROPERTIES, Program, Property, programs
from tests.properties.holding import Holding


@pytest.mark.parametrize(
    "what",
    [what for what in PROPERTIES if not what.tensors],
    ids=lambda what: f"{what.rules}, {what.name}",
)
def test_property(what: Property) -> None:
    hold = Holding(what)

    @settings(max_examples=6 if what.name == "same after each pass" else 25)
    @given(programs(tensors=False, without=what.without))
    def check(program: Program) -> None:
        hold(program)

    check()
