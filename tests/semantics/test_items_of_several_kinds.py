"""Lists of the run whose items differ: in structure, in sizes, in length (rules D1, D3)."""

from __future__ import annotations

import textwrap

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of

NUMBERS = (
    paddle.to_tensor([1.0, 3.0, 5.0, 2.0, 6.0, 4.0], stop_gradient=False),
    paddle.to_tensor([3.0, 3.0, 1.0, 1.0, 9.0, 3.0], stop_gradient=False),
)


GROWN = """
def f(x, n):
    out = {begin}
    i = 0
    while i < n:
{trip}
        i = i + 1
    return out, len(out)
"""


@pytest.mark.parametrize(
    ("begin", "trip"),
    [
        ("[]", "out.append((i, 'big', x[i]) if x[i] > 2 else 'none')"),
        ("[]", "out.append(x[i] if x[i] > 2 else None)"),
        ("[]", "out.append([i] if x[i] > 2 else [i, int(x[i])])"),
        ("[]", "out.append({'a': x[i]} if x[i] > 2 else [x[i]])"),
        ("[]", "out.append(x[i] if x[i] > 2 else 7)\nout.append(1.5)"),
        ("[x[:1]]", "out.append(x[i:])"),
        ("[]", "out.append(x[:i])\nout.append(x[0])"),
        (
            "[]",
            "row = []\nj = 0\nwhile j < x[i]:\n    row.append(x[i] * j)\n    j = j + 1\n"
            "out.append(row)",
        ),
    ],
)
def test_each_item_is_what_it_was(begin: str, trip: str) -> None:
    """D3: behind the loop, also where there was no trip."""
    function = function_of(GROWN.format(begin=begin, trip=textwrap.indent(trip, " " * 8)))
    for count in (0, 2, 5):
        assert_same(function, *((x, paddle.to_tensor(count)) for x in NUMBERS), grad=False)


def test_gradients_go_to_items_of_several_sizes() -> None:
    """C7, D3: through what they are filled up with nothing goes."""

    def f(x, n):
        out = [x[:1] * 2]
        i = 1
        while i < n:
            out.append(x[i:] * i)
            i = i + 1
        return out[0].sum() + out[-1].square().sum()

    assert_same(f, *((x, paddle.to_tensor(4)) for x in NUMBERS))


def test_unrolled_trips_join_lists_of_several_kinds() -> None:
    """B4, D3: many branches that append are one list, not one for each path."""

    def f(x):
        events = []
        for day in range(6):
            if x[day] > 2:
                events.append((day, "big", int(x[day])))
            if x[day] < 5:
                events.append((day, "small", x[day : day + 2].tolist()))
        return events, len(events)

    assert_same(f, *NUMBERS, grad=False)


def test_an_item_is_changed_in_place() -> None:
    """D1, D3: the list has what was put into its item."""

    def f(x, n):
        bins = []
        i = 0
        while i < n:
            if i < 2:
                bins.append([i])
            else:
                which = int(x[i]) % 2
                bins[which].append(i)
                bins[which][0] = 7
            i = i + 1
        return bins, len(bins)

    for count in (1, 4, 6):
        assert_same(f, *((x, paddle.to_tensor(count)) for x in NUMBERS), grad=False)


@pytest.mark.parametrize(
    ("trip", "after"),
    [
        ("pair = [n, 1]\nout.append(pair)\npair[1] = 5", "return out"),
        ("whole[1] = n\nout.append(whole)", "return out"),
        ("row.append(n)\nout.append(row)", "return out"),
        ("out.append(whole)", "whole[1] = 4\nreturn out"),
        ("out.append(whole)", "whole.append(4)\nreturn out"),
        ("out.append([n])", "a, b = out[0], out[int(x)]\na.append(5)\nreturn a, b"),
        ("out.append([n])", "out.append(out[0])\nout[0].append(5)\nreturn out"),
    ],
)
def test_a_change_that_the_list_would_not_see(trip: str, after: str) -> None:
    """B4, D3: the list of the run keeps what was put into it, so that is refused, never lost."""
    text = "def f(x):\n    out, row, whole = [], [], [x, 1]\n    n = paddle.zeros([])\n"
    text += "    while n < 3:\n"
    text += (
        textwrap.indent(trip, " " * 8) + "\n        n = n + 1\n" + textwrap.indent(after, " " * 4)
    )
    with pytest.raises(ContainerInGraphError):
        d2s.to_static(function_of(text))(paddle.to_tensor(1.0))


def test_a_list_in_itself() -> None:
    """D3: refused with the line."""

    def f(n):
        out = []
        while n > 0:
            out.append(n)
            n = n - 1
        out.append(out)
        return len(out)

    with pytest.raises(ContainerInGraphError, match="is put into itself"):
        d2s.to_static(f)(paddle.to_tensor(2))
