"""Iterators of sequences, and of classes in Python, that branches and loops move (A1, C1)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

CALLS = [(1.0, 2.0), (-1.0, -2.0), (0.25, 0.5), (4.0, 4.0), (-9.0, 1.0)]

HEAD = """
class Rows:
    def __init__(self, rows):
        self.rows, self.at = rows, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.rows):
            raise StopIteration
        row = self.rows[self.at]
        self.at += 1
        return row

class Doubling:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return self

    def __next__(self):
        if self.x.sum() > 9:
            raise StopIteration
        self.x = self.x * 2
        return self.x

class Table:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return Rows(self.rows)

class Anew(Rows):
    def __iter__(self):
        self.at = 0
        return self

class Box:
    pass

def taken(it, x):
    return x + next(it) if x.sum() > 0 else x - next(it)
"""

FORMS = {
    "a function of its own": """
    it = iter(range(4))
    take = lambda: x[next(it) % 2]
    y = take() if x.sum() > 0 else x[0] * 0
    return y + take(), next(it)
    """,
    "a static loop": """
    it = iter([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5])
    x = x + next(it)
    while x.sum() < 8:
        x = x + next(it)
        if x.sum() > 6:
            x = x + next(it)
    return x, next(it)
    """,
    "rows of a tensor": """
    it = iter(x.reshape([2, 1]) * x)
    y = next(it)
    if x.sum() > 0:
        y = y * next(it)
    return y, next(it, None)
    """,
    "a default": """
    it = iter([1, 2, 3])
    n = 0
    while x.sum() < 6:
        v = next(it, None)
        if v is None:
            break
        x, n = x + v, n + 1
    return x, n, next(it, -1), next(it, -1), next(it, -1)
    """,
    "the end, caught": """
    it = iter([1, 2])
    try:
        if x.sum() > 0:
            next(it)
        if x.sum() > 2:
            next(it)
        x = x * next(it)
    except StopIteration:
        return x, "ended"
    return x, "some are left"
    """,
    "the end": """
    it = iter([1])
    if x.sum() > 0:
        x = x * next(it)
    return x * next(it)
    """,
    "the rest in a loop": """
    it = iter([1, 2, 3, 4])
    if x.sum() > 0:
        x = x + next(it)
    for v in it:
        x = x + v
        if x.sum() > 8:
            break
    return x, [k for k in it]
    """,
    "one loop in another": """
    it = iter([1, 2, 3, 4, 5, 6, 7, 8])
    pairs = []
    for a in it:
        if x.sum() > a:
            continue
        for b in it:
            if b * x.sum() > 3:
                break
            pairs.append((a, b))
    return x, pairs
    """,
    "skipped in its own loop": """
    it = iter(["a", "b", "c", "d"])
    kept = []
    for v in it:
        if x.sum() > len(kept):
            next(it, None)
        kept.append(v)
    return kept
    """,
    "two names": """
    it = other = iter([1, 2, 3, 4, 5, 6])
    if x.sum() > 0:
        x = x * next(other)
    if x.sum() > 1:
        x = x * next(it)
    return x, next(other), next(it)
    """,
    "in a dict and an attribute": """
    box, held = Box(), {"it": iter([x, x * 2, x * 3, x * 4])}
    box.it = held["it"]
    y = next(box.it)
    for _ in range(2):
        if y.sum() > 1:
            y = y + next(held["it"])
    return y, next(box.it)
    """,
    "given to functions": """
    it = iter((1, 2, 3, 4, 5, 6, 7))
    for _ in range(3):
        x = taken(it, x)
        if x.sum() > 3:
            x = x * 2
            next(it)
    return x, next(it, None)
    """,
    "one of two": """
    it = iter([1, 2, 3, 4]) if x.sum() > 0 else iter([5, 6])
    return x, next(it), next(it), next(it, None)
    """,
    "one of two in Python": """
    it = Rows([1, 2, 3, 4]) if x.sum() > 0 else Rows([5, 6])
    return x, next(it), next(it), next(it, None)
    """,
    "list, sum, sorted and zip": """
    its = [iter([1, 3, 2]) for _ in range(4)]
    if x.sum() > 0:
        for it in its:
            next(it)
    a, b, c, d = its
    return list(a), sum(b), sorted(c), [(i, k) for i, k in zip(d, [x, x])]
    """,
    "a list that grows later": """
    rows = [1, 2]
    it = iter(rows)
    if x.sum() > 0:
        next(it), next(it), next(it, None)
    rows.append(7)
    return next(it, -1), next(it, -1), next(it, -1)
    """,
    "an item that is replaced": """
    rows = [1, 2, 3]
    it = iter(rows)
    if x.sum() > 0:
        next(it)
        rows[1] = 50
    return next(it), next(it), rows
    """,
    "layers": """
    it = iter((abs, lambda v: v + 1, lambda v: v * 3))
    x = next(it)(x)
    if x.sum() > 2:
        x = next(it)(x)
    return next(it)(x)
    """,
    "a class in Python": """
    it = Rows([1, 2, 3, 4])
    if x.sum() > 0:
        x = x * next(it)
    total = sum(v for v in it if v > 1)
    return x, total, it.at, next(it, None)
    """,
    "a tensor ends a class in Python": """
    kept = []
    for v in Doubling(abs(x) + 1):
        kept.append(v)
    return kept, list(Doubling(abs(x) + 1)), sum(Doubling(abs(x) + 1))
    """,
    "next of one that a tensor ends": """
    it = Doubling(abs(x) + 1)
    try:
        y = next(it)
    except StopIteration:
        y = x
    return y, next(it, None), next(it, None), it.x
    """,
    "made by __iter__": """
    table = Table([1, 2, 3])
    for v in table:
        x = x + v
        if x.sum() > 4:
            break
    it = iter(table)
    if x.sum() > 2:
        next(it)
    return x, next(it), [v * 2 for v in table]
    """,
    "one that begins anew": """
    rows, total = Anew([1, 2, 3]), 0
    for _ in range(2):
        for i, v in enumerate(rows):
            total = total + v * i
            if total > x.sum() * 4:
                break
    return total, rows.at, [v for v in rows]
    """,
}


@pytest.mark.sampled(
    5,
    also=[
        "made by __iter__-False",
        "list, sum, sorted and zip-True",
        "a static loop-False",
        "the end, caught-False",
        "a class in Python-False",
    ],
)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_items_are_taken_as_in_dygraph(form: str, full_graph: bool) -> None:
    """A1: where an iterator has come to is a number of the run."""
    function = function_of(f"{HEAD}\ndef f(x):{FORMS[form]}", "f")
    static = d2s.to_static(function, full_graph=full_graph)
    assert_same(function, *(tensor(*given) for given in CALLS), static=static)


def test_gradients_through_items() -> None:
    """A1: what is taken has the gradient of the item that is taken on a run."""
    function = function_of(
        """
        def f(x):
            it = iter([x, x * 2, x * 3, x * 4])
            y = next(it)
            while y.sum() < 9 and y.sum() > 0:
                y = y + next(it)
            return y * next(it, x)
        """
    )
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0, 0.5), tensor(3.0, 4.0), grad=True)


REFUSED = {
    "a list that grows in the branch": """
    rows = [1, 2]
    it = iter(rows)
    if x.sum() > 0:
        rows.append(3)
    return next(it), next(it, None), next(it, None)
    """,
    "code of Python": """
    import numpy as np
    return np.fromiter(Doubling(x), float), x
    """,
    "a result": "\n    it = iter([1])\n    if x.sum() > 0:\n        next(it)\n    return it, x\n",
    "a generator that it ends": """
    def paired():
        it = iter([1, 2])
        while x.sum() < 9:
            yield next(it)
    return [v for v in paired()]
    """,
}


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_refused(form: str) -> None:
    """A1: a wrong result would be worse."""
    function: Any = function_of(f"{HEAD}\ndef f(x):{REFUSED[form]}", "f")
    with pytest.raises(d2s.errors.D2SError) as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0, 2.0))
    assert caught.value.code in ("D2S205", "D2S207")
    assert not isinstance(caught.value, UnsupportedInGraphError) or caught.value.line
