"""Dicts that get their keys in the trips of a static loop, and calls with such dicts (D2, E2)."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
TRIPS = [(X, scalar(n)) for n in (3, 0, 1, 5)]

BODIES = {
    "a key that the next trip passes on": "x = add(x, **kw)\nkw['a'] = x * 2",
    "a key that nobody reads in the loop": "kw['last'] = x * i",
    "a key that is asked for": "x = x + kw['a'] if 'a' in kw else x\nkw['a'] = x",
    "get": "y = kw.get('a')\nif y is not None:\n    x = x + y\nkw['a'] = x",
    "setdefault": "kw['a'] = kw.setdefault('a', x * 0) + x",
    "update": "kw.update(a=x, b=x * 2)\nx = kw['a'] + kw['b']",
    "another key in the second trip": "if 'a' in kw:\n    kw['b'] = kw['a'] * 2\nkw['a'] = x + 1",
    "a new dict": "kw = {**kw, 'a': x * i}",
    "a key goes, and another comes": "kw.pop('b', None)\nkw['a'] = x",
    "a tuple of tensors": "kw['a'] = (x, x + i)\nx = kw['a'][1]",
    "a list that grows": "kw.setdefault('a', []).append(x * i)",
    "text": "kw['b'] = 'now'\nx = x * 2 if kw['b'] == 'now' else x",
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("loop", ["for i in range(n):", "i = n * 0\n    while i < n:"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
@pytest.mark.parametrize("first", ["{}", "{'b': 1.0}"])
def test_a_dict_gets_its_keys_in_the_first_trips(loop: str, body: str, first: str) -> None:
    """D2: they are there from then on, and not where there was no trip."""
    lines = body.splitlines() + (["i = i + 1"] if "while" in loop else [])
    text = "\n".join(f"        {line}" for line in lines)
    f = function_of(f"""
def add(x, a=0.5, b=2.0):
    return x * b + a

def f(x, n):
    kw = {first}
    {loop}
{text}
    return x, kw, len(kw), 'a' in kw
""")
    assert_same(f, *TRIPS)


def test_the_dict_of_somebody_else() -> None:
    """D2, F4: an alias, an attribute and the caller's dict see the keys."""
    f = function_of("""
    def f(x, n, found):
        class Box:
            pass
        box = Box()
        box.cache = {}
        same = box.cache
        for i in range(n):
            box.cache["h"] = x + i
            found["h"] = box.cache["h"] * 2
        return same, found
    """)
    assert_same(f, *((X, scalar(n), {"k": X}) for n in (2, 0)), grad=False)


def test_a_dict_with_a_new_key_in_every_trip() -> None:
    """D2: which the first trips do not give."""
    f = function_of("""
    def f(x, n):
        d = {}
        for i in range(n):
            d[len(d)] = x
        return d
    """)
    with pytest.raises(ContainerInGraphError, match="changes the form of 'd'"):
        d2s.to_static(f)(X, scalar(3))


