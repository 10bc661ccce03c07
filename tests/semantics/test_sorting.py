"""``sorted``, ``min`` and ``max`` of tensors (rule E1)."""

from __future__ import annotations

import paddle
import pytest

from tests.helpers import assert_same, function_of, tensor


@pytest.mark.parametrize("reverse", [False, True])
def test_equal_keys_keep_their_order(reverse: bool) -> None:
    """E1: Python's sort is stable, in reverse too, however many items there are."""
    rows = paddle.stack([paddle.arange(40) % 3, paddle.arange(40)], axis=1)
    function = function_of(f"""
def f(x):
    return sorted(x, key=lambda row: row[0], reverse={reverse})
""")
    assert_same(function, rows, grad=False)


@pytest.mark.parametrize(
    "expression",
    [
        "sorted([(x[0], 1), (x[1], 2), (x[2], 3)], key=lambda pair: pair[0])",
        "sorted([(x[0], x[1]), (x[2], x[0])], key=lambda pair: -pair[0])",
        "min([(x[0], 1), (x[1], 2)], key=lambda pair: pair[0])",
        "max([(x[0], x[1]), (x[0], x[2])], key=lambda pair: pair[1])",
        "min([(x[0],), (x[1],)], key=lambda one: one[0])",
        "max([(x[0], 1), (x[1],)], key=lambda item: item[0])",
        "max([(x[0], 1), [x[1], 2]], key=lambda item: item[0])",
    ],
)
def test_tuples_by_a_key(expression: str) -> None:
    """E1: the parts of the chosen tuple stay together."""
    function = function_of(f"def f(x):\n    return {expression}")
    assert_same(function, tensor(2.0, 1.0, 3.0), tensor(1.0, 2.0, 0.5), grad=False)
