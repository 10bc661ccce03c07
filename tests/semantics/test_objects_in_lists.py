"""Objects of the user's as items of lists whose length the run decides (rules D1, D3)."""

from __future__ import annotations

import sys
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.runtime.aliasing.variables import State
from d2s.runtime.trace import current
from tests.helpers import assert_same, function_of, scalar, tensor

ACCUMULATOR = """
class Accumulator:
    def __init__(self, k):
        self.k = k
        self.total = 0.0
        self.n = 0
        self.seen = []

    def add(self, v):
        self.total = self.total + v
        self.n += 1
        if v > 0.5:
            self.seen.append(v)

    def mean(self):
        return self.total / self.k

def made(x):
    return [Accumulator(2) for _ in range(x.shape[0])]
"""

CHANGED = {
    "by index": """
    accs[0].add(x[0])
    accs[0].add(x[1])
    return accs[0].mean(), accs[0].n, len(accs)
""",
    "in a loop": """
    for i, a in enumerate(accs):
        a.add(x[i])
    return [a.mean() for a in accs]
""",
    "in a branch of a loop": """
    for i, a in enumerate(accs):
        if x[i] > 0:
            a.add(x[i])
    return [a.n for a in accs], [len(a.seen) for a in accs]
""",
    "in a loop of a loop": """
    while x.sum() < 10:
        for i, a in enumerate(accs):
            if x[i] > 0:
                a.add(x[i])
        x = x + 0.5
    return [a.mean() for a in accs], [a.n for a in accs], [len(a.seen) for a in accs]
""",
    "with a break": """
    for a, v in zip(accs, x):
        for step in range(9):
            a.add(v * step)
            if a.n > 2 + v:
                break
    return [a.n for a in accs], [a.total for a in accs]
""",
    "beside others": """
    accs.append(Accumulator(3))
    accs[x.shape[0]].add(x[0])
    accs.pop(0)
    return [a.k for a in accs], [a.n for a in accs]
""",
}


@pytest.mark.sampled(2, also=["beside others", "in a loop"])
@pytest.mark.parametrize("change", CHANGED)
def test_a_method_of_an_item_changes_it(change: str) -> None:
    """D1: what a method changes in an item of a list of the run is there when it is read again."""
    function = function_of(f"{ACCUMULATOR}\ndef f(x):\n    accs = made(x)\n{CHANGED[change]}", "f")
    static = d2s.to_static(function, full_graph=True, input_spec=[InputSpec([None])])
    lines = tensor(0.25, 1.0, -2.0), tensor(-1.0, 0.75, 3.0, 0.5, 0.625), tensor(1.0, 1.0)
    assert_same(function, *lines, static=static, grad=False)
    assert len(static.programs) == 1


def test_items_are_returned_as_objects() -> None:
    """B6: a list of objects comes back as objects of their class, with their attributes."""
    source = f"{ACCUMULATOR}\ndef f(x):\n    accs = made(x)\n    accs[1].add(x[0])\n    return accs"
    function = function_of(source, "f")
    static = d2s.to_static(function, full_graph=True, input_spec=[InputSpec([None])])
    for x in (tensor(1.0, 2.0), tensor(3.0, 2.0, 1.0)):
        got, want = static(x), function(x)
        assert [type(each) for each in got] == [type(each) for each in want]
        assert [(each.k, each.n, len(each.seen)) for each in got] == [
            (each.k, each.n, len(each.seen)) for each in want
        ]
        assert [float(each.total) for each in got] == [float(each.total) for each in want]


KNOWN_TWICE = {
    "two that may be one": """
    a, b = accs[0], accs[x.shape[0] - 3]
    a.add(x[0])
    return b.n
""",
    "put in by name": """
    a = Accumulator(3)
    accs.append(a)
    a.add(x[0])
    return [each.n for each in accs]
""",
    "a copy of the list": """
    other = accs.copy()
    accs[0].add(x[0])
    return [each.n for each in other]
""",
    "in order": """
    first = sorted(accs, key=lambda each: each.n)[0]
    first.add(x[0])
    return accs[0].n
""",
    "in a second list": """
    other = []
    for a in accs:
        other.append(a)
    other[0].add(x[0])
    return accs[0].n
""",
}


