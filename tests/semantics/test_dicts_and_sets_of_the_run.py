"""Dicts and sets that get keys which only the run knows (rules D1, D2)."""

from __future__ import annotations

import collections
import operator
import warnings
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

NUMBERS = (
    paddle.to_tensor([1, 3, 5, 2, 6, 4]),
    paddle.to_tensor([3, 3, 1, 1, 9, 3]),
    paddle.to_tensor([0, 1, 2, 3, 4, 5]),
)


def called(body: str) -> object:
    """A function of one tensor with this body."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return function_of(f"import collections, heapq, paddle\n\ndef f(x):\n{lines}", "f")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "body",
    [
        "d = {}\nfor v in x.tolist():\n    d[v] = d.get(v, 0) + 1\nreturn d, len(d)",
        "d = {1: 'a'}\nif x[0] > 2:\n    d[int(x[0])] = 'b'\nd[int(x[1])] = x.sum()\nreturn d",
        "d = {0: 0, 1: 0}\nd[int(x[0])] = 5\nreturn d, list(d), list(d.values())",
        "d = {}\nfor i in range(5):\n    d[(int(x[i]), i % 2)] = i\nreturn d, (1, 0) in d",
        "d = {}\nfor i in range(5):\n    d[int(x[i])] = x[i] * 2.5\n"
        "return d.pop(3, None), d, sum(d.values()), [k for k in d]",
        "d = {'a': 1}\nd['x' if x[0] > 2 else 'y'] = x.sum()\nreturn d, 'x' in d",
        "d = {}\nfor v in x.tolist():\n    d[v] = d.setdefault(v, 1) * 2\n    d.setdefault(7, v)\n"
        "del d[7]\nreturn d",
        "d = {int(x[0]): 1, 3: 2, int(x[1]): x.sum()}\nreturn d, dict(d), sorted(d.items(), "
        "key=lambda pair: -pair[0])[0][0]",
        "d = {int(v): i for i, v in enumerate(x)}\nreturn d, max(d, key=d.get), min(d.items())",
        "d = dict(zip(x.tolist(), range(6)))\nreturn d",
        "d = collections.Counter(x.tolist())\nd[4] += 1\nreturn d, d[11], d.most_common(2)",
        "d = collections.defaultdict(list)\nfor i in range(6):\n    d[int(x[i])].append(i)\n"
        "return d, len(d), [len(rows) for rows in d.values()]",
        "d = {}\nfor i in range(6):\n    d.setdefault(int(x[i]), []).append(x[i] * 2.0)\n"
        "return [paddle.stack(rows).sum() for rows in d.values()]",
        "d = {}\nd[int(x[0])] = 1\ntry:\n    return d[int(x[1])]\nexcept KeyError as error:\n"
        "    return str(error)",
    ],
)
def test_a_dict_gets_keys_of_the_run(body: str) -> None:
    """D2: in the order in which they come, each with the value that came last."""
    assert_same(called(body), *NUMBERS, grad=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "trip",
    [
        "d[int(x[i])] = d.get(int(x[i]), 0) + 1",
        "d[int(x[i])] = x[i] * 2.0",
        "d[int(x[i]), i] = 1",
        "d[int(x[i])] = d[int(x[i])] + 1 if int(x[i]) in d else 0",
    ],
)
def test_in_a_static_loop(trip: str) -> None:
    """D2: the trips put keys into one dict, whose number the run decides."""
    function = function_of(f"""
    def f(x, n):
        d = {{}}
        i = 0
        while i < n:
            {trip}
            i = i + 1
        return d, len(d), [key for key in d]
    """)
    counts = [paddle.to_tensor(count) for count in (0, 1, 5)]
    assert_same(function, *((x, count) for x in NUMBERS for count in counts), grad=False)


@pytest.mark.parametrize(
    "body",
    [
        "s = set()\nfor i in range(5):\n    s.add(int(x[i]))\nreturn s, len(s), 3 in s, sorted(s)",
        "s = {1, 2, 3}\ns.discard(int(x[0]))\nif int(x[1]) in s:\n    s.remove(int(x[1]))\n"
        "return s",
        "s = {int(x[0]), 3, int(x[1])}\nreturn s, len(s), max(s), sum(s)",
        "s = {int(v) for v in x}\nreturn s, not s, 4 in s",
        "s = set(x.tolist())\nb = {1, 2, 9}\nreturn s - b, s | b, s & b, s ^ b, b - s, len(s & b)",
        "s = set(x.tolist())\nreturn s <= {1, 2}, s == {1, 3, 9}, s.isdisjoint({7}), 3 in s",
        "s = set(x.tolist())\ns.update([7, 8])\nreturn len(s), s.issuperset({1})",
        "return len({tuple(row) for row in paddle.reshape(x, [3, 2]).tolist()})",
    ],
)
def test_a_set_of_numbers_of_the_run(body: str) -> None:
    """D2: each is in it once; how many there are is a number of the run."""
    assert_same(called(body), *NUMBERS, grad=False)


ADDED = [
    "return [v for v in set(x.tolist())]",
    "return list({int(v) * 7 for v in x}), [*{int(v) - 3 for v in x}]",
    "s = set()\nfor v in x:\n    s.add(int(v) * 9 - 11)\nreturn tuple(s), len(s)",
    "s = set()\ni = paddle.to_tensor(0)\n"
    "while i < 6:\n    if x[i] > 1:\n        s.add(int(x[i]) * 9)\n"
    "    i += 1\nreturn list(s)",
    "s = {(0, 0)}\nfor i in range(6):\n    s.add((i % 2, int(x[i])))\n"
    "t = 0\nfor k, (a, b) in enumerate(s):"
    "\n    t = t * 3 + a * k + b\nreturn t",
    "s = {float(v) / 4 for v in x}\nreturn list(s), sum(s)",
    "s = set(x.tolist())\ns.update([v + 20 for v in x.tolist() if v > 2])\nreturn list(s)",
    "y = x * 1.0\n"
    "for token in set(x.tolist()):\n    y[token % 6] = y[token % 6] * 2 + token\nreturn y",
    "s = frozenset(x.tolist())\nreturn list(s), [a * b for a, b in zip(s, s)]",
    "s = {int(v) * 5 for v in x}\nd = dict.fromkeys(s, 0)\nreturn d, collections.Counter(s)",
    "s = {'a' if v > 3 else 'b' for v in x}\nreturn sorted(s), len(s)",
]


@pytest.mark.sampled(3, also=["s = {float(v) / 4 for v in x}\\nreturn list(s), sum(s)"])
@pytest.mark.parametrize("body", ADDED)
def test_the_order_of_a_set(body: str) -> None:
    """D2: it is that of the set of Python's to which the same items are added."""
    assert_same(called(body), *NUMBERS, *(8 * number for number in NUMBERS), grad=False)


