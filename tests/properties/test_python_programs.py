"""Generated programs on Python floats: converted is original, exactly (rule A1)."""

from __future__ import annotations

from typing import Any

from hypothesis import given, note, settings

import d2s
from tests.helpers import function_of
from tests.properties.programs import NUMBERS, TRIPS, programs


def outcome(function: Any, *arguments: Any) -> tuple[Any, ...]:
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return type(result), result


@settings(max_examples=300)
@given(programs(tensors=False), NUMBERS, NUMBERS, TRIPS)
def test_converted_is_original(text: str, x: float, y: float, n: int) -> None:
    """A1, for branches, loops, jumps and early returns."""
    note(text)
    function = function_of(text)
    converted = d2s.convert(function)
    assert outcome(converted, x, y, n) == outcome(function, x, y, n)
    assert outcome(converted, y, -x, 3 - n) == outcome(function, y, -x, 3 - n)
