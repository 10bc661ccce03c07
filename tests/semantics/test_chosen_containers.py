"""Dicts, sets, deques and their like that a tensor has chosen, or of which it chooses the key."""

from __future__ import annotations

import collections
import textwrap
from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor


class Asked:
    """An object that counts how often it is asked for an item."""

    def __init__(self) -> None:
        self.n = 0

    def __getitem__(self, key: str) -> str:
        self.n += 1
        return key


class Filled(dict):  # type: ignore[type-arg]
    """A dict that makes what is missing."""

    def __missing__(self, key: str) -> list[str]:
        self[key] = [key]
        return self[key]


def _function(body: str) -> Any:
    text = f"def f(x, t):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    known = {name: getattr(collections, name) for name in ("Counter", "OrderedDict", "deque")}
    return function_of(
        text, Asked=Asked, Filled=Filled, defaultdict=collections.defaultdict, **known
    )


def _compared(body: str) -> None:
    x = tensor(1.0, 0.5, 3.0)
    assert_same(_function(body), (x, scalar(1.0)), (x, scalar(-1.0)), (-x, scalar(1.0)))


CHANGED = {
    "two keys": (
        "{}, {'z': 1}",
        "c['x'] = 1\nc['y'] = x\nc['x'] += 1\ndel c['y']\nc['w'] = 2",
    ),
    "two names": ("{}, {'z': 1}", "d = c\nc['x'] = 1\nd['y'] = 2\nc['w'] = 3"),
    "ordered": (
        "OrderedDict(a=1), OrderedDict(b=1, a=5)",
        "c.move_to_end('a')\nc['z'] = x\nc['a'] = 2\nc.popitem(last=False)\nc['y'] = 1",
    ),
    "order alone": ("OrderedDict(a=1, b=2), OrderedDict(b=1, a=5)", "c.move_to_end('a')"),
    "counter": ("Counter(), Counter('ab')", "c['n'] += 1\nc.update(['m', 'm'])\nc.subtract('n')"),
    "set": ("set(), {9}", "c.add(1)\nc.add(2)\nc.discard(9)\nc |= {5}"),
    "items of a set": ("{1}, {2}", "c ^= {1, 2}"),
    "deque": ("deque(maxlen=2), deque([7])", "c.append(1)\nc.appendleft(2)\nc.extend([3, 4])"),
    "lists in a dict": (
        "{}, {}",
        "c.setdefault('k', []).append(x)\nc.setdefault('k', []).append(1)\nc['j'] = [2]",
    ),
    "lists in a defaultdict": (
        "defaultdict(list), defaultdict(list)",
        "c['k'].append(1)\nc['j'].append(2)\nc['k'] += [3]\nc['k'][0] = 7",
    ),
    "sets": (
        "defaultdict(set), defaultdict(set)",
        "c['k'].add(1)\nc['k'].add(2)\nc['j'].add(2)",
    ),
    "deques": (
        "defaultdict(lambda: deque(maxlen=2)), defaultdict(lambda: deque(maxlen=2))",
        "c['k'].append(1)\nc['k'].append(2)\nc['k'].appendleft(3)",
    ),
}
"""Two containers, and what is done with the one of them that is chosen."""


@pytest.mark.parametrize("kind", CHANGED)
@pytest.mark.sampled(2)
def test_each_change_reaches_the_one_that_is_meant(kind: str) -> None:
    """B4: several changes, one behind the other, are seen under every name."""
    made, changes = CHANGED[kind]
    _compared(f"a, b = {made}\nc = a if t > 0 else b\n{changes}\nreturn a, b, c, len(c)")


def test_chosen_in_trips() -> None:
    """B4: each trip changes another one."""
    _compared(
        """
        a, b = defaultdict(list), defaultdict(list)
        for i in range(3):
            c = a if x[i] > 1 else b
            c[i % 2].append(i)
            c[7].append(x[i])
        return a, b
        """
    )


CHOSEN_IN_A_BRANCH = {
    "dicts": (
        "a, b = {}, {}\na[int(x.argmax())] = 1\nb[int(x.argmin())] = 2",
        "c[11] = 1",
        "c[12] = 5\nc[13] = x",
    ),
    "lists": (
        "a, b = [], [x.sum()]\nfor v in x:\n    if v > 0.7:\n        a.append(v)",
        "c.append(x.sum())",
        "c.append(x.min())\nc.insert(0, x.max())",
    ),
}
"""Containers whose length a tensor decides, what a side does with one, and what is done behind."""


@pytest.mark.parametrize("kind", CHOSEN_IN_A_BRANCH)
def test_changed_in_the_branch_that_chooses_it(kind: str) -> None:
    """B4: what a branch has changed and given another name is the same one behind it."""
    made, inside, behind = CHOSEN_IN_A_BRANCH[kind]
    _compared(
        f"{made}\nif t > 0:\n    c = a\n    {inside}\nelse:\n    c = b\n{behind}\n"
        "return a, b, len(c)"
    )