OTHERWISE = [
    "s = set(x.tolist())\ns.discard(3)\nreturn list(s)",
    "s = set(x.tolist())\nout = list(s)\ns.remove(int(x[0]))\nreturn out, s",
    "return list(set(x.tolist()) | {7, 8})",
    "return list(set(x.tolist()) & {1, 8})",
    "s = {7, 8, 9}\ns.add(int(x[0]))\nreturn list(s)",
    "s = {7}\ns.discard(7)\ns.add(int(x[0]))\nreturn list(s)",
    "return list(set(x.tolist()).copy())",
    "return list(set({int(v): 1 for v in x}))",
    "s = set(x.tolist())\nreturn s.pop()",
]


@pytest.mark.parametrize("body", OTHERWISE)
def test_the_order_of_a_set_that_was_changed_otherwise(body: str) -> None:
    """D2: it is a matter of what was there before, so it is refused, with the line."""
    with pytest.raises(ContainerInGraphError, match="iterate sorted"):
        d2s.to_static(called(body))(NUMBERS[0])


def test_a_dict_that_the_caller_has() -> None:
    """F4: the caller's dict has the new keys afterwards, in each call."""

    def f(table, x):
        table[int(x[0])] = x.sum()
        return len(table)

    assert_same(f, ({}, NUMBERS[0]), ({3: 1}, NUMBERS[1]), grad=False)


