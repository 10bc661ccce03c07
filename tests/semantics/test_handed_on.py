"""Tensors that are picked, kept or handed on under ``no_grad`` keep their gradient (rule F1)."""

from __future__ import annotations

import textwrap
from collections import deque
from types import SimpleNamespace

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

PICKED = {
    "an item of a list": "r = [x, x * 2, x][int(x.sum() > 0) + int(x.sum() > 4)]",
    "an item of a dict": "r = {0: x, 1: x * 2}[int(x.sum() > 0)]",
    "a side of a conditional": "r = x if x.sum() > 0 else x + 0",
    "the greatest": "r = max([x[0], x[1]], key=lambda v: v.abs()) + max((x, x * 2), key=total)",
    "the first that passes": "r = next((v for v in (x, x * 2) if v.sum() > 2), x)",
    "sorted": "q = sorted([x, x * 2, x * 0.1], key=total); r, s = q[0], q[-1]",
    "a loop variable": "a, b = x, x * 2\nfor i in range(9):\n    a, b = b, a\n"
    "    if a.sum() > i: break\nr = a",
}

KEPT = {
    "an item": "r = q[0] if q else x",
    "a slice": "r = sum(q[1:], x) if len(q) > 1 else x",
    "pop": "r = q.pop(0) if q else x",
    "a loop over it": "r = x\nfor v in q:\n    if v.sum() > 5: r = v",
    "reversed": "q.reverse(); q.insert(0, x); r = q[-1]",
    "put in": "q.append(x); q[0] = x * 1; q[-1] = x; r = q[-1]",
    "the greatest": "q.append(x); r = max(q, key=lambda v: v.sum())",
    "sorted": "q.append(x); r = sorted(q, key=lambda v: -v.sum())[0]",
    "filtered": "p = [v for v in q if v.sum() > 5]; r = p[0] if p else x",
    "a generator": "q.extend(v * 2 for v in (x, x * 3)); r = q[-1]",
    "a deque": "d = deque(q, maxlen=2); d.append(x); r = d[0]",
    "tuples": "p = [(v, 1) for v in q]; p.append((x, 2)); r, k = p[0]",
    "a dict": "d = {}\nfor v in (x, x * 2):\n    d[int(v.sum())] = v\nr = d.get(3, x)",
    "left while": "q.append(x)\nwhile len(q) > 1 and q[-1].sum() > 1:\n    q.pop()\nr = q[0]",
    "a static loop": "i, z = 0, [x]\nwhile i < x.abs().sum():\n    z.append(x)\n    i += 1\n"
    "r = z[0]",
}

LIST = "q = []\nfor v in (x, x * 2, x * 3):\n    if v.sum() > 2: q.append(v)\n"


def held(body: str) -> None:
    lines = textwrap.indent(body.replace("; ", "\n"), " " * 8)
    text = f"def f(x):\n    with paddle.no_grad():\n{lines}\n    return (r * 2).sum() + x.sum()\n"
    function = function_of(text, total=lambda v: v.sum(), deque=deque, paddle=paddle)
    static = d2s.to_static(function, full_graph=True)
    for values in ((2.0, 1.0), (-1.0, -3.0), (5.0, 1.0)):
        found = []
        for f in (function, static):
            x = tensor(*values)
            x.stop_gradient = False
            y = f(x)
            y.backward()
            found.append((y.tolist(), x.grad.tolist()))
        assert found[0] == found[1]


@pytest.mark.parametrize("body", PICKED.values(), ids=PICKED)
def test_picked(body: str) -> None:
    """B2, E1: it is the very tensor in dygraph, which has a gradient."""
    held(body)


@pytest.mark.sampled(3, also=["a slice", "a deque"])
@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_out_of_a_list_of_the_run(body: str) -> None:
    """D2: also where all that happens to the list happens under ``no_grad``."""
    held(LIST + body)


