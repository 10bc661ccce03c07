"""What a static loop carries that is no plain tensor (rules B4, C2, C4, D1, D2)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, LoopMismatchError
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE = tensor(1.0, 2.0), tensor(-1.0, 0.0)


def test_one_of_several_constants_at_the_beginning() -> None:
    """B4: which one it is changes in the loop."""

    def f(x):
        mode = "a" if x.sum() > 0 else "b"
        n = paddle.zeros([])
        while n < 3:
            if n > 1:
                mode = "c"
            x = x + (1 if mode == "a" else 2 if mode == "b" else 3)
            n = n + 1
        return x, mode

    assert_same(f, POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    "change", ["xs.pop()", "xs = xs[1:]", "xs = xs[:-1]", "del xs[0]", "xs.append(x + n)"]
)
def test_a_list_that_becomes_shorter_or_longer(change: str) -> None:
    """D1: how many items it has is known to the run."""
    function = function_of(f"""
    def f(x):
        xs = [x, x * 2, x * 3, x * 4]
        n = paddle.zeros([])
        while n < x.sum():
            {change}
            n = n + 1
        return len(xs), xs[0], paddle.stack(xs)
    """)
    assert_same(function, POSITIVE, NEGATIVE)


def test_what_the_items_of_a_list_that_grows_are() -> None:
    """D3: each is what it was, a number or a tensor."""

    def f(x):
        xs = [1, x]
        n = paddle.zeros([])
        while n < x.sum():
            xs = [*xs, x + n]
            n = n + 1
        return xs, xs[-1]

    assert_same(f, POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    ("change", "after", "cure"),
    [
        ("d = [x]", "list of 1", "give it its final form before the loop"),
    ],
)
def test_a_dict_that_gets_another_form(change: str, after: str, cure: str) -> None:
    """D2: the table has what it was before the loop, and what a trip makes of it."""
    function = function_of(f"""
    def f(x):
        d = {{"a": x, "b": x}}
        while x.sum() < 9:
            {change}
            x = x * 2
        return d
    """)
    with pytest.raises(ContainerInGraphError, match=cure) as caught:
        d2s.to_static(function)(POSITIVE)
    rows = [(row.where, row.type) for row in caught.value.table]
    assert rows == [("before the loop", "dict of 'a', 'b'"), ("after a trip", after)]


def test_one_of_several_that_becomes_something_else() -> None:
    """B4: what no program can hold is refused where it is set, with what it was."""

    def f(x):
        mode = "a" if x.sum() > 0 else "b"
        n = paddle.zeros([])
        while n < 3:
            if n > 1:
                mode = object()
            n = n + 1
        return x, mode

    with pytest.raises(LoopMismatchError, match="the loop changes 'mode' to one of several"):
        d2s.to_static(f)(POSITIVE)


def test_a_size_that_is_read_in_the_trip_after_the_one_that_changes_it() -> None:
    """C4: what was not there before the loop, and grows in it, has the size of this trip."""

    def f(x, n):
        y = None
        total = x.sum()
        for i in range(n):
            if y is not None:
                total = total + y.shape[0] * 10 + i
            y = x if y is None else paddle.concat([y, x])
        return total

    x = tensor(1, 2, dtype="int64")
    assert_same(f, *((x, paddle.to_tensor(n)) for n in (0, 1, 3, 5)))