class Seen:
    """Counts what it has seen."""

    def __init__(self):
        self.counts = {}

    def see(self, x):
        """Count two numbers."""
        for v in (int(x[0]), int(x[1])):
            self.counts[v] = self.counts.get(v, 0) + 1
        return len(self.counts)


def test_an_attribute_of_an_object_that_the_function_makes() -> None:
    """D2, B4: it becomes a dict of the run under its name."""

    def f(x):
        seen = Seen()
        return seen.see(x), seen.see(x + 1), seen.counts

    assert_same(f, *NUMBERS, grad=False)


@pytest.mark.parametrize(
    "body",
    [
        "h = []\nfor i in range(6):\n    heapq.heappush(h, (x[i], i))\ninner = list(h)\nout = []\n"
        "while h:\n    out.append(heapq.heappop(h)[1])\nreturn out, inner",
        "h = x.tolist()\nheapq.heapify(h)\nreturn h, heapq.nsmallest(2, h), heapq.nlargest(2, h)",
        "h = []\nfor v in x.tolist():\n    if len(h) < 3:\n        heapq.heappush(h, v)\n"
        "    elif v > h[0]:\n        heapq.heapreplace(h, v)\nreturn sorted(h), h",
        "h = [(0, 0)]\ntotal = 0\nwhile h and total < 14:\n    d, u = heapq.heappop(h)\n"
        "    total = total + int(x[u])\n    if u < 5:\n"
        "        heapq.heappush(h, (d + int(x[u]), u + 1))\n"
        "        heapq.heappush(h, (d + 1, 5))\nreturn total, h",
    ],
)
def test_a_heap(body: str) -> None:
    """E1: every item lies where Python's heap has it."""
    assert_same(called(body), *NUMBERS, grad=False)


def test_a_heap_of_nothing() -> None:
    """E1: the run raises what Python raises."""
    assert_same(called("h = [int(x[0])]\nheapq.heappop(h)\nreturn heapq.heappop(h)"), NUMBERS[0])


def test_sorted_pairs() -> None:
    """E1: tuples of numbers and texts are put in order part by part, by a key too."""

    def f(x, n):
        pairs = []
        i = 0
        while i < n:
            pairs.append((int(x[i]), "odd" if x[i] % 2 else "even", i))
            i = i + 1
        first = sorted(pairs)
        pairs.sort(key=lambda pair: (-pair[0], pair[2]))
        best = max(pairs, key=lambda pair: pair[0]) if pairs else None
        return first, pairs, best, min(pairs, default=None), sorted(pairs, reverse=True)

    counts = [paddle.to_tensor(count) for count in (0, 3, 6)]
    assert_same(f, *((x, count) for count in counts for x in NUMBERS), grad=False)


def test_models_of_dicts() -> None:
    """D2: a class of Python's stays what it is to ``isinstance``, ``type`` and the caller."""

    def f(x):
        table = collections.OrderedDict()
        table[int(x[0])] = 1
        return type(table) is collections.OrderedDict, isinstance(table, dict), table

    assert_same(f, *NUMBERS, grad=False)


