"""Where ``is`` and ``in`` ask an operator (rules B4, B5)."""

from __future__ import annotations

import pytest

from tests.helpers import assert_same, function_of, tensor


@pytest.mark.parametrize(
    "inner",
    [
        "def missing(v):\n        return v is None",
        "def missing(v, /):\n        return v is None",
        "missing = lambda v: v is None",
    ],
)
def test_a_parameter_inside_may_be_one_of_several(inner: str) -> None:
    """B4: what is handed to it is a tensor on one path, and nothing on the other."""
    function = function_of(f"""
def f(x):
    {inner}
    y = None
    if x.sum() > 0:
        y = x
    if missing(y):
        return x - 1
    return x * 2
""")
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0))


def test_what_a_pattern_captures_may_be_one_of_several() -> None:
    """B4, B7: the capture is the thing that a tensor has decided."""

    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        match [y]:
            case [z]:
                if z is None:
                    return x - 1
        return x * 2

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0))