CALLS = [
    "add(x, **kw)",
    "add(*a, **kw)",
    "add(*a)",
    "add(a=x, **kw)",
    "add(x, **{'c': 3.0}, **kw)",
    "dict(**kw)",
    "dict(kw)",
    "list(kw)",
    "sorted(kw)",
    "Box(**kw).fields",
    "Box().add(x, **kw)",
    "functools.partial(add, x)(**kw)",
    "paddle.sum(*a)",
    "paddle.add(*pair)",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_with_one_of_several_dicts_or_lists(call: str) -> None:
    """B4, E2: ``*`` and ``**`` hand over what a tensor has decided."""
    f = function_of(
        f"""
class Box:
    def __init__(self, **fields):
        self.fields = fields

    def add(self, *things, **options):
        return add(*things, **options)

def add(x, a=0.5, b=2.0, c=1.0):
    return x * b + a, c

def f(x, t):
    kw = {{"b": x}}
    a = [x]
    pair = (x, x) if t > 0 else [x, x * 2]
    if t > 0:
        kw["a"] = x * 3
        a.append(0)
    return {call}
""",
        functools=__import__("functools"),
    )
    calls: list[Any] = [(X, scalar(1.0)), (X, scalar(-1.0))]
    assert_same(f, *calls)


def test_greedy_search_with_a_cache() -> None:
    """C1, D2: the cache is a key of the keyword arguments from the second token on."""
    f = function_of("""
    def model(ids, cache=None, scale=1.0):
        h = ids.astype("float32") * scale
        if cache is not None:
            h = paddle.concat([cache[0], h[:, -1:]], axis=1)
        return h.sum(axis=1, keepdim=True), (h,)

    def f(ids, most):
        kw = {"scale": 0.5}
        going = paddle.full([1, 1], True, "bool")
        length = paddle.to_tensor(ids.shape[1])
        while length < most:
            out, cache = model(ids, **kw)
            token = (out % 7).astype("int64")
            ids = paddle.concat([ids, token], axis=1)
            going = paddle.logical_and(going, token != 5)
            length = length + 1
            if not going.any():
                break
            kw["cache"] = cache
        return ids, length
    """)
    ids = paddle.to_tensor([[1, 2, 3]])
    assert_same(f, *((ids, scalar(n)) for n in (9, 3, 4)), grad=False)


GROWING = {
    "a list in a branch": "if x.sum() > 0: held.append(x)",
    "a list": "held.append(x * s)",
    "a list of an object": "if x.sum() > 0: box.items.append(x)",
    "a list in a loop": "for i in range(3):\n            if x.sum() > i: held.append(x * i)",
}
BEHIND = {"": "", "grows behind": "held.append(s); box.items.append(s)"}


@pytest.mark.sampled(3, also=["a list of an object-"])
@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("grows", GROWING.values(), ids=GROWING)
def test_lists_that_grow_in_the_same_loop(grows: str, behind: str) -> None:
    """C4, C6: what a capture had made of the list, which was given up, ended the process."""
    source = f"""
class Box:
    def __init__(self): self.items = []
def f(x):
    s, found, held, box = paddle.zeros([]), {{}}, [], Box()
    while s < 2:
        {grows}
        found["y"] = x * 2
        s = s + 0.7
    {behind}
    return held, box.items, found
"""
    assert_same(function_of(source), tensor(1.0, 2.0), tensor(-1.0, 0.5), tensor(0.0, 0.0))


def test_keys_that_come_beside_a_heap_of_objects() -> None:
    """D2, D3: the first trip, which stands before the loop, changes a list of the state, too."""

    def calls(convert: Any) -> list[Any]:
        @dataclass(order=True)
        class Job:
            at: float
            work: Any = field(compare=False)

        class Calendar:
            def __init__(self) -> None:
                self.jobs: list[Job] = []
                self.log: dict[str, list[Any]] = defaultdict(list)

            def run(self, x: Any) -> Any:
                total = paddle.zeros([])
                while self.jobs and self.jobs[0].at <= 3.0:
                    job = heapq.heappop(self.jobs)
                    cost = job.work.sum() * x[0]
                    self.log["all"].append(cost)
                    if cost > 1.5:
                        total = total + replace(job, work=job.work / 2).work.sum()
                    else:
                        total = total + cost
                return total

        calendar = Calendar()
        for at, work in ((1.0, 2.0), (2.5, 0.5), (5.0, 0.5)):
            heapq.heappush(calendar.jobs, Job(at, paddle.to_tensor([work, 1.0])))
        run = convert(calendar.run)
        seen = []
        for scale in (0.25, 2.0):
            total = run(paddle.to_tensor([scale])).item()
            costs = [cost.item() for cost in calendar.log["all"]]
            seen.append((total, costs, [job.at for job in calendar.jobs]))
        return seen

    for full_graph in (True, False):
        assert calls(lambda f, whole=full_graph: d2s.to_static(f, full_graph=whole)) == calls(
            lambda f: f
        )