BY_BRANCHES = {
    "deleted": "d = {'a': v[0], 'b': v[1]}\nfor k in list(d):\n    d[k] = d[k] - v[2]\n"
    "    if d[k] < 0:\n        del d[k]\nreturn d, len(d), 'a' in d, sorted(d), sum(d.values())",
    "popped": "d, t = {'a': v[0], 'b': v[1]}, v.sum() * 0\nif v[2] > 2:\n    t = t + d.pop('a')\n"
    "if v[3] > 2:\n    t = t + d.pop('b', 0.0)\nreturn t, d, d.get('a')",
    "frequent ones": "c = {}\nfor i in range(6):\n    k = 'abc'[i % 3]\n    if v[i] > 5:\n"
    "        continue\n    if k in c:\n        c[k] += 1\n    elif len(c) < 2:\n        c[k] = 1\n"
    "    else:\n        for o in list(c):\n            c[o] -= 1\n            if c[o] == 0:\n"
    "                del c[o]\nreturn c",
    "a cache": "c, hits = collections.OrderedDict(), 0\nfor i in range(6):\n"
    "    k = int(v[i]) % 4\n"
    "    if k in c:\n        hits += 1\n        c.move_to_end(k)\n    else:\n"
    "        c[k] = v[i] * 2\n"
    "        if len(c) > 2:\n            c.popitem(last=False)\n"
    "c.move_to_end(int(v[5]) % 4, last=False)\n"
    "return hits, list(c), c, c.popitem()",
    "a cache under a condition": "c = collections.OrderedDict()\nfor i in range(6):\n"
    "    if v[i] < 2:\n        continue\n    k = 'abcab'[i % 5]\n    if k in c:\n"
    "        c.move_to_end(k)\n    else:\n        c[k] = v[i]\n        if len(c) > 2:\n"
    "            c.popitem(last=False)\nreturn list(c), c",
    "a histogram": "h = collections.defaultdict(int)\nfor i in range(6):\n    if v[i] < 2:\n"
    "        h['low'] += 1\n    elif v[i] < 4:\n        h['mid'] += 1\n    else:\n"
    "        h['high'] += 2\nreturn dict(h), max(h, key=h.get)",
    "lists by a factory": "h = collections.defaultdict(list)\nfor i in range(5):\n"
    "    h['low' if i < 2 else 'high'].append(v[i])\n    if v[i] > 4:\n        h.clear()\nreturn h",
    "a counter": "c = collections.Counter()\nfor i in range(6):\n    if v[i] < 3:\n"
    "        c['low'] += 1\n    else:\n        c.update(['high'], low=2)\n    if v[i] > 5:\n"
    "        c.subtract({'low': 1})\nreturn c, c.most_common(1)[0][0], c.total()",
    "counted again": "c = {}\nfor i in range(4):\n    k = int(v[i])\n    c[k] = c.get(k, 0) + 1\n"
    "return collections.Counter(c).most_common(1), collections.OrderedDict(c), c",
    "joined": "a, b = {0: 1}, {9: 2}\nfor i in range(3):\n    a[int(v[i])] = i\n"
    "    b[int(v[i + 3])] = i * 2\na.update(b)\nreturn a, b",
    "a set": "s, n = set(), 0\nfor i in range(6):\n    if v[i] > 2:\n        n += (i % 3) in s\n"
    "        s.add(i % 3)\n    if v[i] > 5:\n        s.clear()\nreturn n, len(s), sorted(s)",
    "replaced": "d, t = {'a': v[0]}, 0.0\nfor i in range(4):\n    if v[i] > 2:\n"
    "        d.update({f'k{i}': v[i]})\n    if v[i] < 1:\n        d = {}\n"
    "for _, one in d.items():\n    t = t + one\n"
    "return t, list(d), [one for one in d.values()], max(d, key=d.get, default='none')",
}


@pytest.mark.sampled(
    3, also=["counted again", "a counter", "replaced", "a cache under a condition"]
)
@pytest.mark.parametrize("body", BY_BRANCHES.values(), ids=BY_BRANCHES)
def test_dicts_that_many_branches_change(body: str) -> None:
    """B4, D2: other keys on other paths are one dict of the run, in the order of dygraph's."""
    assert_same(called(f"v = x.astype('float32')\n{body}"), *NUMBERS)


