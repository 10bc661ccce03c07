"""Items of tensors assigned in static loops, as algorithms on arrays do (rules A1, B4, C7)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, scalar, tensor

LINES = [tensor(3.0, 1.0, 2.0, 5.0, 4.0), tensor(2.0, 9.0, 7.0), tensor(8.0, 7.0, 6.0, 5.0)]


def bubble_sort(a: Any) -> Any:
    a = a.clone()
    n = a.shape[0]
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                kept = a[j].clone()
                a[j] = a[j + 1]
                a[j + 1] = kept
                swapped = True
        if not swapped:
            break
    return a


def insertion_sort(a: Any) -> Any:
    a = a.clone()
    for i in range(1, a.shape[0]):
        key = a[i].clone()
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def quicksort(a: Any) -> Any:
    a = a.clone()
    stack = [(0, a.shape[0] - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot = a[high].clone()
        i = low
        for j in range(low, high):
            if a[j] <= pivot:
                a[i], a[j] = a[j].clone(), a[i].clone()
                i += 1
        a[i], a[high] = a[high].clone(), a[i].clone()
        stack.append((low, i - 1))
        stack.append((i + 1, high))
    return a


@pytest.mark.parametrize("sort", [bubble_sort, insertion_sort, quicksort])
def test_sorting_by_swaps(sort: Callable[[Any], Any]) -> None:
    """C1, B4: what one trip has put into the tensor the next one reads; views of it are short."""
    assert_same(sort, *LINES, grad=False)


def test_a_swap_through_a_view() -> None:
    """A1: without ``clone`` the first item is lost, in dygraph too."""

    def f(a, n):
        a = a * 1
        i = 0
        while i < n:
            kept = a[i]
            a[i] = a[i + 1]
            a[i + 1] = kept
            i += 1
        return a

    assert_same(f, *((a, scalar(2)) for a in LINES), grad=False)


def edit_distance(s: Any, t: Any) -> Any:
    n, m = s.shape[0], t.shape[0]
    d = paddle.zeros([n + 1, m + 1], dtype="int64")
    d[:, 0] = paddle.arange(n + 1)
    d[0, :] = paddle.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if s[i - 1] == t[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m], d


WORDS = [
    (tensor(1, 2, 3, 4, dtype="int64"), tensor(1, 3, 4, dtype="int64")),
    (tensor(1, 2, dtype="int64"), tensor(2, 3, 4, 5, 1, dtype="int64")),
]


def test_a_table_of_a_size_that_the_run_knows() -> None:
    """E4: rows and columns are read and written while the table goes through two loops."""
    spec = [InputSpec([None], "int64"), InputSpec([None], "int64")]
    assert_same(edit_distance, *WORDS, static=d2s.to_static(edit_distance, input_spec=spec))


def test_a_table_of_back_pointers() -> None:
    """E4: Viterbi, with sentences of any length."""

    def viterbi(emissions, moves):
        steps, states = emissions.shape
        score = paddle.zeros([steps, states])
        back = paddle.zeros([steps, states], dtype="int64")
        score[0] = emissions[0]
        for t in range(1, steps):
            for k in range(states):
                found = score[t - 1] + moves[:, k]
                back[t, k] = paddle.argmax(found)
                score[t, k] = paddle.max(found) + emissions[t, k]
        path = paddle.zeros([steps], dtype="int64")
        path[steps - 1] = paddle.argmax(score[steps - 1])
        for t in range(steps - 2, -1, -1):
            path[t] = back[t + 1, path[t + 1]]
        return score[steps - 1].max(), path

    moves = tensor([0.1, 0.7], [0.4, 0.2])
    spec = [InputSpec([None, 2], "float32"), InputSpec([2, 2], "float32")]
    calls = [(tensor([0.5, 0.1], [0.2, 0.9], [0.6, 0.3]), moves), (tensor([1.0, 2.0]), moves)]
    calls[1] = (calls[1][0].expand([4, 2]).clone(), moves)
    assert_same(viterbi, *calls, static=d2s.to_static(viterbi, input_spec=spec), grad=False)


def test_what_a_mask_has_left() -> None:
    """E4: rows of a tensor whose length only the run knows are changed in branches of a loop."""

    def f(x):
        kept = x[x[:, 0] > 0]
        i = 0
        while i < kept.shape[0]:
            if kept[i, 1] > 1:
                kept[i] = kept[i] * 2
            kept[i, 1] += 1.0
            i += 1
        return kept

    calls = [tensor([1.0, 2.0], [-1.0, 3.0], [2.0, 0.5]), tensor([-1.0, 2.0], [-1.0, 3.0])]
    assert_same(f, *calls)


def test_flags_of_a_suppression() -> None:
    """E4: flags of as many boxes as the run has kept."""

    def f(x):
        kept = x[x > 0.25]
        alive = paddle.ones([kept.shape[0]], dtype="bool")
        for i in range(kept.shape[0]):
            if alive[i]:
                for j in range(i + 1, kept.shape[0]):
                    if (kept[i] - kept[j]).abs() < 0.5:
                        alive[j] = False
        return kept[alive]

    assert_same(f, tensor(1.0, 1.2, 0.1, 3.0, 3.4), tensor(1.0, 2.0), grad=False)


def test_shortest_paths() -> None:
    """B4: the node of a trip is chosen by a tensor, its neighbours are written under conditions."""

    def f(weights, start):
        n = weights.shape[0]
        distance = paddle.full([n], 1e18)
        distance[start] = 0.0
        done = paddle.zeros([n], dtype="bool")
        while not done.all():
            u = paddle.argmin(paddle.where(done, paddle.full_like(distance, 1e20), distance))
            done[u] = True
            for v in range(n):
                other = distance[u] + weights[u, v]
                if not done[v] and other < distance[v]:
                    distance[v] = other
        return distance

    weights = tensor([0.0, 3.0, 9.0], [3.0, 0.0, 2.0], [9.0, 2.0, 0.0])
    assert_same(f, (weights, scalar(0)), (weights, scalar(2)), grad=False)


def test_masks_as_keys_in_a_loop() -> None:
    """C7: the loop prepares for tensors without elements, which is no view of them."""

    def f(x, n):
        y = x * 1
        while n > 0:
            y[y > 3] = 3.0
            y[y < 1.5] *= 0.5
            n -= 1
        return y

    x = tensor([1.0, 2.0, 0.5], [4.0, 5.0, 0.1])
    spec = [InputSpec([None, None], "float32"), InputSpec([], "int64")]
    calls = [(x, scalar(3)), (x, scalar(1))]
    assert_same(f, *calls)
    assert_same(f, *calls, static=d2s.to_static(f, input_spec=spec))


ROWS = tensor([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0])


@pytest.mark.parametrize(
    "write", ["row[0] = row[1] * 2", "row.scale_(2.0)", "row[1:] = 0.0", "row.add_(row)"]
)
@pytest.mark.parametrize("loop", ["for i in range(n):", "while i < n:"])
def test_a_row_that_is_changed_in_a_loop(write: str, loop: str) -> None:
    """A1, C2: the tensor that the row is of is part of the loop, though no line assigns it."""
    f = function_of(f"""
    def f(x, n):
        x = x * 1
        i = 0
        {loop}
            row = x[i]
            {write}
            if row.sum() > 20:
                row[2] += 1
            i = i + 1
        return x
    """)
    assert_same(f, *((ROWS, scalar(n)) for n in (0, 1, 3)), grad=False)


class Ring:
    """A buffer that is written by a method."""

    def __init__(self) -> None:
        self.items = paddle.zeros([3, 3])
        self.other = {"last": paddle.zeros([3])}
        self.at = 0

    def push(self, row: Any) -> None:
        self.items[self.at % 3] = row
        self.other["last"][0] = row[1]
        self.at += 1


def test_an_attribute_of_an_object_that_a_method_changes() -> None:
    """F3: one part of the state, however it is reached."""

    def f(x, n):
        ring = Ring()
        for i in range(n):
            ring.push(x[i])
        return ring.items, ring.other, ring.at

    assert_same(f, *((ROWS, scalar(n)) for n in (0, 1, 3)))


STALE = {
    "a view from before the loop, read behind it": """
        row = x[0]
        while i < n:
            x[0] = x[0] + 1
            i += 1
        return row.sum(), x
    """,
    "a view from before the loop, read by the next trip": """
        row = x[0]
        total = 0.0
        while i < n:
            total = total + row.sum()
            x[0, 0] += 1.0
            i += 1
        return total
    """,
    "a view from the trip before": """
        last = x[0]
        total = 0.0
        while i < n:
            x[i] = x[i] * 2
            total = total + last.sum()
            last = x[i]
            i += 1
        return total, last
    """,
    "a view that a branch has chosen": """
        best = x[0]
        while i < n:
            if x[i].sum() > best.sum():
                best = x[i]
            x[i] = x[i] * 0.5
            i += 1
        return x, best
    """,
    "a list of views": """
        rows = [x[0], x[1]]
        while i < n:
            x[i] = x[i] * 2
            i += 1
        return rows[0] + rows[1]
    """,
    "a view in another shape": """
        flat = x.reshape([-1])
        while i < n:
            flat[i] = 9.0
            x[i] = x[i] + 1
            i += 1
        return x, flat
    """,
}


@pytest.mark.sampled(
    3,
    also=[
        "True-a view that a branch has chosen-x[x[:, 0] > -9]",
        "False-a view in another shape-x * 1",
        "True-a view from the trip before-x * 1",
    ],
)
@pytest.mark.parametrize("made", ["x * 1", "x[x[:, 0] > -9]"])
@pytest.mark.parametrize("source", STALE.values(), ids=STALE)
@pytest.mark.parametrize("open_", [False, True])
def test_a_view_that_an_assignment_leaves_behind_is_never_read(
    open_: bool, source: str, made: str
) -> None:
    """A1: it would show the new item in dygraph: right, or refused with the line."""
    lines = [f"x = {made}", "i = 0", *inspect.cleandoc(source).splitlines()]
    f = function_of("def f(x, n):\n" + "".join(f"    {line}\n" for line in lines))
    spec = [InputSpec([None, None], "float32"), InputSpec([], "int64")] if open_ else None
    static = d2s.to_static(f, input_spec=spec) if spec else d2s.to_static(f)
    try:
        static(ROWS, scalar(1))
    except InplaceError as error:
        if error.line is not None:
            return
    assert_same(f, *((ROWS, scalar(n)) for n in (1, 3)), static=static, grad=False)


PICKED = {
    "in a loop": """
        while i < n:
            rows[i][0] = rows[i - 1][1]
            rows[0][1] += 1
            i += 1
        return rows
    """,
    "under a name": """
        row = rows[n - 1]
        row[0] = 5.0
        rows[2][1] = 7.0
        row[2] += 1
        return rows, row
    """,
    "by methods": """
        rows[n - 1].add_(paddle.ones([3]))
        rows[n - 2].scale_(3.0)
        first = rows[0]
        return rows, first
    """,
    "in a branch": """
        while i < n:
            rows[i][i] += 2.0
            if x[i].sum() > 10:
                rows[i][0] = -1.0
            i += 1
        return rows
    """,
    "without gradients": """
        with paddle.no_grad():
            rows[n - 1][0] = 5.0
            rows[n - 2].zero_()
        return rows
    """,
    "of one tensor in two places": """
        rows[2] = rows[0]
        rows[n - 1][1] = 8.0
        return rows
    """,
}


@pytest.mark.parametrize("source", PICKED.values(), ids=PICKED)
def test_an_item_of_a_list_that_the_run_picks_is_changed(source: str) -> None:
    """A1: ``rows[i]`` is one of the tensors, which the list and other names show, too."""
    lines = [
        "rows = [x[0] * 1, x[1] * 1, x[2] * 1]",
        "i = 0",
        *inspect.cleandoc(source).splitlines(),
    ]
    f = function_of("def f(x, n):\n" + "".join(f"    {line}\n" for line in lines))
    assert_same(f, *((ROWS, scalar(n)) for n in (1, 2, 3)), grad=False)


def test_the_gradient_of_what_is_written_into_a_picked_item() -> None:
    """C7: it goes to what was written where the item is, and to the items elsewhere."""

    def f(x, n):
        rows = [x[0] * 1, x[1] * 1, x[2] * 1]
        rows[n - 1][0] = x[2, 2] * 3
        return (rows[0] * rows[1] + rows[2]).sum()

    assert_same(f, *((ROWS, scalar(n)) for n in (1, 2, 3)))


APPENDED = {
    "changed in the next trip": ("out.append(kept)\nkept[0] = kept[0] + 1", False),
    "changed in this trip": ("row = paddle.zeros([3])\nout.append(row)\nrow[0] = 1.0", False),
    "a copy for each trip": ("kept = kept.clone()\nkept[0] += 1.0\nout.append(kept)", True),
    "a copy that is appended": ("kept[0] += 1.0\nout.append(kept.clone())", True),
    "a new one for each trip": ("row = paddle.zeros([3])\nrow[i] = 1.0\nout.append(row)", True),
}


@pytest.mark.parametrize(("trip", "right"), APPENDED.values(), ids=APPENDED)
def test_what_was_appended_is_changed(trip: str, right: bool) -> None:
    """D1: the list would show it in dygraph, which a list of the run does not: refused."""
    body = "".join(f"        {line}\n" for line in trip.splitlines())
    f = function_of(
        "def f(x, n):\n    out = []\n    kept = x[0] * 1\n    i = 0\n    while i < n:\n"
        + body
        + "        i += 1\n    return out, kept\n"
    )
    if right:
        assert_same(f, *((ROWS, scalar(n)) for n in (1, 2, 3)))
        return
    with pytest.raises(InplaceError) as caught:
        d2s.to_static(f)(ROWS, scalar(2))
    assert caught.value.line is not None


def test_a_mask_decides_what_is_written_in_a_loop() -> None:
    """C1, C2: what a trip writes under a mask is what the condition of the next one sees."""

    def fire(forest):
        t = 0
        while (forest == 2).any():
            burning = (forest == 2).astype("int32")
            near = sum(paddle.roll(burning, shifts=s, axis=a) for s in (1, -1) for a in (0, 1))
            caught = paddle.logical_and(forest == 1, near > 0)
            forest = paddle.where(forest == 2, paddle.zeros_like(forest), forest)
            forest[caught] = 2
            t += 1
            if t > 20:
                break
        return forest, t

    rows = [[2, 1, 1, 0], [0, 0, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0]]
    assert_same(fire, paddle.to_tensor(rows), paddle.ones([3, 3], "int64"), grad=False)
