"""Iterators over a list or deque that has got an item under a tensor, or has not (B3, C5)."""

from __future__ import annotations

import itertools

import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

INPUTS = (
    tensor(1.0, 2.0, 3.0, 4.0),
    tensor(-1.0, 2.0, 3.0, 4.0),
    tensor(1.0, 0.5, -3.0, -4.0),
)
KINDS = ("[]", "[x[3]]", "collections.deque()", "collections.deque([x[3]], maxlen=1)")

TAKEN_AT_ONCE = (
    "sum(item for item in items)",
    "[item * 2 for item in map(abs, items)]",
    "sum(reversed(items))",
    "tuple(reversed(items))",
    "sum(i * item for i, item in enumerate(items, start=1))",
    "dict(enumerate(items))",
    "dict(zip('ab', items))",
    "[a + b for a, b in zip(items, items)]",
    "[list(pair) for pair in zip(items, x)]",
    "list(filter(lambda item: item is not None, items))",
    "list(map(lambda a, b: a - b, items, items))",
    "functools.reduce(lambda a, b: a * 10 + b, items, x[3])",
    "list(itertools.accumulate(items))",
    "list(itertools.chain(items, [x[0]]))",
    "list(itertools.islice(items, 1, None))",
    "[a * b for a, b in itertools.product(items, repeat=2)]",
    "list(itertools.zip_longest(items, [x[0], x[1]], fillvalue=x[2]))",
    "[a + b for a, b in itertools.pairwise([x[0], *items, x[1]])]",
    "any(map(lambda item: item > 1, items)), all(map(lambda item: item > 1, items))",
    "max((item for item in items), default=x[2])",
    "sorted(map(abs, items))",
    "next(iter(items), x[2])",
    "next(reversed(items), None)",
    "next((item for item in items if item > 1), x[2])",
    "len(list(enumerate(items)))",
)