IN_A_BRANCH = {
    "of an object": ("dict()", "if x[0] > 2:\n    box.store[int(x[1])] = x[2]"),
    "in a method": ("dict()", "out = [box.get(int(v)) for v in x]\nx = out[0] + out[-1]"),
    "a cache of two": (
        "collections.OrderedDict()",
        "if x[0] > 1:\n    box.store[int(x[0])] = x[1]\n"
        "    if len(box.store) > 2:\n        box.store.popitem(last=False)",
    ),
    "counted by name": (
        "collections.Counter()",
        "name = 'low' if x[0] < 2 else 'high'\nif x[1] > 1:\n    box.store[name] += 1",
    ),
    "a set": ("set()", "if x[0] > 2:\n    box.store.add(int(x[1]))\n    box.hits += 1"),
    "a factory": (
        "collections.defaultdict(int)",
        "for v in x:\n    if v > 3:\n        box.store[int(v)] += 1",
    ),
    "two of them": (
        "dict()",
        "other = Box({})\nif x[0] > 1:\n    box.store[int(x[0])] = 1\n    if x[1] > 1:\n"
        "        other.store[int(x[1])] = box.hits\nx = other.store",
    ),
    "left early": (
        "dict()",
        "for step in range(3):\n    key = tuple(x.tolist())\n    if key in box.store:\n"
        "        return f'cycle of {len(box.store) - box.store[key]}', x\n"
        "    box.store[key] = len(box.store)\n    x = (x * 3) % 7",
    ),
    "in a loop behind a branch": (
        "dict()",
        "n = x[0]\nif x[1] > 1:\n    while n > 0:\n        box.store[int(n)] = n\n"
        "        n = n - 2",
    ),
    "in an expression": ("dict()", "x = box.get(int(x[0])) if x[1] > 1 else x"),
    "raised behind it": (
        "dict()",
        "if x[0] < 3:\n    box.store[int(x[1])] = 1\n    raise ValueError('small')",
    ),
}


@pytest.mark.sampled(
    4, also=["outside-counted by name", "outside-in an expression", "outside-in a method"]
)
@pytest.mark.parametrize(("store", "body"), IN_A_BRANCH.values(), ids=IN_A_BRANCH)
@pytest.mark.parametrize("place", ["outside", "made here", "in a dict"])
def test_a_branch_gives_keys_to_what_others_hold(store: str, body: str, place: str) -> None:
    """B4, D2, F4: the container is one of the run in front of the branch, for all who hold it."""
    lines = "\n".join(f"        {line}" for line in f"{body}\nreturn x, box.store".splitlines())
    begin = {"outside": "box = outer", "made here": f"box = Box({store})"}.get(
        place, f"shelf = {{'a': Box({store})}}; box = shelf['a']"
    )
    text = f"""
import collections

class Box:
    def __init__(self, store):
        self.store, self.hits = store, 0

    def get(self, key):
        if key in self.store:
            self.hits += 1
            return self.store[key]
        value = self.store[key] = key * 2
        return value

def make():
    outer = Box({store})

    def f(x):
        {begin}
{lines}

    def call(f):
        def run(x):
            try:
                found = f(x)
            except ValueError as error:
                found = str(error)
            return found, outer.store.copy(), outer.hits

        return run

    return f, call
"""
    (f, call), (g, same) = function_of(text, "make")(), function_of(text, "make")()
    assert_same(call(f), *NUMBERS, grad=False, static=same(d2s.to_static(g)))


@pytest.mark.parametrize("name", ["or", "and", "sub", "xor"])
def test_an_operator_gives_the_class_of_its_left_operand(name: str) -> None:
    """D2, E1: a set and a frozen set, either of them of the run; the method gives it, too."""
    operate = getattr(operator, {"or": "or_", "and": "and_"}.get(name, name))
    method = {"or": "union", "and": "intersection", "sub": "difference"}.get(
        name, "symmetric_difference"
    )

    def f(x: Any) -> Any:
        run, fixed = {int(x[0]), 3}, frozenset({1, 3})
        frozen = frozenset(run)
        made = [operate(run, fixed), operate(fixed, run), operate(frozen, {1, 4})]
        made += [operate({1, 4}, frozen), getattr(fixed, method)(run), getattr(run, method)(fixed)]
        left = fixed
        left |= run
        return made, left, fixed, [type(each).__name__ for each in made]

    assert_same(f, *NUMBERS, grad=False)


