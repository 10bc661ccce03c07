"""Views of which the run decides whether, and of what place, they are ones (rules A1, B2, C2)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, function_of, tensor

INPUTS = (
    (tensor(3.0, 1.0, 2.0), paddle.to_tensor(1)),
    (tensor(1.0, 2.0, 4.0), paddle.to_tensor(2)),
    (tensor(0.5, 0.25, -1.0), paddle.to_tensor(0)),
)


def same(body: str, **names: Any) -> None:
    """Hold ``f(x, i)`` of these lines against dygraph, as one program."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    assert_same(function_of(f"def f(x, i):\n{lines}", paddle=paddle, **names), *INPUTS)


BRANCHES = {
    "the best so far": (
        "y = x * 2; best = paddle.to_tensor(0.0)\n"
        "for k in range(3):\n"
        "    v = y[k]\n"
        "    if v > best: best = v\n"
        "    y[k] = best + 1\n"
        "return best * 1, y"
    ),
    "one on one side": "y = x * 2; a = x.sum()\nif a > 4: a = y[i]\ny[i] = 3.0\nreturn a, y * 1",
    "from the end": (
        "y = x * 2; a = x.sum()\nif a > 4: a = y[-1]\ny[2] = 5.0; y[-2] = 4.0\nreturn a * 1, y"
    ),
    "of several elements": (
        "y = x * 2; a = x[:2] * 1\nif a.sum() > 2: a = y[1:]\ny[i] = 5.0\nreturn a * 1, y"
    ),
    "two places": (
        "y = x * 2\nif x.sum() > 4: a = y[0]\nelse: a = y[i]\ny[0] = 5.0\ny[2] = 6.0\n"
        "return a * 1, y"
    ),
    "an item of a dict": (
        "s = {'y': x * 2, 'b': x.sum()}\n"
        "for k in range(3):\n"
        "    if s['y'][k] < s['b']: s['b'] = s['y'][k]\n"
        "    s['y'][i] = s['y'][i] + 1\n"
        "return s['b'] * 1, s['y']"
    ),
    "out of a loop that is left early": (
        "y = x * 2; last = x.sum()\n"
        "for k in range(3):\n"
        "    if y[k] > 3:\n"
        "        last = y[k]\n"
        "        y[k] = y[k] - 5\n"
        "        break\n"
        "    last = y[k]\n"
        "    y[k] = last + 1\n"
        "y[0] = 4.0\n"
        "return last * 2, y"
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_decides_what_is_a_view(name: str) -> None:
    """A1, B2: a change of the tensor is seen in what may be a part of it, on the runs it is."""
    same(BRANCHES[name])


def test_a_view_of_an_argument() -> None:
    """A1: the argument is changed for the caller, too; what is no view of it on a run is not."""

    def f(x: Any, i: Any) -> Any:
        a = x.sum()
        if a > 4:
            a = x[i]
        x[i] = 3
        return a * 1, x * 1

    calls = [[3, 1, 2], [0, 1, 2], [9, 0, 0]]
    assert_same(f, *((paddle.to_tensor(x), paddle.to_tensor(1)) for x in calls))


LOOPS = {
    "taken in a trip": (
        "y = x * 2; last = x.sum(); n = paddle.to_tensor(0)\n"
        "while n < i:\n"
        "    last = y[n]\n"
        "    n = n + 1\n"
        "y[0] = 9.0; y[1] = 8.0\n"
        "return last + 1, y"
    ),
    "a pointer that moves": (
        "y = paddle.to_tensor([0, 0, 1]); n = i\n"
        "while y[n] != n:\n"
        "    y[n] = y[y[n]]\n"
        "    n = y[n]\n"
        "return n * 1, y"
    ),
    "the best of a branch": (
        "y = x * 2; best = x.sum(); n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    if y[n] < best: best = y[n]\n"
        "    y[i] = y[i] + 1\n"
        "    n = n + 1\n"
        "return best * 1, y"
    ),
    "the best and the second": (
        "y = x * 2; best = paddle.to_tensor(100.0); second = best; n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    if y[n] < best:\n"
        "        second = best\n"
        "        best = y[n]\n"
        "    y[n] = y[n] + 3\n"
        "    n = n + 1\n"
        "return best * 1, second * 1, y"
    ),
    "two that are swapped": (
        "y = x * 2; a = y[0]; b = x.sum(); n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    a, b = b, a\n"
        "    y[0] = y[0] + 1\n"
        "    n = n + 1\n"
        "return a * 1, b * 1, y"
    ),
    "a row": (
        "m = x.unsqueeze(0) * x.unsqueeze(1); row = x * 1; n = paddle.to_tensor(0)\n"
        "while n < 2:\n"
        "    if m[n].sum() > 3: row = m[n]\n"
        "    m[n, 1] = -1.0\n"
        "    n = n + 1\n"
        "return row * 2, m"
    ),
    "loops in loops": (
        "y = x * 2; best = paddle.to_tensor(100.0); a = paddle.to_tensor(0)\n"
        "while a < 2:\n"
        "    b = paddle.to_tensor(0)\n"
        "    while b < 3:\n"
        "        if y[b] < best: best = y[b]\n"
        "        y[b] = y[b] + a\n"
        "        b = b + 1\n"
        "    y[a] = best + 1\n"
        "    a = a + 1\n"
        "return best * 1, y"
    ),
    "a function with a loop of its own": (
        "def find(parent, k):\n"
        "    while parent[k] != k:\n"
        "        parent[k] = parent[parent[k]]\n"
        "        k = parent[k]\n"
        "    return k\n"
        "parent = paddle.to_tensor([0, 0, 1]); n = paddle.to_tensor(0); s = n\n"
        "while n < 3:\n"
        "    s = s + find(parent, n)\n"
        "    a = find(parent, i)\n"
        "    parent[a] = s % 3\n"
        "    n = n + 1\n"
        "return parent, s"
    ),
}


@pytest.mark.sampled(
    2, also=["a function with a loop of its own", "a row", "the best and the second"]
)
@pytest.mark.parametrize("name", LOOPS)
def test_a_trip_decides_what_is_a_view(name: str) -> None:
    """A1, C2: whether a variable is a view, and of what place, goes along from trip to trip."""
    same(LOOPS[name])


def test_the_attribute_of_an_object() -> None:
    """A1, F3: the tensor and what may be a part of it are attributes."""

    class Search:
        def __init__(self, y: Any) -> None:
            self.y, self.best = y, y.sum()

    same(
        "s = Search(x * 2); n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    if s.y[n] < s.best: s.best = s.y[n]\n"
        "    s.y[i] = s.y[i] + 1\n"
        "    n = n + 1\n"
        "return s.best * 1, s.y",
        Search=Search,
    )


REFUSED = {
    "one of two tensors": (
        "y = x * 2; z = x * 3\nif x.sum() > 4: a = y[i]\nelse: a = z[i]\n"
        "y[i] = 7.0; z[i] = 6.0\nreturn a + 1, y, z"
    ),
    "changed itself": (
        "m = x.unsqueeze(0) * x.unsqueeze(1); row = x * 1\nif m[0].sum() > 3: row = m[0]\n"
        "row[1] = 5.0\nreturn row * 2, m"
    ),
    "a piece, merged with a view before it is one": (
        "y = x * 2; v = x.sum(); w = v; n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    if n > 1: w = v\n"
        "    else: w = y[2]\n"
        "    v = y.unbind()[1]\n"
        "    y[1] = 5.0 + n\n"
        "    v = y.unbind()[1]\n"
        "    n = n + 1\n"
        "return w * 1, y"
    ),
    "what may be None, merged with a view": (
        "y = x * 2; v = None; w = x.sum(); n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    if v is None: w = y[2]\n"
        "    else: w = v\n"
        "    y[1] = 5.0 + n\n"
        "    v = y[1]\n"
        "    n = n + 1\n"
        "y[1] = 9.0\n"
        "return w * 1, y"
    ),
    "items of a list that grows": (
        "y = x * 2; kept = []; n = paddle.to_tensor(0)\n"
        "while n < 3:\n"
        "    kept.append(y[n])\n"
        "    y[i] = y[i] * 0.5\n"
        "    n = n + 1\n"
        "return paddle.stack(kept), y"
    ),
    "an operand that a condition comes before": (
        "def put(y, k):\n"
        "    y[k] = 7.0\n"
        "    return y[k]\n"
        "y = x * 2\n"
        "a = x.sum() > 0 and y[i] + put(y, i)\n"
        "return a * 1, y"
    ),
}


def put(y: Any, k: int) -> Any:
    """Write into ``y``."""
    y[k] = 7.0
    return y[k]


def grow(y: Any) -> Any:
    """Change all of ``y``."""
    y.add_(paddle.ones_like(y))
    return y.sum()


def find(parent: Any, x: Any) -> Any:
    """The root of ``x`` in a union-find, whose paths it halves."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


class Box:
    """Holds a tensor."""


OPERANDS = {
    "a tuple": "r = y[i], put(y, i), y[0]\nreturn r[0] + 1, r[1], r[2] * 2, y",
    "in a static loop": (
        "n = paddle.to_tensor(0); s = x.sum()\n"
        "while n < 2:\n    a, b = y[i], put(y, n)\n    s = s * 2 + a - b\n    n = n + 1\n"
        "return s, y"
    ),
    "an argument": "return paddle.add(y[i], put(y, i)), y[0] * grow(y), y",
    "arguments by keyword": (
        "g = lambda u, v, w: u * 2 + v * w\n"
        "return g(y[i], v=put(y, 1), w=g(y[0], w=grow(y), v=y[1]))"
    ),
    "a list and a dict": (
        "r = [y[i], grow(y), {'k': y[0], 'n': put(y, 0)}]\n"
        "return r[0] * 1, r[1], r[2]['k'] * 2, r[2]['n'], y"
    ),
    "the value of a return": "return y[i], put(y, i), y[1:], grow(y), y * 1",
    "an assignment with an operator": "t = y[i]\nt += put(y, i)\nreturn t * 1, y",
    "a condition": "if y[i] + 1 < put(y, 0) + y[i]: y = y + 1\nreturn y",
    "the condition of a loop": (
        "n = paddle.to_tensor(0)\nwhile y[i] < put(y, n) - n * 4: n = n + 1\nreturn n, y"
    ),
    "what a loop goes over": (
        "s = paddle.zeros([])\nfor v in (y[i], put(y, 1), y[2], grow(y)): s = s * 3 + v\nreturn s"
    ),
    "the key of an assignment": (
        "y = y.detach(); p = x.argsort()\ny[find(p, p[0]) + 0 * put(p, 1)] = put(y, 1)\nreturn y, p"
    ),
    "on one side of a branch": (
        "if y.sum() > 6: a, b = y[i], grow(y)\nelse: a, b = put(y, 0), y[0]\nreturn a * 1, b * 1, y"
    ),
    "of a generator": (
        "def pairs(y):\n    for k in range(3): yield y[k], put(y, k), y[i]\n"
        "return [u + v - w for u, v, w in pairs(y)], y"
    ),
    "roots of a union-find": (
        "p = paddle.to_tensor([0, 0, 1, 2, 4, 4])\n"
        "for u, v in ((i + 1, i + 3), (3, 5), (2, 4)):\n"
        "    a, b = find(p, p[u]), find(p, p[v])\n"
        "    if a != b: p[a] = b\n"
        "return p, find(p, p[3]) == find(p, p[5])"
    ),
    "the tensor itself": (
        "z = y - 1; r = (y, put(y, i), y), y + grow(y), [z, grow(z), z.sum() + grow(z)]\n"
        "return r, y, z"
    ),
    "the tensor itself, as an argument": (
        "def start(y, a, b):\n    y[0] = a\n    return b\n"
        "b = start(y, x.sum(), put(y, i)) * 1\nif y[2] < 8: y[-1] = 0.5\nreturn y, b"
    ),
    "an attribute": (
        "s = Box(); s.t = y + 1\n"
        "return s.t, grow(s.t), paddle.add(s.t, grow(s.t)), s.t.sum() - put(s.t, 0), s.t"
    ),
    "whose method is called": "return y.add(grow(y)), y[i].add(put(y, i)), y",
    "with its gradient": (
        "z = x.detach(); z.stop_gradient = False; y = z * 2\n"
        "a = y[i] * 3 + grow(y) + paddle.add(y[0], put(y, 1))\n"
        "return paddle.grad((a + y).sum(), z)[0], a.detach()"
    ),
}


@pytest.mark.sampled(3, also=["the tensor itself", "the condition of a loop"])
@pytest.mark.parametrize("name", OPERANDS)
def test_an_operand_that_waits_for_a_call(name: str) -> None:
    """A1: what the call writes is in it."""
    same(f"y = x * 2\n{OPERANDS[name]}", put=put, grow=grow, find=find, Box=Box)


def test_an_argument_that_waits_for_a_call() -> None:
    """A1: what the call writes into it is in it, and in the caller's tensor."""
    function = function_of(
        "def f(x, i):\n    return x.sum() + grow(x), (x, put(x, i)), x + put(x, 0)",
        put=put,
        grow=grow,
    )
    assert_same(function, *((x.astype("int64"), i) for x, i in INPUTS))


@pytest.mark.parametrize("name", REFUSED)
def test_a_view_of_which_nobody_knows_the_place(name: str) -> None:
    """A1: refused with the user's line as one program, never lost; right as several."""
    lines = "\n".join(f"    {line}" for line in REFUSED[name].splitlines())
    function = function_of(f"def f(x, i):\n{lines}", paddle=paddle)
    with pytest.raises(InplaceError) as caught:
        d2s.to_static(function, full_graph=True)(*INPUTS[0])
    assert caught.value.line is not None
    parts = d2s.to_static(function, full_graph=False)
    for x, i in INPUTS:
        assert str(parts(x.clone(), i)) == str(function(x.clone(), i))
