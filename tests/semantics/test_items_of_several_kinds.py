"""Lists of the run whose items differ: in structure, in sizes, in length (rules D1, D3)."""

from __future__ import annotations

import textwrap
from typing import Any

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


@pytest.mark.sampled(2)
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
    counts = [paddle.to_tensor(count) for count in (0, 2, 5)]
    assert_same(function, *((x, count) for count in counts for x in NUMBERS), grad=False)


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

    counts = [paddle.to_tensor(count) for count in (1, 4, 6)]
    assert_same(f, *((x, count) for count in counts for x in NUMBERS), grad=False)


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


@pytest.mark.parametrize(
    "item",
    [
        "(*last, int(k))",
        "(*last, 2.5) if last is not None and x[k % 6] > 2 else None",
        "(*last, x[k % 6] * 2)",
    ],
)
def test_tuples_of_many_lengths(item: str) -> None:
    """D3: they are tuples of any length, whose items are as they were."""
    function = function_of(f"""
def f(x, n):
    out = [()]
    k = 0
    while k < n:
        last = out[-1]
        out.append({item})
        k = k + 1
    return out, [found for found in out if found is not None and len(found) > 3]
""")
    counts = [paddle.to_tensor(count) for count in (0, 2, 9)]
    assert_same(function, *((NUMBERS[0], count) for count in counts), grad=False)


PUT = """
def f(x):
    rows, good, bad = [], [(x[0], [5, 5])], []
    for k in range((x > -9).sum()):
        rows.append((x[k], [int(k), 3]))
    for value, row in rows:
        if value > 3:
            good.append((value, row))
        {other}
    {change}
    return rows, good, bad
"""


@pytest.mark.parametrize("other", ["", "else:\n            good.append((value, [7]))"])
def test_a_list_of_one_list_that_a_branch_puts_into_another(other: str) -> None:
    """D3: the item of a list of the run, appended to a second one on one side, or on both."""
    for change in ("", "good[-1] = (x[1], [8])"):
        assert_same(function_of(PUT.format(other=other, change=change)), *NUMBERS, grad=False)


@pytest.mark.parametrize("other", ["", "else:\n            good.append((value, [7]))"])
@pytest.mark.parametrize("change", ["good[-1][1][0] = 7", "rows[0][1].append(7)"])
def test_such_a_list_changed_in_one_of_the_two(other: str, change: str) -> None:
    """D3: the list is one object in dygraph, so that the other one would have to see it."""
    function = function_of(PUT.format(other=other, change=change))
    with pytest.raises(ContainerInGraphError, match="D2S207"):
        d2s.to_static(function, full_graph=True)(NUMBERS[0])
    converted = d2s.to_static(function, full_graph=False)
    for x in NUMBERS:
        assert str(converted(x)) == str(function(x))


ITEMS = """
def f(x):
    out = []
    for i in range((x > 2).sum() + 1):
        out.append([int(x[i] > 2), i])
    {leave}
"""


@pytest.mark.parametrize(
    "leave",
    [
        "return out[-1]",
        "best = out[0]\n    return best, {'best': best}, [out[-1]]",
        "return max(out), type(out[0]) is list",
        "return out, list(out[-1])",
        "best = [{'a': row, 'n': 1} for row in out][0]\n    return best, best['a']",
    ],
)
def test_an_item_that_is_a_list_is_given_back(leave: str) -> None:
    """D1: as a list, as it is in dygraph."""
    assert_same(function_of(ITEMS.format(leave=leave)), *NUMBERS, grad=False)


@pytest.mark.parametrize("full_graph", [True, False])
def test_such_an_item_beside_the_list_that_it_is_in(full_graph: bool) -> None:
    """D3: the two are one object, as in dygraph."""
    function = function_of(ITEMS.format(leave="return out, out[-1], {'first': out[0]}, out[-1]"))
    converted = d2s.to_static(function, full_graph=full_graph)
    for x in NUMBERS:
        out, last, named, again = converted(x)
        assert (out, last, named, again) == function(x)
        assert out[-1] is last is again
        assert out[0] is named["first"]


@pytest.mark.parametrize(
    ("leave", "instead"),
    [
        ("return rows, rows[-1][1]", "return rows, copy.deepcopy(rows[-1][1])"),
        ("best = out[-1]\n    out.insert(0, [8])\n    return out, best", "return out[-1][:]"),
        ("kept.extend(out)\n    return kept[-1]", "kept.extend(out)\n    return list(kept[-1])"),
    ],
)
def test_what_would_be_a_copy_beside_the_list_is_refused(leave: str, instead: str) -> None:
    """D3: a part of an item, an item of a list that has changed since, or of one from outside."""

    def made(leave: str) -> Any:
        text = ITEMS.format(leave=f"rows = [(1, row) for row in out]\n    {leave}")
        return function_of(f"import copy\n{text}", "f", kept=[])

    with pytest.raises(ContainerInGraphError, match=r"a part of .* is given back or kept"):
        d2s.to_static(made(leave), full_graph=True)(NUMBERS[0])
    for text in (leave, instead):
        want, converted = made(text), d2s.to_static(made(text), full_graph=text is instead)
        for x in NUMBERS:
            assert str(converted(x)) == str(want(x))


@pytest.mark.parametrize(
    "ask",
    [
        "out[-1] == best, [1, 2] == best, best != out[0], best == (1, 2)",
        "best in out, [1, 2] in out, out.index(best), out.count(best)",
        "best.index(best[1]), best.count(1), 1 in best, best[(x > 0).sum() - 6]",
        "{'k': best}, best + best, [*best, 1], best[::-1], len(best), not best",
    ],
)
def test_such_an_item_is_asked_as_a_list(ask: str) -> None:
    """D3: it is equal to what has the same items."""
    assert_same(
        function_of(ITEMS.format(leave=f"best = out[-1]\n    return {ask}")), *NUMBERS, grad=False
    )


@pytest.mark.parametrize(
    ("item", "cause", "instead"),
    [
        ("(j for j in range(i))", "a value of type 'generator'", "list(j for j in range(i))"),
        ("range(i)", "a value of type 'range'", "list(range(i))"),
        ("slice(i, i + 2)", "a value of type 'slice'", "(i, i + 2)"),
        ("'-'.join(['a' for _ in range(i)])", "a text of which", "['a' for _ in range(i)]"),
    ],
)
def test_what_cannot_be_an_item_is_called_what_it_is(item: str, cause: str, instead: str) -> None:
    """D3: by the class that it has in dygraph; what the error proposes works."""

    def made(item: str) -> object:
        return function_of(f"""
def f(x):
    out = []
    for i in range((x > 2).sum()):
        out.append({item})
    return out
""")

    with pytest.raises(ContainerInGraphError, match=f"{cause}.*is put into a list"):
        d2s.to_static(made(item), full_graph=True)(NUMBERS[0])
    assert_same(made(instead), *NUMBERS, grad=False)