@pytest.mark.parametrize(
    "body",
    [
        "return {0, 2}.union({int(x[0]), 9}, {5}), frozenset({3}).union([7], {int(x[1])})",
        "return {0, 2, 3}.intersection({int(x[0]), 3}, {3, 5}), {1}.difference([7], {int(x[1])})",
        "return frozenset({int(x[0])}) == frozenset({3}), {int(x[0])} == frozenset({1})",
        "return frozenset({3}).issubset({int(x[0])}), frozenset({3}) <= {int(x[0]), 2}",
    ],
)
def test_sets_of_python_and_several_others(body: str) -> None:
    """D2, E1: a frozen set equals a set; methods of sets take several others."""
    assert_same(called(body), *NUMBERS, grad=False)


def test_an_iterator_that_a_branch_moves() -> None:
    """D2: the sides of such a branch cannot be captured twice: refused."""

    def f(x):
        seen = Seen()
        numbers = iter([1, 2])

        def put(key, value):
            seen.counts[key] = value

        if x[0] > 2:
            put(int(x[1]), next(numbers))
        return seen.counts

    with pytest.raises(ContainerInGraphError, match="an iterator"):
        d2s.to_static(f)(NUMBERS[0])


class Beam:
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.score = 0.0


def test_what_a_branch_has_changed_before_it_is_captured_again_is_put_back() -> None:
    """B1, D2: objects that it reaches without naming them; the process ended."""

    def f(x: Any) -> Any:
        beams: list[Any] = [Beam(), Beam()]
        seen: dict[int, Any] = {}
        for beam in beams:
            if x.sum() > 0:
                beam.log.append(x * 2)
                beam.score = beam.score + x.sum()
                seen[int(x[0])] = x[1]
        return [beam.log for beam in beams], [beam.score for beam in beams], len(seen)

    assert_same(f, tensor(1.0, 2.0, 3.0), tensor(-1.0, -0.5, -2.0), grad=False)


