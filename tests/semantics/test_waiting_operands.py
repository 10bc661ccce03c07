"""Lists, dicts and sets that wait as operands while a call changes their form (rules A1, B2)."""

from __future__ import annotations

from collections import deque
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

INPUTS = (tensor(3.0, 1.0, 2.0), tensor(1.0, 2.0, 4.0), tensor(0.5, 0.25, -1.0))


def grow(rows: Any, x: Any) -> int:
    """Append on one side of a branch."""
    if x.sum() > 4:
        rows.append(x.max())
    return len(rows)


def fill(rows: Any, x: Any) -> int:
    """Append in a loop."""
    k = paddle.to_tensor(0)
    while k < x.max():
        rows.append(x.sum() + k)
        k = k + 1
    return len(rows)


def fill_until(rows: Any, x: Any) -> int:
    """Append in a loop that is left early."""
    k = paddle.to_tensor(0)
    while True:
        m = x.max()
        if k >= m:
            break
        rows.append(x.sum() + k)
        k = k + 1
    return len(rows)


def shrink(rows: Any, x: Any) -> int:
    """Take the last item on one side of a branch."""
    if x.sum() > 4:
        rows.pop()
    return len(rows)


def put(rows: Any, x: Any) -> int:
    """Add a key on one side of a branch."""
    if x.sum() > 4:
        rows["b"] = x.max()
    return len(rows)


def put_at(rows: Any, x: Any) -> int:
    """Set what stands at a key of the run."""
    rows[int(x.argmax())] = x.max()
    return len(rows)


def add(rows: Any, x: Any) -> int:
    """Add to a set on one side of a branch."""
    if x.sum() > 4:
        rows.add(5)
    return len(rows)


def shown(rows: Any, *others: Any) -> Any:
    """The items, and the other arguments."""
    if isinstance(rows, set):
        return len(rows), *others
    return [*rows.items()] if isinstance(rows, dict) else [*rows], *others


class Box:
    """Holds a container."""


CHANGES = {
    "a list": ("[x.min(), x.sum()]", (grow, fill, fill_until, shrink)),
    "a deque": ("deque([x.min(), x.sum()])", (grow, fill, fill_until)),
    "a dict": ("{'a': x.min(), 0: x.sum()}", (put, put_at)),
    "a set": ("{1, 2}", (add,)),
}

FORMS = {
    "in a tuple": "r, change(r, x)",
    "an argument": "shown(r, change(r, x), r)",
    "an attribute": "shown(box.r, change(box.r, x))",
    "an item": "shown(held[0], change(held[0], x))",
    "in a list and a dict": "[r, {'n': change(r, x), 'r': r}]",
    "a method": "len(r), r.__len__() + change(r, x)",
    "a key of its own": "{'rows': r, 'n': change(r, x)}",
}


QUICK = ("in a tuple", "an argument")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "form",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in FORMS],
)
@pytest.mark.parametrize(
    ("made", "change"),
    [(made, each) for made, changes in CHANGES.values() for each in changes],
    ids=[f"{kind}: {each.__name__}" for kind, (_, changes) in CHANGES.items() for each in changes],
)
def test_an_operand(made: str, change: Any, form: str) -> None:
    """A1: it is the container as the call leaves it."""
    function = function_of(
        f"""
        def f(x):
            r = {made}
            box = Box()
            box.r, held = r, [r]
            q = {FORMS[form]}
            return q, shown(r), shown(box.r), shown(held[0])
        """,
        deque=deque,
        Box=Box,
        shown=shown,
        change=change,
    )
    assert_same(function, *INPUTS)


NO_CALL = {
    "a conditional behind a call": "return best.get(3), [0] + path if 3 in best else []",
    "and behind a call": "return len(path), path and path[0] > 1 and best.get(3)",
    "a part of a text": "return f'{len(path)}: {path} {grow(path, x)} {path!r:>9}', path",
    "a conditional behind an item": "return best.get(3), (path if x.sum() > 5 else path[:1])",
}


@pytest.mark.parametrize("name", NO_CALL)
def test_an_operand_before_a_branch(name: str) -> None:
    """A1, B4: a conditional, ``and`` and a part of a text may be the branch."""
    f = function_of(
        f"""
        def f(x):
            best, path, at, parent = {{0: 0.0}}, [], 3, {{}}
            for v in range(3):
                if x[v] < best.get(v, 2.5):
                    best[v + 1] = float(x[v])
            if x[0] > 1:
                parent[3] = 1
            if x[1] > 1:
                parent[1] = 0
            while at in parent:
                path.insert(0, at)
                at = parent[at]
            {NO_CALL[name]}
        """,
        grow=grow,
    )
    assert_same(f, *INPUTS, tensor(0.0, 0.0, 0.0))


def test_a_list_that_stays_what_it_was() -> None:
    """A1: an operand that waits is no reason to refuse a branch that leaves a list alone."""

    class Metric:
        def __init__(self) -> None:
            self.total = paddle.zeros([])

        def update(self, ids: list[Any], x: Any) -> list[Any]:
            i = len(ids)
            while i:
                if i and ids[i - 1] > 1 and x[i - 1] > 0:
                    self.total = self.total + ids[i - 1]
                i -= 1
            return ids[::-1]

    metric = Metric()

    def f(x):
        out = []
        ids = []
        for v in x:
            if v > 0.3:
                ids.append(v)
        out.append(f"{len(ids)}: {len(metric.update(ids, x))}")
        return out, metric.total

    static = d2s.to_static(f, full_graph=True)
    for x in INPUTS:
        seen = []
        for function in (f, static):
            metric.total = paddle.zeros([])
            seen.append(str(function(x)))
        assert seen[0] == seen[1]


REFUSED = {
    "behind a star": "return shown(*[r, grow(r, x)])",
    "in a comprehension": "return [shown(r, grow(r, x)) for _ in range(2)]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_bound_to_a_variable(name: str) -> None:
    """A1: refused with the user's line as one program, or right; right as several."""
    text = f"def f(x):\n    r = [x.min()]\n    {REFUSED[name]}\n"
    function = function_of(text, shown=shown, grow=grow)
    refused = None
    try:
        found = str(d2s.to_static(function, full_graph=True)(INPUTS[0]))
    except ContainerInGraphError as error:
        refused = error
    if refused is None:
        assert found == str(function(INPUTS[0]))
    else:
        assert refused.line is not None
    parts = d2s.to_static(function, full_graph=False)
    for x in INPUTS:
        assert str(parts(x)) == str(function(x))
