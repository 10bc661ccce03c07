"""Dicts and lists that several static loops fill, one after the other (rules B4, C4, D1)."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

KINDS = [dict, collections.OrderedDict, collections.Counter, lambda: collections.defaultdict(list)]

INPUTS = [
    tensor([0.1, 0.2], [0.9, 1.3]),
    tensor([1.1, 0.2], [0.1, 0.3]),
    tensor([0.7, 0.8], [1.5, 2.0]),
    tensor([0.0, 0.0], [0.0, 0.0]),
]
"""Which of the two loops make trips is another matter in each."""

BODIES = {
    "defaultdict": ("defaultdict(list)", "r[c].append(v.max())"),
    "setdefault": ("{}", "r.setdefault(c, []).append(v.max())"),
    "tuples": ("defaultdict(list)", "r[c].append((v.max(), c, v))"),
    "items of two kinds": ("{}", "r.setdefault(c, []).append(v.max() if v.min() > 0.2 else 1)"),
    "deques": ("{}", "r.setdefault(c, deque(maxlen=2)).append(v.max())"),
    "dicts in a dict": ("defaultdict(lambda: defaultdict(list))", "r['top'][c].append(v.max())"),
    "an ordered dict": ("OrderedDict()", "r[c] = v.max()\n            r.move_to_end(c)"),
    "break": (
        "defaultdict(list)",
        "r[c].append(v.max())\n            if len(r[c]) >= 2:\n                break",
    ),
    "a list in a branch": (
        "{0: [], 1: []}",
        "if v.min() > 0.6:\n                r[c].append(v.min())",
    ),
    "two lists at once": (
        "{0: [], 1: []}",
        "r[c].append(v.max())\n            if v.min() > 0.6:\n                r[0].append(v.min())",
    ),
}


@pytest.mark.sampled(6, also=["items of two kinds"])
@pytest.mark.parametrize(("begin", "trip"), BODIES.values(), ids=BODIES.keys())
def test_a_dict_by_class(begin: str, trip: str) -> None:
    """B4, C4: behind a loop that may make no trip a key is there or not, as the next one begins."""
    f = function_of(f"""
from collections import OrderedDict, defaultdict, deque

def f(x):
    r = {begin}
    for c in range(2):
        v = x[c]
        while v.max() > 0.5:
            {trip}
            v = v - 0.3
    return dict(r), list(r), len(r)
""")
    assert_same(f, *INPUTS, static=d2s.to_static(f, full_graph=True))


def test_three_classes_and_what_is_asked_behind() -> None:
    """D1: with three loops there are eight dicts, of lists of any length."""
    f = function_of("""
    from collections import defaultdict

    def f(x):
        r = defaultdict(list)
        for c in range(3):
            v = x[c % 2] + 0.1 * c
            while v.max() > 0.5:
                r[c].append(v.max())
                if len(r[c]) >= 3:
                    break
                v = v - 0.3
        total = sum(len(items) for items in r.values())
        return dict(r), total, [paddle.stack(items).mean() for items in r.values()]
    """)
    assert_same(f, *INPUTS, static=d2s.to_static(f, full_graph=True))


def test_a_window_that_begins_with_one_of_two_lengths() -> None:
    """C4: a list that each trip makes anew, of many lengths."""
    f = function_of("""
    def f(x):
        w = {}
        if x[0].max() > 0.5:
            w = {"w": [x[0].max()]}
        v = x[1]
        while v.max() > 0.5:
            w = {"w": w.get("w", [])[-2:] + [v.max()]}
            v = v - 0.3
        return w, len(w.get("w", []))
    """)
    assert_same(f, *INPUTS, static=d2s.to_static(f, full_graph=True))


@pytest.mark.parametrize(
    ("name", "behind"),
    [("other = r", "other"), ("mine = r.setdefault(0, [])", "mine")],
    ids=["the dict", "a list in it"],
)
def test_another_name(name: str, behind: str) -> None:
    """B4: which would not see what the loop makes is refused, and is right in dygraph."""
    f = function_of(f"""
def f(x):
    r = {{}}
    if x[0].max() > 0.5:
        r[0] = [x[0].max()]
    {name}
    v = x[1]
    while v.max() > 0.5:
        r.setdefault(0, []).append(v.max())
        r.setdefault(1, []).append(v.max())
        v = v - 0.3
    return r, {behind}
""")
    with pytest.raises(ContainerInGraphError, match="begin with a copy"):
        d2s.to_static(f, full_graph=True)(INPUTS[0])
    assert_same(f, *INPUTS, static=d2s.to_static(f, full_graph=False))


def shown(value: Any) -> Any:
    """Containers with the numbers that are in their tensors."""
    if isinstance(value, dict):
        return [(key, shown(item)) for key, item in value.items()]
    return [shown(item) for item in value] if isinstance(value, list) else round(float(value), 4)


def states_of(body: str, kind: Callable[[], Any], convert: Callable[[Any], Any]) -> list[Any]:
    """What calls leave in the dict ``box.r``, as it is seen by who has held it all along."""
    f = function_of(f"""
class Box:
    pass

box = Box()

def f(x):
    v = x[0]
    while v.max() > 0.5:
        {body}
        v = v - 0.3
    return v

f.box = box
""")
    box = f.box
    held = box.r = kind()
    run = convert(f)
    found = []
    for x in INPUTS:
        run(x)
        found.append((shown(held), held is box.r))
    return found


KEYS = """if v.min() > 0.3:
            box.r['a'] = v.min()
        else:
            box.r['b'] = v.max()"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_dict_of_the_state(kind: Callable[[], Any]) -> None:
    """F4: it stays the one that it was, whatever keys a trip gives it."""
    want = states_of(KEYS, kind, lambda f: f)
    for full_graph in (True, False):
        found = states_of(KEYS, kind, lambda f, one=full_graph: d2s.to_static(f, full_graph=one))
        assert found == want


def test_a_dict_of_the_state_with_lists_in_it() -> None:
    """F4: the lists would be other ones, which is refused, and is right in dygraph."""
    body = """if v.min() > 0.3:
            box.r.setdefault('a', []).append(v.max())
        else:
            box.r.setdefault('b', []).append(v.max())"""
    with pytest.raises(ContainerInGraphError, match=r"'box.r', known outside of the function"):
        states_of(body, dict, lambda f: d2s.to_static(f, full_graph=True))
    want = states_of(body, dict, lambda f: f)
    assert states_of(body, dict, lambda f: d2s.to_static(f, full_graph=False)) == want
