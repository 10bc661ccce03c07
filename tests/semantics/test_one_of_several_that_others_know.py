"""A container that a tensor chooses, that others know, and whose length changes (B4)."""

from __future__ import annotations

import itertools

import pytest

from tests.helpers import assert_same, function_of, tensor

X = [
    (tensor(1.0, -2.0, 3.0, 0.5),),
    (tensor(-1.0, -2.0, -3.0, 4.0),),
    (tensor(2.0, 2.0, -2.0, 2.0),),
]

KINDS = {
    "list": ("[1.0]", "[2.0, 3.0]"),
    "dict": ("{'n': 1.0}", "{'n': 2.0, 'm': 3.0}"),
    "set": ("{1, 2}", "{2, 5}"),
    "deque": ("collections.deque([1.0], 2)", "collections.deque([2.0, 3.0], 2)"),
    "Counter": ("collections.Counter('a')", "collections.Counter('abb')"),
}

CHANGES = {
    "list": ("b.append(v)", "b.pop()", "b.insert(0, v)", "b += [v]", "del b[0]", "b[:1] = [v, v]"),
    "dict": (
        "b.update(k=v)",
        "b.pop('n')",
        "b['q'] = v",
        "b['n'] += v",
        "del b['n']",
        "b['c'] = b.get('c', 0) + 1",
        "b |= {'w': v}",
        "b[int(v)] = v",
        "b.setdefault('z', v)",
    ),
    "set": ("b.add(int(v))", "b.discard(2)", "b |= {9}"),
    "deque": ("b.append(v)", "b.popleft()", "b += [v]"),
    "Counter": ("b['z'] += 1", "b[int(v)] += 1", "b.update('xa')"),
}

PLACES = {
    "variables": ("p, q = {}, {}", "p if v > 0 else q", "p, q"),
    "a dict": ("t = {{'p': {}, 'q': {}}}", "t['p' if v > 0 else 'q']", "t"),
    "a list": ("t = [{}, {}]", "t[int(v > 0)]", "t"),
    "attributes": (
        "o.p, o.q = {}, {}; o.t = {{True: o.p, False: o.q}}",
        "o.t[bool(v > 0)]",
        "o.p, o.q, o.t[True] is o.p",
    ),
    "objects": (
        "t = [O(), O()]; t[0].c, t[1].c = {}, {}",
        "(t[0] if v > 0 else t[1]).c",
        "t[0].c, t[1].c",
    ),
}

FLOWS = {
    "once": "v = x[0]\n    b = {}\n    {}",
    "unrolled": "for v in x:\n        b = {}\n        {}",
    "a branch": "for v in x:\n        if v < 2:\n            b = {}\n            {}",
    "a static loop": (
        "i = paddle.to_tensor(0)\n    while i < 1:\n        v = x[i]\n        b = {}\n        {}\n"
        "        i += 1"
    ),
    "left early": (
        "for v in x:\n        b = {}\n        {}\n        if v > 1:\n            return v, b"
    ),
}

CASES = [
    (kind, change, place, flow)
    for kind, place, flow in itertools.product(KINDS, PLACES, FLOWS)
    for change in CHANGES[kind]
    if (place, flow) != ("attributes", "a static loop")
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("kind", "change", "place", "flow"), CASES)
def test_each_place_sees_the_change(kind: str, change: str, place: str, flow: str) -> None:
    """B4: the one that is chosen changes, whoever knows it, and the others stay as they are."""
    begin, pick, result = PLACES[place]
    text = f"""
import collections, paddle

class O:
    pass

def f(x):
    o = O()
    {begin.format(*KINDS[kind])}
    {FLOWS[flow].format(pick, change)}
    return {result}
"""
    assert_same(function_of(text, "f"), *X)


BODIES = {
    "a bucket of three": "t = [[], [], []]\n"
    "for v in x:\n    t[min(max(int(v), 0), 2)].append(v * 2)\n"
    "return t, [len(b) for b in t], [sum(b) for b in t]",
    "gradients": "p, q = [], []\nfor v in x:\n    (p if v > 0 else q).append(v * v)\n"
    "return sum(p) - 2 * sum(q)",
    "another choice": "p, q = [], []\na = p if x[0] > 0 else q\nb = q if x[1] > 0 else p\n"
    "a.append(x[2])\nb.append(x[3])\nreturn p, q, len(a), a is b",
    "the choice itself": "p, q = [1.0], []\na = p if x[0] > 0 else q\na += [x[1]]\na.append(2)\n"
    "return a, p, q, a is p",
    "in a list that a tensor chooses": "d, e = {}, {}\nt = [d] if x[0] > 0 else [e, 3]\n"
    "d[int(x[1])] = 5\nreturn t, d, e",
    "in a dict that a tensor chooses": "d = []\nt = {'k': d} if x[0] > 0 else {'k': [1]}\n"
    "d += [v for v in x.tolist() if v > 0]\nreturn t['k'], d",
    "in an object that a tensor chooses": "a, b = O(), O()\na.d, b.d = {}, {}\n"
    "o = a if x[0] > 0 else b\nd = a.d\ndel a\nd[int(x[1])] = 5\nreturn o.d, d, b.d",
    "a slice": "k = 1 if x[0] > 0 else 0\nd = [x, x * 2]\ne = d\nd[k:] = [x]\nreturn d, len(e)",
    "heaps": "h = {'a': [], 'b': []}\n"
    "for v in x:\n    heapq.heappush(h['a' if v > 0 else 'b'], -v)\nreturn h, len(h['a'])",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_else_knows_it(body: str) -> None:
    """B4: other choices, what is chosen and holds it, and what is computed of it."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"import heapq\n\nclass O:\n    pass\n\ndef f(x):\n{lines}\n"
    assert_same(function_of(text, "f"), *X)
