"""A list, dict, set or deque that is changed with one of several things (rules B2, D2)."""

from __future__ import annotations

import collections
import copy
import heapq
import itertools
import operator
from typing import Any

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import function_of, tensor

CALLS = [tensor(a, b) for a, b in itertools.product((1.0, -1.0), repeat=2)]

RIGHT = {
    "+=": "h = [0]; h += p; return h",
    "a loop": "h = [0]\n    for v in p: h.append(v)\n    return h",
    "append": "h = [0]; h.append(p); return h",
    "an item of a list": "h = [0, 2, 5]; h[len(p)] = 9; return h",
    "__setitem__": "h = [0, 2, 5]; h.__setitem__(len(p), 9); return h",
    "setitem": "h = [0, 2, 5]; operator.setitem(h, len(p), 9); return h",
    "an item of a deque": "h = deque([1, 2, 3]); h.__setitem__(len(p), 9); return h",
    "rotate": "h = deque([1, 2, 3]); h.rotate(len(p)); return h",
    "pop of a dict": "h = {1: 0, 3: 0}; h.pop(p[0]); return h",
    "del of a dict's number": "h = {1: 0, 3: 5}; del h[p[0]]; return h",
    "del of a dict's text": "h = {'a': 1, 'b': 2}; del h['a' if x[0] > 0 else 'b']; return h",
    "del of a position": "h = [7, 8, 9]; del h[len(p)]; return h",
    "del of one of several": "g = [1, 2] if x[0] > 0 else [4, 5, 6]; del g[len(p) - 1]; return g",
    "insert": "h = [1, 2, 3]; h.insert(len(p), 9); return h",
    "heappush": "h = [5]; heapq.heappush(h, len(p)); return h",
    "items of a dict": "h = {'a': 0}; h['a'] = p; return h",
    "alike on both sides": "a = {4, 5}\n"
    "    if x[0] > 0: a &= {1, 2}\n    else: a &= {3}\n    return a",
    "alike by methods": "a = {4, 5}\n"
    "    if x[0] > 0: a.discard(4)\n    else: a.remove(4)\n    return a",
    "+= of one of several": "q += p; return q",
    "|= of one of several": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    b = {1, 2} if x[0] > 0 else {3}\n    a |= b\n    return a",
    "&= of one of several": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    b = {1, 2} if x[0] > 0 else {3}\n    a &= b\n    return a",
    "-= of one of several": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    b = {1, 2} if x[0] > 0 else {3}\n    a -= b\n    return a",
    "|= of one of several dicts": "a = {1: 1} if x[1] > 0 else {4: 1}\n"
    "    a |= {3: 2} if x[0] > 0 else {1: 2}\n    return a",
    "*= of one of several": "q *= int(x[0]) + 1; return q",
    "|= with a number of the run": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    a |= {int(x[0]), 7}; return a",
    "&= with a number of the run": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    a &= {int(x[0]), 5}; return a",
    "-= with a number of the run": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    a -= {int(x[0]), 5}; return a",
    "^= with a number of the run": "a = {1, 2} if x[1] > 0 else {4, 5}\n"
    "    a ^= {int(x[0]), 5}; return a",
    "a key of one of several dicts": "a = {1: 1} if x[1] > 0 else {4: 1}; a[p[0]] = 9; return a",
    "a key of the run of one of several dicts": "a = {1: 1} if x[1] > 0 else {4: 1}\n"
    "    a[int(x[0])] = 9\n    return a",
    "an item of one of several lists": "k = q; q[len(p) - 1] = 9; return q, k is q",
}

