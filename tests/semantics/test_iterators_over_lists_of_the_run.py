"""Iterators over what has a length of the run are used up, as Python's are (C5, D1)."""

from __future__ import annotations

import textwrap

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [
    tensor(3.0, 1.0, 2.0, 5.0),
    tensor(-1.0, 4.0, -2.0, 0.5),
    tensor(-1.0, -1.0, 1.0, -1.0),
    tensor(-1.0, -1.0, -1.0, -1.0),
]

MADE = {
    "a generator expression": "(v + 1 for v in g)",
    "with a filter": "(v + 1 for v in g if v > 2)",
    "zip": "zip(g, at)",
    "enumerate": "enumerate(g)",
    "reversed": "reversed(g)",
    "map": "map(lambda v: v + 1, g)",
    "filter": "filter(lambda v: v > 2, g)",
    "combinations": "itertools.combinations(g, 2)",
    "chain": "itertools.chain(g, g)",
    "islice": "itertools.islice(g, 2)",
    "accumulate": "itertools.accumulate(g)",
    "pairwise": "itertools.pairwise(g)",
    "iter": "iter(g)",
    "of a dict": "iter({i: x[i] for i in at})",
}

TWICE = {
    "two lists": "return len(list(t)), len(list(t))",
    "two loops": "n = 0\nfor v in t:\n    n += 1\nfor v in t:\n    n += 1\nreturn n",
    "in a branch, and behind it": (
        "n = 0\nif x[0] > 0:\n    for v in t:\n        n += 1\nreturn n, len(list(t))"
    ),
    "in a loop": (
        "n = k = 0\nwhile k < 3 and x[k] > 0:\n    for v in t:\n        n += 1\n    k += 1\n"
        "return n"
    ),
    "in a call": "def count(t):\n    return len([v for v in t])\nreturn count(t), count(t)",
    "as the default": "a = len(tuple(t))\nreturn a, len(list(zip(t, g)))",
}

ONCE = {
    "on either side": (
        "n = 0\nif x[0] > 0:\n    for v in t:\n        n += 1\nelse:\n    n = len(list(t))\n"
        "return n"
    ),
    "in a branch": "n = 0\nif x[0] > 0:\n    for v in t:\n        n += 1\nreturn n",
    "next and the rest": "first = next(t, None)\nreturn first is None, len(list(t))",
    "next twice": "a, b = next(t, None), next(t, None)\nreturn a is None, b is None, len([*t])",
    "its length": "try:\n    return len(t)\nexcept TypeError as error:\n    return str(error)",
    "what it is": "return bool(t), isinstance(t, list), t is None",
}


def of(made: str, use: str) -> object:
    """A function that makes an iterator, and uses it."""
    body = f"g = [v * 2 for v in x if v > 0]\nat = list(range(len(g)))\nt = {made}\n{use}"
    return function_of("import itertools\n\ndef f(x):\n" + textwrap.indent(body, "    "), "f")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("use", TWICE)
def test_nothing_is_left_behind_the_first_loop(use: str, made: str) -> None:
    """D1: it began anew, silently; as one program that is refused now."""
    function = of(MADE[made], TWICE[use])
    with pytest.raises(UnsupportedInGraphError, match="a second time"):
        d2s.to_static(function, full_graph=True)(X[0])


@pytest.mark.parametrize("use", TWICE)
def test_nothing_is_left_between_islands(use: str) -> None:
    """H1: by default it runs as in dygraph."""
    function = of(MADE["zip"], TWICE[use])
    assert_same(function, *X, static=d2s.to_static(function, full_graph=False), grad=False)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("use", ONCE)
def test_what_is_left_is_what_python_has(use: str, made: str) -> None:
    """C5, D1: an iterator that no run takes items from again."""
    assert_same(of(MADE[made], ONCE[use]), *X, grad=False)


@pytest.mark.parametrize("made", ["zip", "map", "a generator expression"])
def test_an_iterator_as_a_result(made: str) -> None:
    """F4: it would be used when the program is gone; a list was what came of it."""
    kind = "generator" if " " in made else made
    with pytest.raises(UnsupportedInGraphError, match=f"type '{kind}' that has tensors"):
        d2s.to_static(of(MADE[made], "return t"), full_graph=True)(X[0])


VALUES = [
    "it = iter(g)\nheld = next(it, None)\nfor v in it:\n    z = z + v * 2\n"
    "return z if held is None else z + held * 100",
    "z = zip(g, g[1:])\nfirst = next(z, None)\nif first is None:\n    return x.sum()\n"
    "return first[0] * 2, [a * b for a, b in z]",
    "it = iter(g)\nfirst = next(it)\nreturn first * 2, [v for v in it]",
    "it = iter(g)\ntry:\n    z = next(it)\nexcept StopIteration:\n    return x.sum()\nreturn z",
    "if x[1] > 0:\n    it = iter(g)\n    z = next(it, x[1])\n    g = list(it)\nreturn z, g",
    "return sum(v + 1 for v in iter(g)), max(map(float, g), default=0.0)",
    "out = [x[0]]\nout.extend(v + 1 for v in g)\nout += map(lambda v: v * 2, g)\nreturn out",
    "g.extend(v + 1 for v in list(g))\ng += (v for v in g[1:])\nreturn g",
    "return ','.join(map(str, range(len(g)))), 2 in map(int, g), sorted(map(float, g))",
]


@pytest.mark.sampled(
    2, also=["return sum(v + 1 for v in iter(g)), max(map(float, g), default=0.0)", "body1"]
)
@pytest.mark.parametrize("body", VALUES)
def test_items_with_their_gradients(body: str) -> None:
    """C7, E1: those that ``next`` has taken, and those that are left."""
    text = f"g = [v * 2 for v in x if v > 0]\nz = x.sum() * 0\n{body}"
    assert_same(function_of("def f(x):\n" + textwrap.indent(text, "    "), "f"), *X)


@pytest.mark.parametrize(
    "body", ["if x[1] > 0:\n    a = next(it, a)", "while a < 9:\n    a = a + next(it, 9)"]
)
def test_next_in_a_branch_of_an_iterator_around_it(body: str) -> None:
    """F4: how far it has come is known to the run only."""
    text = f"a = x[0]\nit = iter([v * 2 for v in x if v > 0])\n{body}\nreturn a, list(it)"
    function = function_of("def f(x):\n" + textwrap.indent(text, "    "), "f")
    with pytest.raises(UnsupportedInGraphError, match="takes an item"):
        d2s.to_static(function, full_graph=True)(X[0])
