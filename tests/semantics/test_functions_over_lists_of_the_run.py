"""``reduce``, ``map``, ``chain`` and others over lists whose length a tensor decides (C5, D1)."""

from __future__ import annotations

import textwrap

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [tensor(0.55, 0.72, 0.6, 0.4), tensor(0.4, 0.3, 0.1, 0.2), tensor(0.9, 0.1, 0.8, 0.7)]

EXPRESSIONS = [
    "functools.reduce(lambda a, b: a * 0.5 + b, reversed(list(c)), x[0] * 0)",
    "functools.reduce(lambda a, b: a + b, c, 0.0)",
    "functools.reduce(lambda a, b: a * 0.5 + b, [x[0], *c])",
    "sum(itertools.chain(c, [x[1]], c))",
    "list(itertools.islice(c, 2))",
    "[a * b for a, b in itertools.pairwise(c)]",
    "sum(map(lambda a, b: a * b, c, c[1:]), x[0] * 0)",
    "len(list(map(lambda v: v * 2, c))), len([v for v in filter(lambda v: v > 0.6, c)])",
    "(c or [x[0] * 0])[-1]",
    "len(c or [x[0], x[1]]), len([0.0, *reversed(c)])",
    "[a * b for a, b in itertools.combinations(c, 2)], list(itertools.combinations(c, 3))",
    "sum(c[i] * j for i, j in itertools.combinations(range(len(c)), r=2))",
    "[a * d for (a, b), (d, e) in itertools.combinations(zip(c, c[1:]), 2)]",
    "list(itertools.combinations_with_replacement(range(len(c)), 2))",
    "[a - b * 2 for a, b in itertools.permutations(c, 2)]",
    "[a * b for a, b in itertools.product(c, c[1:])]",
    "list(itertools.product(range(len(c)), [1, 2]))",
    "[a * b - d for a, b, d in itertools.product(c, repeat=3)]",
    "list(itertools.product(c, range(len(c) - 2)))",
    "any(a > b for a, b in itertools.combinations(c, 2))",
    "list(itertools.accumulate(c)), list(itertools.accumulate(c, lambda a, b: a * b))",
    "list(itertools.accumulate(c[3:])), list(itertools.accumulate(c, max, initial=x[0]))",
    "list(itertools.starmap(lambda a, b: a * b, zip(c, c[1:])))",
]

LOOPS = {
    "straight": "for a, b in {over}:\n    s = s + a * b",
    "in a branch": "if x.sum() > 1:\n    for a, b in {over}:\n        s = s + a * b",
    "in a loop": (
        "k = 0\nwhile x[k] > 0.2 and k < 3:\n    for a, b in {over}:\n        s = s + a * b * k\n"
        "    k += 1"
    ),
    "left early": (
        "for a, b in {over}:\n    s = s + a * b\n    if s > 0.5:\n        return s, a\nelse:\n"
        "    s = s - 1"
    ),
    "while the list grows": "for a, b in {over}:\n    c.append(a + b)\n    s = s + a * len(c)",
}
PAIRS = ["itertools.combinations(c, 2)", "itertools.permutations(c, 2)", "itertools.product(c, c)"]


def of(expression: str, before: str = "") -> object:
    """A function of ``x`` that gives this of a list ``c`` of those that are large."""
    return function_of(
        f"""
import functools, itertools

def f(x):
    c = []
    for i in range(4):
        if x[i] > 0.5:
            c.append(x[i])
    s = x.sum() * 0
{textwrap.indent(before, "    ")}
    return {expression}
""",
        "f",
    )


@pytest.mark.sampled(
    3,
    also=[
        "list(itertools.starmap(lambda a, b: a * b, zip(c, c[1:])))",
        "sum(c[i] * j for i, j in itertools.combinations(range(len(c)), r=2))",
    ],
)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_function_over_a_list_of_the_run(expression: str) -> None:
    """C5, D1: functions of Python that go over a list go over one of the run."""
    assert_same(of(expression), *X)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("over", PAIRS)
@pytest.mark.parametrize("place", LOOPS)
def test_a_loop_over_pairs_of_a_list_of_the_run(place: str, over: str) -> None:
    """C5, D1: of the items that the list has when the loop begins."""
    assert_same(of("s, len(c)", LOOPS[place].format(over=over)), *X)


def test_reduce_of_nothing_raises_on_the_run() -> None:
    """F1: in Python's words, only where there is nothing."""
    f = of("functools.reduce(lambda a, b: a + b, c)")
    assert_same(f, X[0], X[2])
    with pytest.raises(TypeError, match="empty iterable with no initial value"):
        d2s.to_static(f, full_graph=True)(X[1])


def test_one_of_two_lists_that_another_name_knows_is_not_changed_behind_its_back() -> None:
    """B4: what stands for one of two lists is refused a change that the other would not see."""
    for change in ("c.append(x[2])", "top.append(x[2])"):
        text = f"""
def f(x):
    c = []
    for i in range(4):
        if x[i] > 0.5:
            c.append(x[i])
    top = c or [x[0] * 0]
    {change}
    return top, c
"""
        with pytest.raises(ContainerInGraphError, match=r"put into another one|as a tensor"):
            d2s.to_static(function_of(text, "f"), full_graph=True)(X[0])


PUT = {
    "extend": ("[x[0]]", "out.extend(c)"),
    "extend by numbers": ("[1.0]", "out.extend(float(v) for v in c)"),
    "extend by a tuple": ("[]", "out.extend(tuple(c))"),
    "extend by a part": ("[]", "out.extend(c[1:])"),
    "extend two times": ("[]", "out.extend(c)\n    out.extend(c)"),
    "deque.extend": ("collections.deque([x[0]], maxlen=3)", "out.extend(c)"),
    "deque.extendleft": ("collections.deque()", "out.extendleft(c)"),
    "set.update": ("{7}", "out.update(int(v * 10) for v in c)"),
}
PLACES = {
    "a variable": "out = {made}\n    {put}\n    return sorted(out) if {is_set} else list(out)",
    "another name": "out = same = {made}\n    {put}\n    return len(out), len(same), same is out",
    "an item": "held = [{made}]\n    out = held[0]\n    {put}\n    return len(held[0]), len(out)",
    "in a loop": (
        "out = {made}\n    t = x.sum()\n    while t > 0:\n        {deep}\n        t = t - 2\n"
        "    return len(out)"
    ),
    "unrolled": "out = {made}\n    for _ in range(2):\n        {deep}\n    return len(out)",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PUT)
def test_all_items_are_put_in(name: str, place: str) -> None:
    """D1, B4: as the loop over the items that puts in one after the other."""
    made, put = PUT[name]
    body = PLACES[place].format(
        made=made, put=put, deep=put.replace("\n    ", "\n        "), is_set=name == "set.update"
    )
    function = function_of(
        "import collections\n\ndef f(x):\n    c = []\n    for i in range(4):\n"
        f"        if x[i] > 0.5:\n            c.append(x[i])\n    {body}",
        "f",
    )
    assert_same(function, *[(x,) for x in X])


def test_a_list_that_is_kept() -> None:
    """F4: a list of the state is longer after each run."""

    class Stream:
        def __init__(self) -> None:
            self.ids: list[object] = []

        def feed(self, x):
            found = [v for v in x if v > 0.5]
            self.ids.extend(found)
            return len(found)

    plain, static = Stream(), Stream()
    feed = d2s.to_static(static.feed, full_graph=True)
    for x in X:
        assert feed(x) == plain.feed(x)
        assert [float(v) for v in static.ids] == [float(v) for v in plain.ids]
