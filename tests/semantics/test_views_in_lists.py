"""What a list of the run holds is the tensor itself, or a view: a change is seen in it (B4, D1)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, scalar

TABLE = paddle.arange(12, dtype="float32").reshape([4, 3])

APPENDS = {
    "while": "rows, i = [], 0\nwhile i < n:\n    rows.append(y[i])\n    i += 1",
    "for": "rows = []\nfor i in range(n):\n    rows.append(y[i])",
    "comprehension": "rows = [y[i] for i in range(n)]",
    "branches": "rows = []\nfor i in range(4):\n    if y[i].sum() >= 0:\n        rows.append(y[i])",
    "popping": (
        "rows, i = [], 0\nwhile i < n:\n    rows.append(y[i])\n    if len(rows) > 5:\n"
        "        rows.pop(0)\n    i += 1"
    ),
    "mask": "rows = list(y[y[:, 0] >= 0])\nrows.append(y[0])",
}

CHANGES = ["y.add_(paddle.to_tensor(9.0))", "y[0] = 5.0", "y.zero_()", "rows[0].add_(y[0] * 0 + 1)"]


def _body(*parts: str) -> str:
    lines = "\n".join(parts).splitlines()
    return "\n".join(["def f(x, n):", *(f"    {line}" for line in lines)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("whose", ["y = x", "y = x * 2"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("append", APPENDS)
def test_a_change_behind_the_loop_is_not_missed(append: str, change: str, whose: str) -> None:
    """B4: a program that kept the old rows would be wrong; it is refused."""
    text = _body(whose, APPENDS[append], change, "return rows[0] + 1, rows")
    with pytest.raises(InplaceError):
        d2s.to_static(function_of(text))(TABLE.clone(), scalar(2))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("change", CHANGES[:3])
@pytest.mark.parametrize(
    "taken",
    [
        "kept = paddle.stack(rows)",
        "kept = [row * 1 for row in rows]",
        "kept = float(rows[1].sum())",
        "kept = paddle.concat(rows)",
    ],
)
@pytest.mark.parametrize("append", ["while", "for", "comprehension"])
def test_what_was_computed_before_the_change_stays(append: str, taken: str, change: str) -> None:
    """B4: a stack of the rows, or anything computed of them, shares nothing with them."""
    function = function_of(_body("y = x * 2", APPENDS[append], taken, change, "return kept, y"))
    assert_same(function, (TABLE, scalar(2)), (TABLE, scalar(3)), grad=False)


@pytest.mark.parametrize(
    "item", ["y[i].clone()", "y[i] + 1", "float(y[i].sum())", "y[i, 0].item()", "(i, y[i] * 2)"]
)
def test_copies_and_numbers_share_nothing(item: str) -> None:
    """D1: what is appended is no view, so a change of the table is nothing to the list."""
    function = function_of(
        f"""
        def f(x, n):
            y = x * 2
            rows = []
            i = 0
            while i < n:
                y[i] = y[i] * 2
                rows.append({item})
                i += 1
            y.add_(paddle.to_tensor(10.0))
            return rows, y
        """
    )
    assert_same(function, (TABLE, scalar(2)), (TABLE, scalar(3)), grad=False)
