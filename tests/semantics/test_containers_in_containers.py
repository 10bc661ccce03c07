"""Sets, counters, deques and dicts as items of what has a length of the run (rules D2, D3)."""

from __future__ import annotations

import collections
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of

NUMBERS = (
    paddle.to_tensor([1, 3, 5, 2, 6, 4]),
    paddle.to_tensor([3, 3, 1, 1, 9, 3]),
    paddle.to_tensor([0, 1, 2, 3, 4, 5]),
)


def called(body: str) -> Any:
    """A function of one tensor with this body."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return function_of(f"import collections, heapq, paddle\n\ndef f(x):\n{lines}", "f")


LOOPS = (
    "for i in range(6):\n    v = int(x[i])\n    {trip}",
    "for i, v in enumerate(x[x != 2].tolist()):\n    {trip}",
)


@pytest.mark.parametrize(
    "trip",
    [
        "d[v % 3].add(v)",
        "d[v % 3].add((v, i))",
        "d[v % 3].add(7)\n    d[v].add(v)",
        "if v > 2:\n        d[v % 3].add(v)",
        "s = d[v % 3]\n    s.add(v)\n    n = n + len(s)",
        "d[v % 3].add(v)\n    n = n + (3 in d[v % 3]) + (v in d[1])",
        "d[v % 3] |= {v, i}",
        "d[v % 3].update([v, i])",
        "d[v % 3].add(v)\n    d[i % 3].discard(3)",
        "d[v % 3].add(v)\n    if v > 4:\n        d[v % 3].clear()",
        "d[v % 3].add('big' if v > 2 else 'small')",
        "d[v % 3].add(None if v > 2 else v)",
        "d[v % 3]",
        "d.setdefault(v % 3, set()).add(v)",
        "d[v % 3] = {v, 1}",
    ],
)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", LOOPS)
def test_sets_under_keys_of_the_run(loop: str, trip: str) -> None:
    """D2: a dict of sets, as of what has been seen with what."""
    body = "d, n = collections.defaultdict(set), 0\n" + loop.format(trip=trip)
    assert_same(called(body + "\nreturn d, n, len(d), [len(s) for s in d.values()]"), *NUMBERS)


@pytest.mark.parametrize(
    "body",
    [
        "out = []\nfor v in x[x > 1].tolist():\n    out.append({v, 1})\nreturn out",
        "out = []\nfor v in x[x > 1].tolist():\n    out.append(frozenset((v, 2)))\n"
        "return out, [sorted(s) for s in out]",
        "out = []\nfor v in x[x > 1].tolist():\n    out.append({1, 2, 3})\n"
        "return out, [v for v in x.tolist() if v in out[0]]",
        "out = []\nfor v in x[x > 0].tolist():\n    out.append({v, 1})\n"
        "return out[0] | out[-1], out[0] & out[1], out[0] - {1}",
        "out = []\nfor v in x[x > 0].tolist():\n    out.append((v, {v}))\n"
        "return [sum(s) + k for k, s in out], max(out, key=lambda p: p[0])",
        "d = collections.defaultdict(set)\nfor v in x[x > 0].tolist():\n    d[v % 2].add(v)\n"
        "return sorted(d.get(int(x[0]) % 2, ())), sorted(d.get(9 + int(x[0]), ()))",
        "d = collections.defaultdict(set)\nfor v in x[x > 0].tolist():\n    d[v % 2].add(v)\n"
        "return [v for v in d[int(x[1]) % 2]]",
        "d = collections.defaultdict(set)\nfor v in x[x > 0].tolist():\n    d[v % 2].add(v)\n"
        "return [k for k, s in d.items() if len(s) > 1], {k: min(s) for k, s in d.items()}",
    ],
)
def test_sets_in_lists_of_the_run(body: str) -> None:
    """D3: a set is what it was when it was put there, and what it has become."""
    assert_same(called(body), *NUMBERS)


@pytest.mark.parametrize(
    ("begin", "trip"),
    [
        ("collections.defaultdict(collections.Counter)", "d[v % 2][v] += 1"),
        ("collections.defaultdict(collections.Counter)", "d[v % 2].update([v, 3])"),
        ("collections.defaultdict(dict)", "d[v % 2][v] = i"),
        ("collections.defaultdict(dict)", "d[v % 2].setdefault(v, 5)"),
        ("collections.defaultdict(lambda: collections.deque(maxlen=2))", "d[v % 2].append(v)"),
        ("collections.defaultdict(collections.deque)", "d[v % 2].appendleft(v)"),
        ("collections.defaultdict(lambda: collections.defaultdict(int))", "d[v % 2][v] += i"),
        ("collections.defaultdict(lambda: collections.defaultdict(list))", "d[v % 2][v].append(i)"),
        ("collections.defaultdict(list)", "d[v % 2].append({v: i})"),
        ("{}", "d[v] = {v: i, 'n': 1}"),
        ("{}", "d[v] = collections.Counter([v, v, 1])"),
        ("{}", "d[v] = dict(zip([v, 1], [2, 3]))"),
    ],
)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", LOOPS)
def test_other_containers_under_keys_of_the_run(loop: str, begin: str, trip: str) -> None:
    """D2: counters, dicts and deques, under two keys of the run."""
    body = f"d = {begin}\n" + loop.format(trip=trip)
    assert_same(called(body + "\nreturn d, len(d), [len(s) for s in d.values()]"), *NUMBERS)


@pytest.mark.parametrize(
    "body",
    [
        "s, out = set(), []\nfor v in x[x > 1].tolist():\n    out.append(s)\n    s.add(v)\n"
        "return out",
        "s, d = set(), {}\nd[int(x[0])] = s\ns.add(3)\nreturn d",
        "s, d = {int(x[1])}, {}\nd[int(x[0])] = s\ns.add(3)\nreturn d",
        "s, d = collections.deque(), {}\nd[int(x[0])] = s\ns.append(3)\nreturn d",
        "s, d = {1}, {}\nd[int(x[0])] = s\ns |= {2}\nreturn d",
        "s, d = [1], {}\nd[int(x[0])] = s\ns += [2]\nreturn d",
        "s, d = [1], {}\nd[int(x[0])] = (1, (s,))\ns.append(2)\nreturn d",
        "d = collections.defaultdict(set)\na, b = d[int(x[0])], d[int(x[1])]\na.add(5)\n"
        "return len(b), d",
        "d = collections.defaultdict(dict)\na, b = d[int(x[0])], d[int(x[1])]\na[int(x[2])] = 5\n"
        "return len(b), d",
        "d = collections.defaultdict(dict)\na = d[int(x[0])]\na[int(x[2])] = 5\n"
        "return len(a), len(d[int(x[0])]), d",
        "d = collections.defaultdict(set)\na = d[int(x[0])]\na.add(1)\n"
        "d[int(x[0])].add(int(x[1]))\n"
        "return len(a), d",
    ],
)
def test_what_two_names_know(body: str) -> None:
    """D3: what is changed under another name is changed in the list, or refused."""
    function = called(body)
    try:
        d2s.to_static(called(body), full_graph=True)(NUMBERS[0])
    except ContainerInGraphError:
        return
    assert_same(function, *NUMBERS)


class Kept:
    """What a class keeps between calls."""

    def __init__(self) -> None:
        self.seen: Any = collections.defaultdict(set)
        self.counts: Any = collections.defaultdict(collections.Counter)

    def note(self, x: Any) -> Any:
        for i, v in enumerate(x.tolist()):
            self.seen[i % 2].add(v)
        return len(self.seen)

    def note_late(self, x: Any) -> Any:
        for v in x[x > 1].tolist():
            self.seen[v % 2].add(v)
        return len(self.seen)


@pytest.mark.parametrize("name", ["note", "note_late"])
def test_sets_in_the_state(name: str) -> None:
    """D2, F4: sets in a dict of the state are those of dygraph after the first call."""
    for x in NUMBERS:
        plain, mine = Kept(), Kept()
        expected = getattr(plain, name)(x)
        got = d2s.to_static(getattr(mine, name), full_graph=True)(x)
        assert int(got) == int(expected)
        assert mine.seen == plain.seen
        assert [list(s) for s in mine.seen.values()] == [list(s) for s in plain.seen.values()]


@pytest.mark.parametrize(
    "body",
    [
        "rows = {}\nfor v in x.tolist():\n    rows.setdefault(v % 2, [])\n    rows[v % 2] += [v]\n"
        "return rows",
        "rows = []\nfor v in x[x > 1].tolist():\n    rows.append([v])\n    rows[-1] += [1, v]\n"
        "return rows",
        "rows = {}\nfor v in x.tolist():\n    rows.setdefault(v, [[v], [1]])\n"
        "    rows[v] = rows[v][0]\nreturn rows",
        "rows = []\nfor v in x[x > 1].tolist():\n    rows.append({v})\n    rows[-1] |= {7}\n"
        "return rows",
    ],
)
def test_an_item_is_changed_by_an_operator(body: str) -> None:
    """D3: ``rows[k] += more`` changes the list in its place."""
    assert_same(called(body), *NUMBERS)


@pytest.mark.parametrize(
    "body",
    [
        "d = {(): x[0], (1,): x[1], (1, 2): x[2]}\n"
        "d = dict(sorted(d.items(), key=lambda kv: -kv[1])[:2])\nreturn d, list(d)",
        "d = {(): x[0], (1,): x[1]}\nfor _ in range(2):\n"
        "    new = collections.defaultdict(lambda: 0)\n    for k, v in d.items():\n"
        "        for s in range(2):\n            new[k + (s,)] += int(v) + s\n"
        "            new[k] += 1\n"
        "    d = dict(sorted(new.items(), key=lambda kv: (-kv[1], kv[0]))[:3])\nreturn d",
        "best = (1, 2) if x[0] > 2 else (3,)\nseen = {best, (3,)}\n"
        "return len(seen), best in seen, (1, 2) in seen",
        "best = (int(x[0]), 2) if x[0] > 2 else (3,)\nseen = {best, (3,)}\nseen.add((5, 2))\n"
        "return seen, (1, 2) in seen",
    ],
)
def test_tuples_of_several_lengths_are_keys(body: str) -> None:
    """D2: prefixes of a beam search, of which a tensor decides which ones they are."""
    assert_same(called(body), *NUMBERS, grad=False)


@pytest.mark.parametrize(
    "body",
    [
        "d = {}\nfor v in x.tolist():\n    d[v] = {v}\nreturn d, d[int(x[0])]",
        "d = {}\nfor v in x.tolist():\n    d[v] = {v}\ns = d[int(x[0])]\nreturn s, d",
    ],
)
def test_a_set_beside_the_dict_that_holds_it(body: str) -> None:
    """D3: what would be a copy is refused."""
    with pytest.raises(ContainerInGraphError, match="given back or kept together with it"):
        d2s.to_static(called(body), full_graph=True)(NUMBERS[0])


RANKED = """
import functools, heapq

