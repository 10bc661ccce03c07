"""Lists whose length the run decides, and comprehensions (rules D1, D2, C6)."""

# ruff: noqa: B007, B023, B905, RUF005 - the functions are written as users write

from __future__ import annotations

import collections
import heapq

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
N = [scalar(n) for n in (3, 0, 1)]


def counts(*others: object) -> list[tuple[object, ...]]:
    """The inputs ``(X, n)`` for three, no and one trip."""
    return [(X, n, *others) for n in N]


GROWN = """
def f(x, n):
    out = [x]
    for i in range(n):
        out.append(x * i)
        x = x * 1.5
    {after}
"""
"""A list that a static loop grows, and what is done with it afterwards."""


@pytest.mark.sampled(2)
@pytest.mark.row(74)
@pytest.mark.parametrize(
    "after",
    [
        "return x",
        "return out",
        "return paddle.stack(out), x",
        "return out[0], out[-1], len(out)",
        "return out[1:], out[:-1], out[::2], out[::-1]",
        "return out.copy(), list(out), tuple(out)",
        "return [v * 2 for v in out], sum(out)",
        "return out + [x], [x] + out, out * 2",
        "return [v for v in reversed(out)]",
        "return [v * i for i, v in enumerate(out)]",
    ],
)
def test_reading_a_list_that_a_loop_has_grown(after: str) -> None:
    """D1: value and gradient, whether anybody reads the list or not."""
    assert_same(function_of(GROWN.format(after=after)), *counts())


