"""Positions that are no arguments: tensors in attributes, globals and closures index tensors.

Paddle asks each part of a key whether it equals ``...``, and takes tensors of dygraph, and values
behind a ``...``, for something else than positions.
"""

from __future__ import annotations

from types import SimpleNamespace

import paddle
import pytest

from tests.helpers import assert_same

TABLE = paddle.arange(9, dtype="float32").reshape([3, 3])
ROWS = paddle.to_tensor([2, 0])

KEYS = {
    "number": lambda held: held.one,
    "from the end": lambda held: held.last,
    "slice": lambda held: slice(held.one, held.two),
    "from": lambda held: slice(held.one, None),
    "mask": lambda held: held.mask,
    "rows": lambda held: held.rows,
    "a global": lambda held: ROWS,
    "ellipsis, number": lambda held: (..., held.one),
    "ellipsis, from the end": lambda held: (..., held.last),
    "two numbers": lambda held: (held.one, held.two),
    "number, slice": lambda held: (held.last, slice(held.one, held.two)),
    "new axis": lambda held: (None, held.one),
    "a list": lambda held: [held.one, held.two],
    "rows, number": lambda held: (held.rows, held.one),
    "rows around an ellipsis": lambda held: (held.rows, ..., held.rows),
}


def made():
    return SimpleNamespace(
        one=paddle.to_tensor(1),
        two=paddle.to_tensor(2),
        last=paddle.to_tensor(-1),
        mask=paddle.to_tensor([True, False, True]),
        rows=paddle.to_tensor([2, 0]),
    )


@pytest.mark.parametrize("key", KEYS)
def test_what_is_read(key) -> None:
    """A1, D2: a position that the function finds is that of dygraph, with the gradient."""
    held, at = made(), KEYS[key]

    def taken(x):
        return x[at(held)] * 2

    assert_same(taken, TABLE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("item", [5.0, paddle.to_tensor(5.0)], ids=["number", "tensor"])
@pytest.mark.parametrize("key", KEYS)
def test_what_is_written(key, item) -> None:
    """A1, D2: so is one that is written to."""
    held, at = made(), KEYS[key]

    def written(x):
        y = x * 1
        y[at(held)] = item
        return y

    assert_same(written, TABLE)


@pytest.mark.parametrize("key", KEYS)
def test_positions_that_are_made(key) -> None:
    """A1, D2: so are those that the program makes of the same tensors."""
    held, at = made(), KEYS[key]

    def both(x, zero):
        moved = SimpleNamespace(
            one=held.one + zero,
            two=held.two + zero,
            last=held.last + zero,
            mask=paddle.logical_or(held.mask, zero > 0),
            rows=held.rows + zero,
        )
        y = x * 1
        y[at(moved)] = 7.0
        return x[at(moved)], y

    assert_same(both, TABLE, paddle.to_tensor(0))


def test_a_table_that_is_no_argument() -> None:
    """A1, D2: the tensor that is indexed may be a global, too."""

    def looked_up(at):
        return TABLE[at] * 2, TABLE[at:], TABLE[:, at], TABLE[at, ROWS], TABLE[..., at]

    assert_same(looked_up, paddle.to_tensor(1))


class Heap:
    def __init__(self):
        self.data = paddle.full([8], 9.0)
        self.size = paddle.zeros([], dtype="int64")

    def push(self, value):
        at = self.size
        self.data[at] = value
        self.size = at + 1
        return self.data[self.size - 1] + self.data[at]


def test_a_heap_of_its_own() -> None:
    """A1, E2: a position that is state counts on over the calls."""
    import d2s

    heap, other = Heap(), Heap()
    push = d2s.to_static(heap.push, full_graph=True)
    for number in (3.0, 1.0, 2.0):
        got, want = push(paddle.to_tensor(number)), other.push(paddle.to_tensor(number))
        assert float(got) == float(want)
    assert heap.data.tolist() == other.data.tolist()
    assert int(heap.size) == 3
