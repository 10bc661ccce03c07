"""Objects, lists and dicts that a loop goes over and changes as a tensor decides (B4, C1)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

CHANGES = """
class Track:
    def __init__(self, v):
        self.v, self.hits = v, 1
    def hit(self, by=1):
        self.hits = self.hits + by
def all_of(ts):
    return [(t.v, t.hits) for t in ts]
def f(x):
    ts = [Track(r) for r in x]
"""

LEFT_EARLY = {
    "a list": "for t in ts:",
    "an enumerate": "for _, t in enumerate(ts):",
    "a zip": "for t, _ in zip(ts, x):",
    "reversed": "for t in reversed(ts):",
    "the values of a dict": "for t in dict(enumerate(ts)).values():",
    "a generator": "for t in (u for u in ts):",
    "a map": "for t in map(lambda u: u, ts):",
    "an iterator": "for t in iter(ts):",
}


@pytest.mark.sampled(4, also=["t.hits += 1-a generator"])
@pytest.mark.parametrize("source", LEFT_EARLY)
@pytest.mark.parametrize("change", ["t.hits += 1", "t.hit()", "t.v = t.v + 1"])
def test_items_behind_a_break_stay_as_they_are(source: str, change: str) -> None:
    """C1, B4: what only an item leads to was changed on runs that had left the loop."""
    plain = function_of(
        f"{CHANGES}    {LEFT_EARLY[source]}\n        {change}\n        if t.v > 2:\n"
        "            break\n    return all_of(ts)\n",
        "f",
    )
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(3.0, 1.0, 0.0), tensor(0.0, 1.0, 0.5), static=converted)


CONTAINERS_AS_ITEMS = {
    "dicts": ("{'v': r, 'n': 1}", "t['n'] += 1", "t['v']"),
    "lists": ("[r, 1]", "t[1] += 1", "t[0]"),
    "nested": ("{'v': r, 'n': [1]}", "t['n'][0] += 1", "t['v']"),
}


@pytest.mark.parametrize("kind", CONTAINERS_AS_ITEMS)
def test_containers_behind_a_break_stay_as_they_are(kind: str) -> None:
    """C1, B4: the same of lists and dicts that are items."""
    item, change, value = CONTAINERS_AS_ITEMS[kind]
    plain = function_of(
        f"def f(x):\n    ts = [{item} for r in x]\n    for t in ts:\n        {change}\n"
        f"        if {value} > 2:\n            break\n    return ts\n",
        "f",
    )
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(3.0, 1.0, 0.0), tensor(0.0, 1.0, 0.5), static=converted)


ONE_OF_SEVERAL = {
    "a for": "for t in ts:\n        t.hits += 1",
    "a method": "for t in ts:\n        t.hit()",
    "a text": "for t in ts:\n        t.hits = str(t.hits) + 'a'",
    "a tensor": "for t in ts:\n        t.v = t.v + 1",
    "loops": "for _ in range(2):\n        for t in ts:\n            t.hits += 1",
    "a branch": "for t in ts:\n        if t.v > 1:\n            t.hits += 1",
    "a dict": "d = dict(enumerate(ts))\n    if x[1] > 0:\n        d.pop(0)\n"
    "    for t in d.values():\n        t.hits += 1",
}


@pytest.mark.parametrize("name", ONE_OF_SEVERAL)
def test_items_of_one_of_several_lists_are_changed_once(name: str) -> None:
    """B4: an object in more than one of the lists was changed for each of them."""
    text = f"{CHANGES}    if x[0] > 0:\n        ts.pop()\n    {ONE_OF_SEVERAL[name]}\n"
    plain = function_of(f"{text}    return all_of(ts)\n", "f")
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(3.0, 1.0), tensor(-1.0, 2.0), tensor(1.0, -1.0), static=converted)


IN_EXPRESSIONS = {
    "a comprehension": "[t.hit() for t in ts]",
    "a sum": "sum(one(t) for t in ts)",
    "a filter": "[t.v for t in ts if one(t)]",
    "a map": "list(map(one, ts))",
}


@pytest.mark.parametrize("name", IN_EXPRESSIONS)
def test_an_expression_that_changes_items_of_one_of_several(name: str) -> None:
    """B4: the objects are changed once, not once for each of the lists."""
    text = f"{CHANGES}    def one(t):\n        t.hits += 1\n        return 1\n    if x[0] > 0:\n"
    text += f"        ts.pop()\n    n = {IN_EXPRESSIONS[name]}\n    return n, all_of(ts)\n"
    plain = function_of(text, "f")
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(3.0, 1.0), tensor(-1.0, 2.0), tensor(1.0, -1.0), static=converted)


OVER_ONE_OF_SEVERAL = [
    "[put(v) for v in rows]",
    "sum(put(v) for v in rows)",
    "any(put(v) > 2 for v in rows)",
    "all(put(v) > -99 for v in rows)",
    "next(put(v) for v in rows)",
    "max(put(v) for v in rows)",
    "tuple(put(v) for v in rows)",
    "{k: put(v) for k, v in enumerate(rows)}",
    "[v for v in rows if put(v) > 2]",
    "[put(v) + w.sum() for v, w in zip(rows, rows)]",
    "[made.setdefault('b', []).append(v) for v in rows]",
    "[made.update({name + 'x': names[name]}) for name in list(names)]",
    "[made.update({name: x}) for name in names]",
    "{name: [row[name] for row in (names, names)] for name in names}",
    "[names[name] * k for k, name in enumerate(names)]",
    "[x * k for k in (range(2) if x.sum() > 1 else range(0, 2))]",
]


@pytest.mark.parametrize("form", OVER_ONE_OF_SEVERAL)
@pytest.mark.parametrize("kept", ["made['k%d' % len(made)] = v", "log.append(v)", "log[0] += 1"])
def test_what_a_comprehension_over_one_of_several_changes(form: str, kept: str) -> None:
    """B4, C6: what its parts change is changed on the side that the run takes, and only there."""
    text = (
        "def f(x):\n    made, log = {}, [0]\n    rows = [x, x + 1] if x.sum() > 0 else [x]\n"
        "    a, b = {'a': x, 'b': x + 1}, {'a': x * 2, 'b': x - 1}\n"
        "    names = a if x.sum() > 0 else b\n"
        f"    def put(v):\n        {kept}\n        return v.sum()\n"
        f"    y = {form}\n    return y, made, log, a, b\n"
    )
    plain = function_of(text, "f")
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(1.0, 2.0), tensor(-1.0, -2.0), tensor(3.0, -2.5), static=converted)


def test_a_dict_that_a_comprehension_over_it_changes() -> None:
    """D3: it raises what Python raises where the run has chosen that dict, and only there."""
    body = (
        "def f(x):\n    a, b = {'a': x, 'b': x + 1}, {'a': x * 2, 'b': x - 1}\n"
        "    names = a if x.sum() > 0 else b\n"
        "    return [a.update({name + 'x': x}) for name in names], a, b\n"
    )
    plain = function_of(body, "f")
    converted = d2s.to_static(plain, full_graph=True)
    assert_same(plain, tensor(1.0, 2.0), tensor(-1.0, -2.0), static=converted)


@pytest.mark.parametrize("use", ["values", "items"])
def test_values_of_a_dict_of_the_run_are_not_changed_unseen(use: str) -> None:
    """D3: the change was lost, and then refused; the objects are known by reference now."""
    target = "t" if use == "values" else "_, t"
    plain = function_of(
        f"{CHANGES}    d = {{}}\n    for t in ts:\n        if t.v > 0:\n            d[int(t.v)] = "
        f"Track(t.v)\n    for {target} in d.{use}():\n        t.hits += 1\n"
        "    return all_of(d.values())\n",
        "f",
    )
    for x in (tensor(3.0, 1.0), tensor(-3.0, 2.0)):
        assert_same(plain, x, static=d2s.to_static(plain, full_graph=True))