@pytest.mark.parametrize("known", KNOWN_TWICE)
def test_an_item_that_is_known_twice(known: str) -> None:
    """D3: a change of an object is seen under each of its names, and in each list it is in."""
    function = function_of(
        f"{ACCUMULATOR}\ndef f(x):\n    accs = made(x)\n{KNOWN_TWICE[known]}", "f"
    )
    static = d2s.to_static(function, full_graph=True, input_spec=[InputSpec([None])])
    for x in (tensor(1.0, 2.0, 3.0), tensor(0.1, 0.2, 0.3, 0.4)):
        assert static(x) == function(x)


def test_a_list_that_an_object_shares() -> None:
    """D3: a change of a list that an object in a list has too is refused, never lost."""
    function = function_of(
        f"""{ACCUMULATOR}
def f(x):
    accs = made(x)
    seen = [x[0]]
    a = Accumulator(3)
    a.seen = seen
    accs.append(a)
    a = None
    seen.append(x[1])
    return [len(each.seen) for each in accs]
""",
        "f",
    )
    static = d2s.to_static(function, full_graph=True, input_spec=[InputSpec([None])])
    x = tensor(1.0, 2.0, 3.0)
    with pytest.raises(d2s.D2SError) as caught:
        static(x)
    assert caught.value.code == "D2S207"
    assert d2s.to_static(function, full_graph=False)(x) == function(x)


def test_an_object_from_outside() -> None:
    """D3: an object of the state is known by its number, and is itself behind the call."""
    source = f"""{ACCUMULATOR}
outside = Accumulator(5)
def f(x):
    accs = made(x)
    accs.append(outside)
    return accs[0].n
"""
    f = function_of(source, "f")
    static = d2s.to_static(f, full_graph=True, input_spec=[InputSpec([None])])
    assert static(paddle.ones([2])) == f(paddle.ones([2]))


