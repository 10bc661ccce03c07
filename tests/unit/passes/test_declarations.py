"""Where variables that only body functions bind are declared (rule A2)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import function_of


@pytest.mark.parametrize("first", ["", '"""Words."""', "global g"])
def test_a_variable_is_declared_before_the_body_that_binds_it(first: str) -> None:
    """A2: in front of all statements, behind the docstring."""
    function = function_of(f"""
        def f(x):
            {first}
            if x > 0:
                y = x
            else:
                y = -x
            return y
    """)
    lines = [line.strip() for line in d2s.code(function).splitlines() if line.strip()]
    before = [line for line in lines[1 : lines.index("y: object")] if line not in first]
    assert not before
    assert d2s.convert(function)(-2) == 2