@pytest.mark.sampled(3, also=["True-out.reverse()"])
@pytest.mark.row(76)
@pytest.mark.parametrize(
    "change",
    [
        "out.insert(0, x)",
        "out.pop(0)",
        "last = out.pop()",
        "out[-1] = x",
        "out[0:1] = [x, x * 2]",
        "del out[-1]",
        "del out[:1]",
        "out.clear()",
        "out.reverse()",
        "out += [x, x * 3]",
        "out.extend(out)",
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_changing_a_list_that_a_loop_grows(change: str, inside: bool) -> None:
    """D1: in the loop, and behind it."""
    text = f"""
    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x * i)
            x = x * 1.5
            {change if inside else "pass"}
            out.append(x)
        {"pass" if inside else change}
        return out, len(out), x
    """
    assert_same(function_of(text), *counts())


@pytest.mark.row(76)
def test_changing_a_list_in_a_branch_of_a_loop() -> None:
    """D1, B4: what only some trips do."""

    def f(x, n):
        stack = [x]
        for i in range(n):
            if x.sum() > 8:
                x = x * 0.5 + stack.pop(0)
                stack.append(x)
            else:
                stack.append(x * 2)
                x = x + stack[-1]
        return stack, x

    assert_same(f, *counts(), (X, scalar(6)))


@pytest.mark.row(14, 76)
def test_asking_a_list_of_numbers() -> None:
    """D1: in, index, count, sorted, on items of one element."""

    def f(x, n):
        out = []
        for i in range(n):
            out.append(x.sum() * (i - 1) * (i - 1))
        found = x.sum() in out
        return found, out.count(x.sum()), sorted(out)

    assert_same(f, *counts(), grad=False)


def test_what_is_in_a_list_that_a_loop_grows() -> None:
    """D1: numbers of other types, ``None``, and what has several elements: refused in dygraph."""

    def f(x, n):
        out = []
        for i in range(n):
            out.append(i)
        return 1 in out, 1.0 in out, 1.5 in out, 7 in out, None in out, "a" in out, 2 not in out

    assert_same(f, *counts(), grad=False)

    def g(x, n):
        out = []
        for i in range(n):
            out.append(x * i)
        return x in out

    with pytest.raises(AssertionError, match="one element"):
        g(X, scalar(2))
    with pytest.raises(ContainerInGraphError, match="needs one element"):
        d2s.to_static(g)(X, scalar(2))


def test_a_list_that_becomes_empty_and_grows_again() -> None:
    """D1: Paddle does not hand a tensor without elements out of a loop; the list does."""

    def f(x, n):
        out = [x]
        total = x * 0
        while len(out) > 0:
            total = total * 0.5 + out.pop()
        for i in range(n):
            out.append(total)
        return total, len(out), out

    assert_same(f, *counts())


@pytest.mark.row(78)
def test_a_list_known_under_two_names() -> None:
    """D1, A1: the identity stays."""

    def f(x, n):
        out = []
        view = out
        record = {"steps": out}
        for i in range(n):
            out.append(x)
            x = x + 1
        view.append(x * 10)
        return len(record["steps"]), out[-1], view is out

    assert_same(f, *counts())


def test_binding_the_name_to_other_lists_in_a_loop() -> None:
    """D1: each trip makes a new list."""

    def f(x, n):
        window = [x, x * 2, x * 3]
        for i in range(n):
            window = window[1:] + [window[0] * 0.5 + window[-1]]
        return paddle.stack(window)

    assert_same(f, *counts())


def test_items_with_a_structure() -> None:
    """D3: tuples and dicts of tensors and numbers."""

    def f(x, n):
        pairs, entries = [], []
        for i in range(n):
            pairs.append((x, i))
            entries.append({"x": x * 2, "twice": i * 2})
            x = x + 1
        return pairs, [e["x"] for e in entries], [e["twice"] for e in entries]

    assert_same(f, *counts())


def test_an_item_is_changed_in_place() -> None:
    """D3: the list has the change."""

    def f(x, n):
        out = []
        for i in range(n):
            out.append([x, x])
        out[0][1] = x * 2
        return out

    assert_same(f, (X, scalar(2)), (X, scalar(3)))


@pytest.mark.row(74)
def test_reading_a_list_in_a_second_loop() -> None:
    """D1, C7: stacked in every trip, indexed by the counter, iterated."""

    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x * (i + 1))
        for i in range(n):
            x = x + paddle.stack(out).sum(0) * 0.1 + out[i]
        for v in out:
            x = x * 0.5 + v
        return x

    assert_same(f, *counts())


@pytest.mark.sampled(
    3,
    also=[
        "sum(row for row in x if row.sum() > 0)",
        "any(row.sum() > 3 for row in x), all(row.sum() > 3 for row in x)",
    ],
)
@pytest.mark.row(49)
@pytest.mark.parametrize(
    "result",
    [
        "[row * 2 for row in x]",
        "[row * 2 for row in x if row.sum() > 0]",
        "[(i, row) for i, row in enumerate(x) if row[0] > 0]",
        "[x.sum() * i for i in range(n)]",
        "sum(row for row in x if row.sum() > 0)",
        "any(row.sum() > 3 for row in x), all(row.sum() > 3 for row in x)",
        "paddle.stack([row for row in x])",
        "[v for v in [x.sum(), -x.sum(), x.max()] if v > 0]",
        "sum(v for v in [x.sum(), -x.sum(), x.max()] if v > 0)",
        "any(v > 5 for v in [x.sum(), x.max()] if v > 0)",
        "[[v * w for w in x[0]] for v in x[1]]",
    ],
)
def test_comprehensions(result: str) -> None:
    """C6: over a tensor of unknown length, over a range, with filters that are tensors."""
    function = function_of(f"def f(x, n):\n    return {result}")
    x = paddle.to_tensor([[1.0, -2.0], [3.0, 1.5]])
    assert_same(function, (x, scalar(2)), (-x, scalar(0)), (x * 0.1, scalar(1)))
    spec = [paddle.static.InputSpec([None, 2], "float32"), paddle.static.InputSpec([], "int64")]
    static = d2s.to_static(function, input_spec=spec)
    assert_same(function, (x, scalar(2)), (-x, scalar(1)), static=static)


@pytest.mark.row(49)
def test_a_walrus_in_a_comprehension() -> None:
    """C6: the name is one of the function around."""

    def f(x, n):
        total = x * 0
        sums = [total := total + x * i for i in range(n)]
        return sums, total

    assert_same(f, *counts())


def test_comprehensions_on_python_values_are_pythons() -> None:
    """A1: own scope of the target, order, laziness, the walrus."""

    def f(things):
        i = "mine"
        order = []
        kept = [order.append(("use", i)) or i for i in things if order.append(("test", i)) or i]
        lazy = (order.append(("late", i)) or i for i in things)
        first = next(lazy)
        last = [last := i for i in things if i][-1]
        functions = [lambda: i for i in things]
        pairs = [a + b for a, b in zip(things, things)]
        return i, order, kept, first, last, [g() for g in functions], pairs

    assert d2s.to_static(f)([1, 0, 2]) == f([1, 0, 2])


def test_arguments_out_of_a_list_of_unknown_length() -> None:
    """D1: as many as the run has."""

    def f(x, n):
        out = [x]
        for i in range(n):
            out.append(x + i)
        return paddle.maximum(*out)

    assert_same(f, (X, scalar(1)))


def test_a_list_that_grows_while_it_is_iterated() -> None:
    """D1: under a tensor condition that is refused, not unrolled for ever."""

    def f(parts, limit):
        for part in parts:
            if part > limit:
                parts.append(part / 2)
        return len(parts)

    with pytest.raises(ContainerInGraphError, match="while it is iterated"):
        d2s.to_static(f)([scalar(3.0)], scalar(1.0))


RETURNED = """
def f(x, n):
    i = 0
    while i < n:
        x = x * 1.5
        if x.sum() > 10:
            return {value}
        i += 1
    return {last}
"""


@pytest.mark.parametrize(
    ("value", "last"),
    [
        ("x, i", "x, i"),
        ("[x, x * 2]", "[x, x * 3]"),
        ("{'x': x, 'at': i}", "{'x': x, 'at': i}"),
        ("(x, i)", "None"),
        ("'early', x", "'late', x"),
    ],
)
def test_returning_a_structure_out_of_a_loop(value: str, last: str) -> None:
    """C1, B6: which return it was, and the leaves of each."""
    assert_same(function_of(RETURNED.format(value=value, last=last)), *counts(), (X, scalar(9)))


def test_a_loop_that_switches_between_constants() -> None:
    """C2: text, and a structure that is bound in the loop first."""

    def f(x, n):
        mode = "up"
        for i in range(n):
            if x.sum() > 10:
                mode = "down"
            x = x * 2 if mode == "up" else x * 0.5
            pair = (x, x + 1)
        if n > 0:
            x = pair[0] + pair[1]
        return x, mode

    assert_same(f, *counts(), (X, scalar(6)))


@pytest.mark.parametrize("call", ["heapq.heapify(found)", "heapq.heappush(found, 1.0)"])
def test_a_function_in_c_that_takes_a_list_alone(call: str) -> None:
    """D1: the heap is the one that Python makes."""
    function = function_of(
        f"""
        def f(x, n):
            found = []
            i = 0
            while i < n:
                found.append(float(x[i]))
                i += 1
            {call}
            return found
        """,
        heapq=heapq,
    )
    assert_same(function, (tensor(3.0, 1.0, 2.0), scalar(2)), grad=False)


def test_a_named_tuple_that_a_branch_appends() -> None:
    """D3: where the loop carries arrays, the item leaves the branch with its class."""
    function = function_of(
        """
        def f(x, n):
            i = paddle.zeros([], "int64")
            found = []
            while i < n:
                if x[i] > 1:
                    found.append(Pair(x[i], 2))
                i = i + 1
            total = x.sum() * 0
            for pair in found:
                total = total + pair.value * pair.times
            return total
        """,
        Pair=collections.namedtuple("Pair", "value times"),
    )
    assert_same(function, (tensor(1.0, 2.0, 3.0), scalar(3)), (tensor(0.0, 1.0), scalar(2)))


PICKED_OF_SEVERAL = {
    "position": "paddle.argmax(x)",
    "number": "0 if x[1] > 2 else 1",
}


@pytest.mark.parametrize("where", PICKED_OF_SEVERAL.values(), ids=PICKED_OF_SEVERAL)
def test_an_item_that_the_run_picks_out_of_one_of_several_lists_is_changed_alone(where) -> None:
    """D1: a list that lies in both of two lists gets the item only where it is the one."""
    f = function_of(
        f"""
def f(x):
    bins = [[9], [8]]
    if x[0] > 2:
        bins.append([1])
    where = {where}
    bins[where].append(6)
    return bins
""",
        "f",
        paddle=paddle,
    )
    calls = [paddle.to_tensor(each) for each in ([1.0, 2.0], [3.0, 1.0], [1.0, 3.0], [3.0, 3.0])]
    assert_same(f, *calls)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "use",
    [
        "sum(w for w, _, _ in kept)",
        "[b for _, _, b in kept]",
        "[_ for _, _, _ in kept]",
        "[a for _, a, _ in kept if a > 0]",
        "[(a, c) for a, (_, _), (_, c) in [(w, (w, b), (a, b)) for w, a, b in kept]]",
    ],
)
def test_variables_of_a_target_that_nobody_reads(use: str) -> None:
    """C6: ``_`` may stand there several times; the last one is what it means."""
    function = function_of(
        f"""
        def f(x):
            kept = []
            for i in range(3):
                if x[i] < 0:
                    continue
                kept.append((5 + i, x[i] - 1, x[i] * 2))
            return {use}
        """,
        "f",
    )
    assert_same(function, tensor(1.0, 2.0, 3.0), tensor(1.0, -2.0, 0.5), tensor(-1.0, -1.0, -1.0))


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_items_of_several_sizes_are_joined_in_dygraph() -> None:
    """D1: by default as dygraph joins them; one program refuses the run, where sizes differ."""
    function = function_of(
        """
        def f(x, count):
            parts = []
            for i in range(count):
                parts.append(x[: i + 1])
            parts.append(x)
            return paddle.concat(parts), [part.max() for part in parts]
        """
    )
    static = d2s.to_static(function, full_graph=False)
    x = paddle.to_tensor([1.0, 3.0, 2.0, 5.0])
    for number in (3, 0, 1, 4, 3):
        count = paddle.to_tensor(number)
        (want, peaks), (got, mine) = function(x, count), static(x, count)
        assert got.tolist() == want.tolist()
        assert [each.item() for each in mine] == [each.item() for each in peaks]
