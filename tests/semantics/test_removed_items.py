"""``list.remove`` of what the run decides, and attributes whose names a tensor chooses."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

HEAD = """
import itertools
from collections import namedtuple
from typing import NamedTuple

Spring = namedtuple("Spring", "i j rest")

class Interval(namedtuple("Interval", "low high")):
    def __new__(cls, low, high):
        if (low > high).any():
            raise ValueError("no interval")
        return super().__new__(cls, low, high)

    def __mul__(self, other):
        return Interval(self.low * other.low, self.high * other.high)

class Wave(NamedTuple):
    v: object

    def __mul__(self, other):
        return Wave(self.v * other.v) if self.v.sum() > 1 else Wave(self.v)

class Box:
    def __init__(self, v=None):
        self.v = v

kept = Box()
kept.a, kept.b = 1, 2
"""

FORMS = {
    "a number": "free = [0, 1, 2, 3]; free.remove(int(abs(x).sum()) % 4); return free",
    "in a branch": """
    free, k = [0, 1, 2, 3], int(abs(x).sum())
    if k in free:
        free.remove(k)
    return free, [x * k for k in free]
    """,
    "one that is not there": "free = [0, 1]; free.remove(int(abs(x).sum())); return free",
    "not there, and caught": """
    free = [0, 1, 2]
    try:
        free.remove(int(abs(x).sum()))
    except ValueError:
        free.append(9)
    return free
    """,
    "greedy pairs": """
    free, used = [0, 1, 2, 3], set()
    pairs = ((float((x * i * k).sum()), i, k) for k in range(3) for i in range(3))
    for cost, i, k in sorted(pairs, reverse=True):
        if cost > 20:
            break
        if i in used or k not in free:
            continue
        used.add(i)
        free.remove(k)
    return free, used, [x * k for k in free]
    """,
    "tuples": """
    springs, broken = [Spring(0, 1, 1.0), Spring(1, 2, 2.0), Spring(2, 3, 3.0)], []
    for s in springs:
        if x.sum() > s.rest:
            broken.append(s)
    for s in broken:
        springs.remove(s)
    return springs, len(springs)
    """,
    "texts": """
    free = ["a", "bb", "c"]
    free.remove("a" if x.sum() > 0 else "bb")
    return free
    """,
    "objects": """
    boxes = [Box(x * k) for k in range(3)]
    for box in [b for b in boxes if b.v.sum() > 1]:
        boxes.remove(box)
    return [b.v for b in boxes]
    """,
    "objects of a comprehension": """
    boxes = [Box(x * k) for k in range(3)]
    large = [b for b in boxes if b.v.sum() > 1]
    for box in large:
        box.v = box.v * 10
    return [b in large for b in boxes], [b is boxes[2] for b in large], [b.v for b in boxes]
    """,
    "objects that are looked for": """
    boxes = [Box(x * k) for k in range(3)]
    large = [b for b in boxes if b.v.sum() > 1]
    return [boxes.index(b) for b in large], [b.v for b in boxes if b not in large]
    """,
    "one of two lists": """
    a, b = [1, 2, 3], [2, 3]
    rows = a if x.sum() > 0 else b
    rows.remove(2)
    return a, b, rows
    """,
    "an attribute": """
    box = Box()
    setattr(box, "a" if x.sum() > 0 else "b", x * 2)
    return getattr(box, "a", None), getattr(box, "b", None)
    """,
    "attributes in a loop": """
    box, n = Box(), 0
    box.a = box.b = 0
    while abs(x).sum() < 8:
        x, n = x * 2 + 1, n + 1
        name = "a" if x.sum() > 4 else "b"
        setattr(box, name, getattr(box, name) + n)
    return box.a, box.b
    """,
    "an attribute that goes": """
    box, name = Box(), "a" if x.sum() > 0 else "b"
    box.a, box.b = x, x * 2
    delattr(box, name)
    return hasattr(box, "a"), hasattr(box, "b"), hasattr(box, name)
    """,
    "an attribute of the state": """
    name = "a" if x.sum() > 0 else "b"
    before = kept.a, kept.b
    setattr(kept, name, getattr(kept, name) + 1)
    return before, kept.a, kept.b
    """,
    "enumerate in groups": """
    signs = [int(v > 0) for v in x]
    rows = itertools.groupby(enumerate(signs), key=lambda pair: pair[1])
    return [(sign, [t for t, _ in group]) for sign, group in rows]
    """,
    "zip in groups": """
    found = []
    for positive, group in itertools.groupby(zip(x.tolist(), "ab"), key=lambda pair: pair[0] > 0):
        group = list(group)
        found.append((positive, len(group), sum(v for v, _ in group)))
    return found
    """,
}

CALLS = [(0.5, 0.5), (-0.5, -1.5), (1.0, 1.5), (2.0, 2.0), (4.0, -4.0)]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_tensor_removes_or_names(form: str) -> None:
    """A1, D1: lists lose the item that a run means, and objects the attribute."""
    lines = FORMS[form] if FORMS[form].startswith("\n") else f"\n    {FORMS[form]}\n"
    text = f"{HEAD}\ndef f(x):{lines}"
    static = d2s.to_static(function_of(text, "f"), full_graph=True)
    assert_same(function_of(text, "f"), *(tensor(*given) for given in CALLS), static=static)


@pytest.mark.parametrize("where", ["argument", "global", "item", "attribute"])
@pytest.mark.parametrize("kind", ["Interval(abs(x), abs(x) + 1)", "Wave(x)"])
def test_methods_of_named_tuples_from_outside(kind: str, where: str) -> None:
    """E2: Python calls them by itself, and they may ask tensors."""
    text = f"{HEAD}\nkept.w = None\ndef make(x):\n    return {kind}\n"
    reads = {"argument": "w", "global": "kept.w", "item": "w[0]", "attribute": "w.v"}[where]
    module = function_of(f"{text}\ndef f(w):\n    return {reads} * {reads}\n", "f").__globals__
    static = d2s.to_static(module["f"], full_graph=True)
    for given in CALLS:
        made = module["make"](tensor(*given))
        module["kept"].w = made
        argument = {"item": [made], "attribute": module["Box"](made)}.get(where, made)
        want, got = module["f"](argument), static(argument)
        assert type(got) is type(want)
        assert [part.numpy().tolist() for part in got] == [part.numpy().tolist() for part in want]


REFUSED = {
    "D2S205": "open('a' if x.sum() > 0 else 'b')",
    "D2S208": "setattr(kept, f'w{int(x.sum())}', x)",
}


@pytest.mark.parametrize("code", REFUSED)
def test_names_that_only_the_run_knows(code: str) -> None:
    """A6: Python needs them while the program is captured."""
    function = function_of(f"{HEAD}\ndef f(x):\n    {REFUSED[code]}\n    return x\n", "f")
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0, 2.0))
    assert caught.value.code == code


def test_messages_have_names_of_the_user() -> None:
    """A6: no variable of d2s is named."""
    function = function_of(
        """
        def f(x):
            boxes = []
            for i in range(3):
                found = next((b for b in boxes if b.get("s") == i), None)
                if x[0] > i:
                    if found is None:
                        found = {"s": i}
                        boxes.append(found)
                    found["e"] = x[1]
            return boxes
        """
    )
    with pytest.raises(D2SError, match="what next\\(\\) gives") as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0, 2.0))
    assert "first" not in str(caught.value)