def made(kind: str, *lines: str) -> object:
    body = "\n".join(f"    {line}" for line in lines)
    return function_of(
        "import collections, functools, itertools\n\n\n"
        f"def f(x):\n    items = {kind}\n    if x[0] > 0:\n        items.append(x[1])\n{body}\n"
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", TAKEN_AT_ONCE)
def test_taken_at_once(use: str, kind: str) -> None:
    """C5: each of the built-in iterators goes over the one that the run has made."""
    assert_same(made(kind, f"return {use}"), *INPUTS)


@pytest.mark.parametrize(
    "lines",
    [
        (
            "for i, item in enumerate(items):",
            "    if item > 1:",
            "        return item * i",
            "return x[2]",
        ),
        (
            "y = x[2]",
            "for i, item in enumerate(reversed(items)):",
            "    y = y * i + item",
            "return y",
        ),
        ("later = iter(items)", "a = next(later, x[2])", "return a, sum(later), next(later, x[3])"),
        ("later = reversed(items)", "return sum(later), sum(later)"),
        ("return next(iter(items))",),
    ],
)
def test_taken_one_by_one(lines: tuple[str, ...]) -> None:
    """C5: what is left of such an iterator is known where each run has come as far."""
    for kind in KINDS[:2]:
        assert_same(made(kind, *lines), *INPUTS)


@pytest.mark.parametrize("changed", ["item = map(abs, items)", "item = enumerate(items)"])
def test_a_deque_that_changes_under_its_iterator(changed: str) -> None:
    """F3: Python's own error for a deque that changes while it is iterated, on the run."""
    assert_same(made(KINDS[2], changed, "items.append(x[2])", "return list(item)"), *INPUTS)


@pytest.mark.parametrize("taken", ["sum(later)", "max(later, default=x[3])", "next(later, x[2])"])
@pytest.mark.parametrize("iterator", ["iter(items)", "(item for item in items)", "map(abs, items)"])
def test_taken_in_a_branch_and_behind_it(iterator: str, taken: str) -> None:
    """C5: how far such an iterator has come only the run knows; it is refused, not taken twice."""
    function = made(
        KINDS[1],
        f"later = {iterator}",
        "y = x[0]",
        "if x[1] > 1:",
        f"    y = {taken}",
        "return y + sum(later)",
    )
    with pytest.raises(D2SError) as error:
        d2s.to_static(function, full_graph=True)(INPUTS[0])
    assert error.value.code in ("D2S203", "D2S205")


OF_TWO_FORMS = (
    *(use for use in TAKEN_AT_ONCE if "'ab'" not in use and "zip_longest" not in use),
    "next((item for item in items if item > 1), x[2])",
    "sum([a + b for a, b in zip((v * 2 for v in items), items)])",
    "sum(map(math.sqrt, items))",
    "','.join(map(str, [int(v) for v in items]))",
    "list(itertools.starmap(lambda a, b: a + b, zip(items, items)))",
    "list(itertools.takewhile(lambda v: v < 3, items))",
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("use", OF_TWO_FORMS)
def test_one_of_several_of_which_the_run_decides_a_length(use: str) -> None:
    """C5: a list of Python on some paths, and one that has grown in a loop on others."""
    f = function_of(f"""
import collections, functools, itertools, math

def f(x):
    items = []
    for v in x:
        if v < 0:
            return 0.0, items
        items.append(v * 2)
    if not items:
        return 0.0, []
    return {use}
""")
    assert_same(f, *INPUTS)


GROUPS = (
    "return [k for k, _ in itertools.groupby(ids) if k != 0]",
    "return [(k, len(list(g))) for k, g in itertools.groupby(ids)]",
    "return [(k, len(list(g))) for k, g in itertools.groupby(sorted(ids))]",
    "return [(k, sum(g)) for k, g in itertools.groupby(some, key=lambda v: v > 2)]",
    "return [[k, max(v for _, v in g)] for k, g in itertools.groupby(pairs, key=lambda t: t[0])]",
    "return [(k, len(list(g))) for k, g in itertools.groupby(pairs)]",
    "return [f'{k}{len(list(g))}' for k, g in itertools.groupby(names)]",
    "return max((len(list(g)) for k, g in itertools.groupby(some, lambda v: v > 1)), default=0)",
    "n = 0\n    for k, g in itertools.groupby(some, key=int):\n        n += 1\n"
    "        if k == 2: break\n    return n",
    "g = itertools.groupby(ids); k, _ = next(g)\n    return k, [k for k, _ in g]",
    "out = []\n    for k, g in itertools.groupby(grown, key=lambda v: v.floor()):\n"
    "        t = x.sum() * 0\n        for v in g: t = t + v\n        out.append((k, t))\n"
    "    return out",
    "return [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 3], lambda v: v > 1)], x",
    "return list(itertools.takewhile(lambda v: v < 2, ids)), [*itertools.takewhile(pos, some)]",
    "return list(itertools.dropwhile(lambda v: v < 2, ids)), [*itertools.dropwhile(pos, some)]",
    "return sum(itertools.takewhile(lambda v: v < 2, some)), [v for v in"
    " itertools.dropwhile(lambda v: v < 2, grown)]",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("use", GROUPS)
def test_groups_and_beginnings(use: str) -> None:
    """C5, E1: ``itertools.groupby``, ``takewhile`` and ``dropwhile`` where a tensor decides."""
    f = function_of(
        f"""
import itertools

def pos(v):
    return v < 3

def f(x):
    ids = x.argmax(-1).tolist()
    some = [v for v in x.flatten().tolist() if v > 0.5]
    grown = [v for v in x.flatten() if v > 0.5]
    pairs = [(int(v > 1), v) for v in x.flatten().tolist()]
    names = ["a" if v > 1 else "b" for v in x.flatten().tolist()]
    {use}
""",
        "f",
    )
    rows = (
        [0.0, 1.0, 2.0, 0.0, 1.5, 2.5, 3.0, 1.0, 2.0, 3.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0, 0.0],
        [0.0] * 9 + [-1.0, -2.0, -3.0],
    )
    assert_same(f, *(tensor(*each).reshape([4, 3]) for each in rows))


def test_keys_of_groups_are_asked_for_once() -> None:
    """A1: of Python's items, and of tensors under keys of Python, when it is their turn."""
    said: list[str] = []

    def key(item):
        said.append(f"key {item[0]}")
        return item[0]

    def f(x):
        said.clear()
        for items in ([("a", 1), ("a", 2), ("b", 3)], [("a", x), ("b", x * 2), ("b", x)]):
            for k, group in itertools.groupby(items, key):
                said.append(f"{k}: {len(list(group))}")
        return list(said), x + 1

    def late(x):
        said.clear()
        items = [("a", v) for v in x]
        found = [len(list(g)) for _, g in itertools.groupby(items, lambda p: key(p) and p[1] > 1)]
        return found, len(said)

    assert_same(f, *INPUTS)
    assert_same(late, *INPUTS)


def test_groups_that_are_kept() -> None:
    """C5: of Python's, a group is gone when the next one is asked for; it cannot be kept."""

    def f(x):
        groups = [(k, g) for k, g in itertools.groupby(x.tolist())]
        return [list(g) for _, g in groups]

    with pytest.raises(D2SError) as raised:
        d2s.to_static(f, full_graph=True)(INPUTS[0])
    assert raised.value.code == "D2S207"