@pytest.mark.parametrize(
    ("made", "inside", "behind"),
    [
        ("[x], [x + 1]", "a[0] = x * 2", "c[0] = x * 3"),
        ("{'k': x}, {'k': 1}", "a['k'] = x * 2", "c['k'] = x * 3"),
    ],
)
def test_changed_and_given_two_names(made: str, inside: str, behind: str) -> None:
    """B4: names that two containers exchange do not bring back what one has held before."""
    _compared(
        f"a, b = {made}\nif t > 0:\n    {inside}\n    c, e = a, b\nelse:\n    c, e = b, a\n"
        f"{behind}\nreturn a, b, len(e)"
    )


def test_results_under_numbers_and_texts() -> None:
    """G1: a call that is made in dygraph may give a dict whose keys have no order."""

    def f(x: Any, t: Any) -> Any:
        a, b = {}, {}
        c = a if t > 0 else b
        for i in range(3):
            c[i] = x[i]
            if x[i] > 1:
                c["big"] = i
        return a, b

    plain = d2s.to_static(f, full_graph=False)
    for sign in (1.0, -1.0, 1.0, 1.0):
        x = tensor(1.0, 2.0, 3.0)
        x.stop_gradient = False
        made, expected = plain(x * sign, sign * x[0]), f(x * sign, sign * x[0])
        assert [list(each) for each in made] == [list(each) for each in expected]


KEYS = {
    "defaultdict": "a = defaultdict(list)\na[k].append(x)\na[k].append(x + 1)\na['z'].append(1)",
    "read": "a = defaultdict(int)\nv = a[k]\na[k] += 2",
    "tuples": "k = (k, 1)\na = defaultdict(set)\na[k].add(3)\na[k].add(4)",
    "setdefault": "a = {}\na.setdefault(k, []).append(1)\na.setdefault(k, []).append(2)",
    "get": "a = {}\na[k] = a.get(k, 0) + 1\na[k] = a.get(k, 0) + 1",
    "missing": "a = Filled()\nv = a[k]",
    "counted": "r = Asked()\nv = r[k]\na = v, r.n",
    "in a dict of dicts": "a = {'p': {}, 'q': {}}\na[k]['n'] = 1\na[k]['m'] = 2",
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.sampled(2)
def test_only_the_key_that_is_meant_is_asked_for(kind: str) -> None:
    """B4, A1: a dict gets the key that the run chooses, no other one; no code runs for another."""
    _compared(f"k = 'p' if t > 0 else 'q'\n{KEYS[kind]}\nreturn a")


BY_NAME = {
    "dict": (
        "{'n': 0}, {'n': 5, 'z': 1}",
        "c.__setitem__('n', c.__getitem__('n') + 1)\nc.__setitem__('q', x)\nc.__delitem__('n')",
    ),
    "list": ("[1, 2], [3]", "c.__setitem__(0, 9)\nc.__iadd__([4])"),
    "set": ("{1}, {2, 3}", ""),
    "text": ("'ab', 'c'", ""),
}


@pytest.mark.parametrize("kind", BY_NAME)
def test_methods_that_python_calls_by_their_names(kind: str) -> None:
    """E1: ``c.__contains__(k)`` is ``k in c``, and so on."""
    made, changes = BY_NAME[kind]
    _compared(
        f"a, b = {made}\nc = a if t > 0 else b\n{changes}\n"
        "return c.__contains__('a'), c.__len__(), a, b, [v for v in c.__iter__()]"
    )


def test_by_their_names_where_the_run_knows_the_key() -> None:
    """E1: the same for keys and lengths of the run."""
    _compared(
        """
        a, k = {0: x, 1: x + 1, 2: x * 2}, int(x.argmax())
        rows = []
        for v in x:
            if v > 0.7:
                rows.append(v)
        return a.__getitem__(k), a.__contains__(k), rows.__len__(), rows.__contains__(3.0)
        """
    )


VIEWS = {
    "two names": "m = c['k']\nl.append(2)\nn = len(m)",
    "another item": "c['j'].append(5)\nl.append(2)",
    "in a branch": "if x.sum() > 3:\n    l.append(2)",
    "replaced": "c['k'] = [9]\nl.append(2)",
}


@pytest.mark.parametrize("kind", VIEWS)
def test_an_item_that_others_may_know_is_not_changed(kind: str) -> None:
    """D2: a list that was read out of one of several dicts is changed, or refused; never a copy."""
    function = _function(
        "a, b = defaultdict(list), defaultdict(list)\nc = a if t > 0 else b\n"
        f"l = c['k']\nl.append(1)\n{VIEWS[kind]}\nreturn a, b, l"
    )
    with pytest.raises(ContainerInGraphError, match="taken out of"):
        d2s.to_static(function, full_graph=True)(tensor(1.0, 3.0), scalar(1.0))
    plain = d2s.to_static(function, full_graph=False)
    for sign in (1.0, -1.0):
        given = tensor(1.0, 3.0), scalar(sign)
        assert plain(*given) == function(*given)