class Job:
    def __init__(self, cost, name):
        self.cost, self.name = cost, name

    def __lt__(self, other):
        if self.cost % 3 != other.cost % 3:
            return self.cost % 3 < other.cost % 3
        return self.cost > other.cost

    def __gt__(self, other):
        return self.cost - 1 > other.cost

def f(x):
    jobs = []
    for i, v in enumerate(x[x > 1].tolist()):
        jobs.append(Job(v, i))
{body}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "body",
    [
        "return [(j.cost, j.name) for j in sorted(jobs)]",
        "return [(j.cost, j.name) for j in sorted(jobs, reverse=True)]",
        "return min(jobs).cost, max(jobs).cost",
        "jobs.sort()\nreturn [j.cost for j in jobs]",
        "heapq.heapify(jobs)\nreturn [heapq.heappop(jobs).cost for _ in range(2)]",
        "heap = []\nfor j in jobs:\n    heapq.heappush(heap, j)\n"
        "return [j.cost for j in heap], heapq.heappop(heap).name",
        "best = max(jobs, key=lambda j: j)\nreturn best.cost, best.name",
    ],
)
def test_objects_are_put_in_order_by_their_own_method(body: str) -> None:
    """D1, E1: an ``__lt__`` of the user's says which of two is less."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert_same(function_of(RANKED.format(body=lines), "f"), *NUMBERS[:2])


@pytest.mark.parametrize(
    "body",
    [
        "d = {v: 1 for v in x.tolist()}\ne = {v: 1 for v in reversed(x.tolist())}\n"
        "same = [d == e, d != e, d == {}, d == {1: 1}, {1: 1} == d, d == 3]\ne[7] = 2\n"
        "return same, d == e",
        "d = {v: 'a' for v in x.tolist()}\nreturn d == {1: 'a', 3: 'a', 9: 'a'}",
    ],
)
def test_dicts_of_the_run_are_compared(body: str) -> None:
    """D2: equal ones have the same keys with the same values, in whatever order."""
    assert_same(called(body), *NUMBERS)


@pytest.mark.parametrize(
    "body",
    [
        "s = {int(x[0])}\ns.update([int(x[1]), int(x[1])])\nreturn s, len(s)",
        "rows = [[v] for v in x[x > 1].tolist()]\nrow = rows.pop()\nrow.append(7)\n"
        "rows.append(row)\nreturn rows",
    ],
)
def test_what_is_put_there_and_taken_out(body: str) -> None:
    """D2, D3: two equal items are one of a set; what is popped belongs to who has it."""
    assert_same(called(body), *NUMBERS)