KNOWN_BEHIND = {
    "the one of the last trip": """
    for i in range(n):
        acc = Box(x * i)
        xs.append(acc)
    acc.add(x)
    """,
    "the best of all trips": """
    best = None
    for i in range(n):
        acc = Box(x * i)
        xs.append(acc)
        if best is None or acc.v.sum() > best.v.sum():
            best = acc
    best.add(x)
    """,
    "one of before the loop": """
    acc = Box(x)
    for i in range(n):
        xs.append(acc)
    acc.add(x)
    """,
    "put in by a branch": """
    for i in range(n):
        xs.append(Box(x * i))
    acc = Box(x)
    if x.sum() > 0:
        xs.append(acc)
    acc.add(x)
    """,
    "one of several, put in again": """
    for i in range(n):
        xs.append(Box(x * i))
    xs.sort(key=lambda each: -each.v.sum())
    acc = xs[0]
    xs.append(acc)
    acc.add(x)
    """,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("known", KNOWN_BEHIND)
def test_an_object_that_is_known_behind_the_loop(known: str) -> None:
    """D3: what was put into a list in a loop or branch is changed behind it, as in dygraph."""
    head = """
class Box:
    def __init__(self, v): self.v = v
    def add(self, w): self.v = self.v + w
def f(x, n):
    xs = []
"""
    source = f"{head}{KNOWN_BEHIND[known].rstrip()}\n    return xs[0].v, xs[-1].v\n"
    plain = function_of(source, "f")
    static = d2s.to_static(plain, full_graph=True)
    for count in (3, 1):
        assert_same(plain, (tensor(1.0, 2.0), paddle.to_tensor(count)), static=static)


def test_an_attribute_that_is_an_object_or_a_tensor() -> None:
    """D3: where objects of one class hold an object or a tensor, a use for objects is refused."""
    source = """
class Box:
    def __init__(self, v): self.v = v
    def add(self, w): self.v = self.v + w
def f(x, n):
    xs = []
    outer = Box(Box(x))
    for i in range(n):
        xs.append(outer.v)
    outer.v.add(x)
    return xs[-1].v
"""
    static = d2s.to_static(function_of(source, "f"), full_graph=True)
    with pytest.raises(d2s.D2SError):
        static(tensor(1.0, 2.0), paddle.to_tensor(3))


TOLD_APART = {
    "__eq__ raises": """
class Box:
    def __init__(self, v): self.v = v
    def __eq__(self, other): raise RuntimeError('compared')
def f(x):
    xs = []
    while x.sum() < 20:
        xs.append(Box(x))
        x = x * 2
    p = xs[0]
    y = p.v
    q = xs[1]
    y = y + q.v
    for r in xs:
        y = y + r.v
    return y + p.v
""",
    "a data class": """
from dataclasses import dataclass
@dataclass
class Box:
    v: object
def f(x):
    xs, ys = [], []
    while x.sum() < 20:
        xs.append(Box(x))
        ys.append(Box(x + 1))
        x = x * 2
    p, q = xs[0], ys[0]
    q.v = q.v * 3
    z = ys[0].v
    r = xs[1]
    return z + r.v, p.v, ys[1].v
""",
}


@pytest.mark.parametrize("name", TOLD_APART)
def test_how_objects_compare_plays_no_part(name: str) -> None:
    """D3: which item was read is found by its identity; its ``__eq__`` is not called."""
    plain = function_of(TOLD_APART[name], "f")
    assert_same(
        plain, tensor(1.0, 2.0), tensor(3.0, 0.5), static=d2s.to_static(plain, full_graph=True)
    )


class Counted:
    def __init__(self, v: Any) -> None:
        self.v = v
        self.k = 0


def test_nothing_is_written_back_of_a_block_that_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D3: a branch or trip that is captured once more has left values in items that are gone."""
    original, lent = State.find, []

    def find(self: State) -> None:
        capture = current()
        if sys.exc_info()[0] is not None and capture is not None:
            lent.append(len(capture.lent))
        original(self)

    monkeypatch.setattr(State, "find", find)

    def f(x, n):
        found = []
        for i in range(n):
            found.append(Counted(x[i]))
        for i in range(n):
            h = found[i]
            if h.v > 0:
                h.k = h.k + 1
                for j in range(n):
                    if x[j] > h.v:
                        h.v = x[j]
                        h.k += j
        return [(h.v, h.k) for h in found]

    assert_same(f, (tensor(1.0, 2.0, 3.0), scalar(3)), (tensor(-1.0, 2.0, 3.0), scalar(2)))
    assert lent
    assert not any(lent)


CALLED = """
from dataclasses import dataclass

class Rule:
    def __init__(self, at, to):
        self.at, self.to, self.used = at, to, 0

    def __call__(self, x, bias=0.0):
        self.used += 1
        if x.sum() > self.at:
            return x * self.to + bias
        return x

class Twice(Rule):
    def __call__(self, x):
        return super().__call__(super().__call__(x, bias=1.0))

@dataclass(frozen=True)
class Stump:
    at: float

    def __call__(self, x):
        return paddle.where(x > self.at, x * 2, x)

def f(x):
    kept = []
    while x.sum() < 9:
        kept.append({made})
        x = x + 1
    y = x
    for rule in kept:
        y = rule(y)
    return y, [rule(x).sum() for rule in kept], kept[-1](y) if kept else None, {used}
"""


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("Rule(x.max(), 0.5)", "[rule.used for rule in kept]"),
        ("Twice(x.min(), 0.5)", "len(kept)"),
        ("Stump(float(x[0]))", "[rule.at for rule in kept]"),
    ],
)
def test_an_object_that_is_called(made: str, used: str) -> None:
    """E2: the ``__call__`` of its class runs, with the attributes of the one that is called."""
    text = CALLED.format(made=made, used=used)
    rows = ([1.0, 2.0], [8.0, 4.0], [0.0, -1.0], [3.0, 1.0])
    assert_same(function_of(text, "f", paddle=paddle), *(tensor(*row) for row in rows))
