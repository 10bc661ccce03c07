"""``sorted`` of tensors some of which are NaN: Python's order, however odd it is (E1)."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import paddle
import pytest

import d2s
from d2s.runtime.python import orders
from tests.helpers import assert_same, function_of, tensor

NAN = float("nan")

ROWS: list[Any] = [
    *itertools.permutations((NAN, 2.0, 1.0, 3.0)),
    *itertools.permutations((NAN, NAN, 1.0, 2.0)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("items", ["x", "[x[0], x[1], x[2], x[3]]", "[x[0], x[1]]"])
def test_a_few(items: str, reverse: bool) -> None:
    """E1: in all their orders."""
    f = function_of(f"def f(x):\n    return sorted({items}, reverse={reverse})")
    assert_same(f, *((tensor(*row),) for row in ROWS[::3]), grad=False)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [10, pytest.param(20, marks=pytest.mark.slow)])
def test_many(count: int, reverse: bool) -> None:
    """E1: with runs up and down before the first NaN, and gradients."""
    f = function_of(
        f"def f(x):\n    y = sorted(x, reverse={reverse})\n    return y[0] * y[-1] + y[3]"
    )
    rows = [
        [(7.0 * i + seed) % 11 if (i + seed) % 5 else NAN for i in range(count)]
        for seed in range(8)
    ]
    up = [float(i) for i in range(count - 2)]
    rows += [[*up, NAN, 3.0], [*up[::-1], NAN, 3.0], [*up, 1.0, 2.0]]
    assert_same(f, *((tensor(*row),) for row in rows))


def since_3_13(items: list[float]) -> list[int]:
    """The positions of some items in the order of ``list.sort`` since Python 3.13."""
    count = len(items)
    falls = [i > 0 and items[i] < items[i - 1] for i in range(count)]
    order = [*range(count)]
    run = low = next((i for i in order if falls[i]), count)
    if low < count and not (low > 1 and items[0] < items[low - 1]):
        rises = (i for i in order[low + 1 :] if not falls[i] and items[i - 1] < items[i])
        end = next(rises, count)
        blocks = [*itertools.accumulate(falls)]
        order[:end] = sorted(range(end), key=lambda i: (-blocks[i], i))
        run = end
        if end < count and not items[end] < items[low - 1]:
            run = next((i for i in range(end + 1, count) if falls[i]), count)
    for start in range(run, count):
        at, high, moved = 0, start, order.pop(start)
        while at < high:
            middle = (at + high) // 2
            if items[moved] < items[order[middle]]:
                high = middle
            else:
                at = middle + 1
        order.insert(at, moved)
    return order


WITH_EQUALS: list[list[float]] = [
    [5.0, 4.0, 4.0, NAN, 3.0, 3.0, 7.0, 8.0, 2.0, NAN, 9.0, 1.0],
    [NAN, NAN, 5.0, 4.0, NAN, 4.0, 2.0, 6.0, 5.0, 5.0, 1.0, NAN],
    [2.0, 2.0, 2.0, 1.0, 1.0, NAN, 0.0, 2.0, 3.0, 3.0, NAN, 1.0],
    [1.0, 2.0, NAN, 2.0, 1.0, 3.0, 3.0, 2.0, 2.0, NAN, NAN, 0.0],
    [*(float(i) for i in range(10, 0, -1)), NAN, 4.0],
    [*(float(i) for i in range(11)), NAN],
]


def test_the_run_at_the_beginning_since_python_3_13(monkeypatch: pytest.MonkeyPatch) -> None:
    """E1: where it goes down it may have equals, and goes on once it is turned around."""
    monkeypatch.setattr(orders, "SEES_EQUALS", True)
    f = function_of("def f(x):\n    return sorted(x, key=lambda row: row[0])")
    static = d2s.to_static(f, full_graph=True)
    for items in WITH_EQUALS:
        wanted = since_3_13(items)
        if sys.version_info >= (3, 13):
            assert wanted == sorted(range(len(items)), key=items.__getitem__)
        rows = paddle.to_tensor([[item, float(at)] for at, item in enumerate(items)])
        assert [int(row[1]) for row in static(rows)] == wanted