def test_what_a_generator_expression_binds_is_of_the_last_item_asked_for() -> None:
    """C6, A1: any, all and next stop where a tensor says so; := has bound nothing behind it."""

    def witness(x):
        found = any((last := v) > 1 for v in x)
        return found, last

    def counter(x):
        first = x[0]
        if all((last := v) > 1 for v in x):
            return last * 2
        return last - first

    def first_one(x):
        found = next((v for v in x if (last := v * 2) > 2), None)
        return found, last

    def numbers(x):
        n = 0
        found = any((n := n + 1) and v > 2 for v in x)
        return found, n

    def of_the_run(x):
        places = paddle.nonzero(x > 0).flatten()
        found = any((last := place) > 1 for place in places)
        return found, last

    def in_a_loop(x):
        trips = 0
        while any((last := v) > 1 for v in x):
            x = x / 2
            trips += 1
            if last > 20:
                break
        return x, trips, last

    def items(x):
        found = any((name := key) and v > 2 for key, v in {"a": x[0], "b": x[1]}.items())
        return found, name

    for f in (witness, counter, first_one, numbers, of_the_run, in_a_loop, items):
        for values in ((30.0, 1.0), (1.0, 30.0), (3.0, 4.0, 5.0), (0.5, 2.0, 0.0, 3.0)):
            assert_same(f, (paddle.to_tensor(values),))


def test_a_generator_expression_that_binds_in_every_consumer() -> None:
    """C6."""

    def f(x):
        total = x[0] * 0
        parts = list((total := total + v) for v in x)
        kept = tuple((total := total + v) for v in x if v > 0)
        whole = sum((one := v * 2) for v in x)
        best = max((each := v - total) for v in x)
        text = ",".join((name := str(i)) for i in range(3))
        return parts, kept, total, whole, one, best, each, text, name

    assert_same(f, (paddle.to_tensor([1.0, -2.0]),), (paddle.to_tensor([3.0, 4.0]),))


KEPT_BY = {
    "a text of it": "r = ', '.join([str(q) for q in x.tolist() if q > 1])",
    "a text with it": "r = f'{[q for q in x.tolist() if q > 1]} of {x}'",
    "a text of a text": "r = f'{n} {[q for q in x.tolist() if q > 1]}'; r = f'({r})'",
    "an object": "r = Box([q for q in x if q > 1])",
    "a namespace": "r = SimpleNamespace(items=[q for q in x if q > 1])",
    "an object in a dict": "r = {'a': Box([q for q in x if q > 1])}",
    "an object and a dict": "b = Box([q for q in x if q > 1]); r = {'a': b, 'b': b.items}\n"
    "        b.items.append(x[0])",
    "an object of objects": "r = Box(Box([q * 2 for q in x if q > 1]))",
}


@pytest.mark.sampled(4, also=["an object of objects-r = 'none'"])
@pytest.mark.parametrize("other", ["r = None", "r = 'none'", "r = Box([])"])
@pytest.mark.parametrize("name", KEPT_BY)
def test_a_list_that_one_side_of_a_branch_fills(name: str, other: str) -> None:
    """D1, F3: what keeps a list that only the run knows the length of keeps it behind a branch."""
    f = function_of(
        f"""
class Box:
    def __init__(self, items):
        self.items = items
    def __len__(self):
        return len(self.items)

def unboxed(r):
    if isinstance(r, dict):
        return {{k: unboxed(v) for k, v in r.items()}}
    return unboxed(r.items) if isinstance(r, (Box, SimpleNamespace)) else r

def f(x, n):
    if x.sum() > 2:
        {KEPT_BY[name]}
    else:
        {other}
    return unboxed(r)
""",
        None,
        SimpleNamespace=SimpleNamespace,
    )
    calls = ((1.0, 0.5), (3.0, 2.0), (3.0, -0.5), (0.0, 0.0))
    assert_same(f, *((tensor(*each), n) for n, each in enumerate(calls)))