VIEWS = {
    "grows in a loop": """
        d = {}
        k = d.keys()
        for i in range(n):
            d[int(i)] = x[i]
        return len(k), sorted(k)
    """,
    "gets a key": """
        d = {int(i): x[i] for i in range(n)}
        k, v, both = d.keys(), d.values(), d.items()
        d[50] = x[0]
        return len(k), len(v), len(both), 50 in k
    """,
    "gets a value in a loop": """
        d = {int(i): x[i] for i in range(n)}
        v = d.values()
        for j in range(n):
            d[int(j)] = x[j] * 2
        return list(v)
    """,
    "gets a key on one path": """
        d = {"a": x[0]}
        k, v = d.keys(), d.values()
        if x.sum() > 0:
            d["b"] = x[1]
        return len(k), "b" in k, len(v)
    """,
    "is updated": """
        d = {int(i): x[i] for i in range(n)}
        v = d.values()
        d.update({int(i): x[i] * 2 for i in range(n)})
        return list(v)
    """,
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_dict_that_changes(name: str) -> None:
    """D2: what ``keys`` and the like have given changes with the dict: refused, or dygraph's."""
    f = function_of("def f(x, n):" + VIEWS[name])
    calls = [(tensor(1.0, 2.0, 3.0), scalar(3)), (tensor(-1.0, 0.5, 0.25), scalar(2))]
    with pytest.raises(ContainerInGraphError, match="go on with"):
        d2s.to_static(f)(*calls[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static = d2s.to_static(f, full_graph=False)
        for call in calls:
            assert repr(static(*call)) == repr(f(*call))


def test_views_that_are_used_at_once() -> None:
    """D2: a loop over a view changes values, a copy of it stays as it is; they are no lists."""
    f = function_of("""
    def f(x, n):
        d = {int(i): x[i] for i in range(n)}
        names, values = list(d.keys()), list(d.values())
        for k in d.keys():
            d[k] = d[k] * 2
        for k, v in d.items():
            d[k] = v + 1
        d[9] = x[0]
        kinds = [type(each).__name__ for each in (d.keys(), d.values(), d.items())]
        return names, values, d, kinds, isinstance(d.values(), list), isinstance(names, list)
    """)
    assert_same(f, (tensor(1.0, 2.0, 3.0), scalar(3)), (tensor(1.0, 2.0, 3.0), scalar(0)))


@pytest.mark.parametrize("made", ["zip(xs, xs)", "enumerate(xs)", "reversed(xs)", "range(len(xs))"])
def test_what_goes_over_a_list_of_the_run(made: str) -> None:
    """E1: its class is that of Python's."""
    f = function_of(f"""
    def f(x, n):
        xs = [x[i] for i in range(n)]
        made = {made}
        kind = made.__class__.__name__
        return type(made).__name__, isinstance(made, type(made)), kind, list(made)
    """)
    assert_same(f, (tensor(1.0, 2.0, 3.0), scalar(3)))


UNPACKED = {
    "with a key on one side": ('d = {"a": x}; if_b(d)', '{**d, "k": 1}'),
    "with keys that are there": ('d = {"a": x, "k": 2}; if_b(d)', '{**d, "k": 1, "b": x + 1}'),
    "behind others": ('d = {"a": x, "k": x}; if_b(d)', '{"k": 1, **d, "z": 3}'),
    "two of them": ('d = {"a": x}; if_b(d); e = {"b": x * 2}; if_b(e)', "{**d, **e}"),
    "one of two": ("d = {'a': x} if x.sum() > 0 else {'b': x}", "{**d, 'k': x}"),
    "of the run": ("d = keyed(x, 0)", "{**d, -1: 2.0}, {-1: 2.0, **d}, {**d} is d"),
    "among keys of the run": ("d = keyed(x, 0)", "{int(x.max()): 5.0, **d, int(x.max()): 2.0}"),
    "two of the run": ("d, e = keyed(x, 0), keyed(x, 1)", "{**d, **e}"),
    "none on one side": ('d = {"a": x} if x.sum() > 0 else None', '{**(d or {}), "k": 1}'),
    "what is no mapping": ('d = {"a": x} if x.sum() > 0 else None', '{**d, "k": 1}'),
    "pairs": ("d = [('a', 1)]", "{**d, 'k': x}"),
    "other classes": ("d = OrderedDict(a=x); c = Own(x)", "{**d, **c, x.sum().item(): 2}"),
    "a copy": ("d = {'a': [x]}; if_b(d); e = {**d}; e['a'].append(x); e['q'] = x", "(d, e)"),
    "in order": ("s = []; g = lambda k: s.append(k) or {k: x}", "{**g(1), 2: g(3), **g(4)}, s"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", UNPACKED)
def test_dicts_that_are_unpacked(name: str) -> None:
    """D2, A1: ``{**d}`` has what ``d`` has on the run, in its order, and is another dict."""
    made, use = UNPACKED[name]
    f = function_of(
        f"""
        from collections import OrderedDict

        class Own:
            def __init__(self, x):
                self.x = x
            def keys(self):
                return ["o", "own"]
            def __getitem__(self, key):
                return self.x * len(key)

        def keyed(x, least):
            d = {{}}
            for v in x.tolist():
                if v > least:
                    d[int(v)] = v * (least + 1)
            return d

        def f(x):
            def if_b(d):
                if x.max() > 2:
                    d["b"] = x
            {made}
            return {use}
        """,
        "f",
    )
    rows = [1.0, 2.0, 3.0, 4.0], [1.0, 0.2, -0.3, -0.4], [-1.0, -1.0, -1.0, -1.0]
    assert_same(f, *(tensor(*row) for row in rows))