RIGHT_OR_REFUSED = {
    "extend": "h = [0]; h.extend(p); return h",
    "extend by a generator": "h = [0]; h.extend(v + 1 for v in p); return h",
    "extend twice": "h = [0]; h.extend(p); h.extend(q); return h, len(h)",
    "extend in a loop": "h = []\n    for t in (p, q): h.extend(t)\n    return h",
    "extend in a branch": "h = [0]\n    if x[1] > 0: h.extend(p)\n    return h",
    "extend of one of several": "q.extend(p); return p, q",
    "extend of one of several by itself": "q.extend(p if x[0] > 0 else q); return q",
    "extend of an item": "h = {'k': [0]}; h['k'].extend(p); return h",
    "extend through the class": "h = [0]; list.extend(h, p); return h",
    "extend of another name": "h = [0]; k = h; k.extend(p); return h, k is h",
    "extend of a deque": "h = deque([0]); h.extend(p); return h",
    "pop at a position": "h = [0, 1, 2]; h.pop(len(p)); return h",
    "remove": "h = [1, 2, 3]; h.remove(p[0]); return h",
    "update of a dict": "h = {0: 0}; h.update(dict.fromkeys(p, 1)); return h",
    "update of one of several dicts": "d = {'a': 1} if x[0] > 0 else {'b': 2}\n"
    "    d.update({'c': 1} if x[1] > 0 else {'d': 2, 'a': 5})\n    return d",
    "update of a set": "h = {0}; h.update(p); return sorted(h)",
    "update of a Counter": "h = Counter('ab'); h.update('ab' if x[0] > 0 else 'c'); return h",
    "intersection_update": "h = {3, 4}; h.intersection_update(p); return h",
    "move_to_end": "h = OrderedDict(a=1, b=2)\n    h.move_to_end('a', last=len(p) == 2)\n"
    "    return list(h)",
    "+= of one of several with another name": "k = q; q += p; return q, k, k is q",
    "|= of one of several with another name": "q = set(q); k = q; q |= set(p); return q, k",
    "|= of what a function is given": "q = set(q)\n"
    "    k = operator.ior(q, set(p))\n    return q, k",
    "a method": "m = h.extend; m(p); return h",
    "an attribute": "k = Keeper(); n = k.add(p); n += k.add(q); return n, k.held",
}


class Keeper:
    def __init__(self) -> None:
        self.held: list[Any] = []

    def add(self, more: Any) -> int:
        self.held.extend(more)
        return len(self.held)


def function(body: str) -> Any:
    text = (
        "def f(x):\n    h = [0]\n    p = [1, 2] if x[0] > 0 else [3]\n"
        f"    q = [1, 2] if x[1] > 0 else [4, 5]\n    {body.replace('; ', chr(10) + ' ' * 4)}\n"
    )
    scope = {name: getattr(collections, name) for name in ("deque", "Counter", "OrderedDict")}
    return function_of(text, heapq=heapq, operator=operator, Keeper=Keeper, **scope)


@pytest.mark.sampled(3, also=["*= of one of several"])
@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_it_is_as_in_dygraph(body: str) -> None:
    """D2: each run changes it with what it has."""
    f = function(body)
    converted = d2s.to_static(f, full_graph=True)
    for x in CALLS:
        assert converted(x) == f(x)


@pytest.mark.sampled(
    3,
    also=[
        "|= of one of several with another name",
        "a method",
        "an attribute",
        "extend through the class",
    ],
)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
@pytest.mark.parametrize("body", RIGHT_OR_REFUSED.values(), ids=RIGHT_OR_REFUSED)
def test_it_is_never_changed_with_all_of_them(body: str) -> None:
    """D2: right by default; one program is right or refuses it, with the user's line."""
    f = function(body)
    converted = d2s.to_static(f, full_graph=False)
    for x in CALLS:
        assert copy.copy(converted(x)) == f(x)
    refused: D2SError | None = None
    found: list[Any] = []
    try:
        found = [d2s.to_static(f, full_graph=True)(x) for x in CALLS]
    except D2SError as error:
        refused = error
    if refused is None:
        assert found == [f(x) for x in CALLS]
    else:
        assert refused.code in ("D2S203", "D2S207", "D2S305")
        assert refused.line is not None
