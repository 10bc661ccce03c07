"""Every kind of object that may hold state: written back after each run, or refused (F3)."""

from __future__ import annotations

import collections
import sys
import types
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

SETUP = """
    import array, collections, dataclasses, io, itertools, queue, types
    import numpy as np

    class Slots:
        __slots__ = ("n", "t")
        def __init__(self):
            self.n = 0
            self.t = None
        def count(self):
            self.n += 1

    class Mixed(Slots):
        def __init__(self):
            super().__init__()
            self.m = 0

    class Prop:
        def __init__(self):
            self._n = 0
        @property
        def n(self):
            return self._n
        @n.setter
        def n(self, value):
            self._n = value

    @dataclasses.dataclass
    class Data:
        n: int = 0
        t: object = None

    class Ga:
        def __init__(self):
            object.__setattr__(self, "d", {})
        def __getattr__(self, name):
            try:
                return self.d[name]
            except KeyError:
                raise AttributeError(name) from None
        def __setattr__(self, name, value):
            self.d[name] = value

    class Dict(dict):
        pass

    class List(list):
        pass

    class Meta(type):
        made = 0

    slots, mixed, prop, data, ga = Slots(), Mixed(), Prop(), Data(), Ga()
    ga.n = 0
    default, counter = collections.defaultdict(int), collections.Counter()
    ordered, deque = collections.OrderedDict(), collections.deque(maxlen=3)
    members, own_dict, own_list = set(), Dict(n=0), List([0])
    space, nested, plain = types.SimpleNamespace(n=0), {"a": [{"b": 0}]}, []
    whole = np.zeros(3)
    bytes_, numbers = bytearray(b"ab"), array.array("i", [0, 0])
    text, waiting = io.StringIO(), queue.Queue()
    count, items = itertools.count(), map(abs, [1, 2, 3, 4, 5, 6])
"""

KEPT = {
    "a slot": "slots.n += 1",
    "a slot, a tensor": "slots.t = x.sum()",
    "a slot, in a method": "slots.count()",
    "slots and a dictionary": "mixed.n += 1; mixed.m += 1",
    "a property": "prop.n += 1",
    "a data class": "data.n += 1; data.t = x",
    "__getattr__ and __setattr__": "ga.n += 1",
    "a default dict": "default['a'] += 1",
    "a counter": "counter.update(['a'])",
    "an item of a counter": "counter['a'] += 1",
    "an ordered dict": "ordered[len(ordered)] = x",
    "a deque": "deque.append(x.sum())",
    "a set": "members.add(len(members))",
    "a class that is a dict": "own_dict['n'] += 1",
    "a class that is a list": "own_list[0] += 1",
    "a class that is a list, longer": "own_list.append(x.sum())",
    "a namespace": "space.n += 1",
    "vars()": "vars(space)['n'] += 1",
    "__dict__": "space.__dict__['n'] += 1",
    "setattr": "setattr(space, 'n', space.n + 1)",
    "a dict in a list in a dict": "nested['a'][0]['b'] += 1",
    "setdefault": "nested.setdefault('c', []).append(1)",
    "a metaclass": "Meta.made += 1",
    "sort": "plain.append(-len(plain)); plain.sort()",
    "a slice": "plain[:] = [*plain, 1]",
    "itertools.count": "x = x + next(count)",
}

REFUSED = {
    "an array of NumPy": "whole[0] += 1",
    "an array of NumPy that is read": "whole[0] += 1; x = x + whole[0]",
    "an array": "numbers[0] += 1",
    "a bytearray": "bytes_.append(1)",
    "a text stream": "text.write('a')",
    "a queue": "waiting.put(1)",
    "an iterator": "x = x + next(items)",
}

HEADS = {"plain": "", "in a branch": "if x.sum() > 0:"}


def made(body: str, head: str) -> Any:
    lines = [line.strip() for line in body.split(";")]
    inner = [f"{'    ' if head else ''}{line}" for line in lines]
    text = "\n".join(f"        {line}" for line in ([head] if head else []) + inner)
    return function_of(f"{SETUP}\n    def f(x):\n{text}\n        return x\n", "f")


def shown(value: Any) -> Any:
    if isinstance(value, paddle.Tensor):
        return value.tolist()
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [shown(item) for item in value]
    if isinstance(value, dict):
        return type(value).__name__, {key: shown(item) for key, item in value.items()}
    return repr(value)


def state_of(function: Any) -> Any:
    g = function.__globals__
    slots, mixed, data = g["slots"], g["mixed"], g["data"]
    return [
        *(shown(item) for item in (slots.n, slots.t, mixed.n, mixed.m, g["prop"]._n)),
        *(shown(item) for item in (data.n, data.t, g["ga"].d, vars(g["space"]), g["Meta"].made)),
        *(shown(g[name]) for name in ("default", "counter", "ordered", "deque", "members")),
        *(shown(g[name]) for name in ("own_dict", "own_list", "nested", "plain", "count")),
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", KEPT)
def test_is_what_dygraph_leaves(name: str, head: str) -> None:
    """F3: after each run."""
    function, other = (made(KEPT[name], HEADS[head]) for _ in range(2))
    static = d2s.to_static(other)
    for value in (1.0, -2.0, 3.0, 1.0):
        want = function(tensor(value)).tolist(), state_of(function)
        assert (static(tensor(value)).tolist(), state_of(other)) == want, value


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str, head: str) -> None:
    """F3: what no run could change is refused with a code, rather than changed once."""
    function = made(REFUSED[name], HEADS[head])
    with pytest.raises(D2SError, match="D2S205"):
        d2s.to_static(function)(tensor(1.0))


def test_a_refused_function_leaves_the_array_alone() -> None:
    """F3: what the capture has written is put back; the message names the array."""
    function = made("whole[0] += 1; numbers[0] += 1; bytes_.append(1); text.write('a')", "")
    with pytest.raises(D2SError, match="D2S205"):
        d2s.to_static(function)(tensor(1.0))
    found = function.__globals__
    assert found["whole"].tolist() == [0.0, 0.0, 0.0]


def test_an_array_among_the_arguments() -> None:
    """F3, G1: what the function writes into it the caller sees, after each call."""

    def f(x, arrays):
        arrays["first"][0] += 1
        return x

    static = d2s.to_static(f)
    for dtype in ("float32", "int64"):
        first = np.zeros(2, dtype)
        for count in (1, 2, 3):
            static(tensor(1.0), {"first": first})
            assert first.tolist() == [count, 0]


def test_an_array_that_is_only_read() -> None:
    """G2: is a constant, and seen when it changes."""
    function = made("x = x + whole[0]", "")
    static = d2s.to_static(function)
    assert static(tensor(1.0)).tolist() == [1.0]
    function.__globals__["whole"][0] = 5
    assert static(tensor(1.0)).tolist() == [6.0]


MAKER = """
def make():
    k = 0
    def bump(x):
        nonlocal k
        k += 1
        return x * k
    return bump
"""


def test_variables_of_functions_that_the_capture_makes_are_no_state() -> None:
    """G2: a cell of this capture is no reason for another program, however it changes."""
    inner = function_of(
        """
        def f(x, y):
            k = 1
            def bump():
                nonlocal k, y
                if x.sum() > 0.5:
                    k = k + 1
                    y = y * 0.5
            bump()
            return y * k
        """
    )
    generator = function_of(
        """
        def f(x, y):
            def parts(v):
                yield v * 0.5
                yield x * 0.5
            for v in parts(x):
                y = y * 0.5 + v
                x = x * 0.5
            return y
        """
    )
    for function in (inner, generator):
        static = d2s.to_static(function)
        for _ in range(3):
            assert_same(function, (tensor(1.0), tensor(2.0)))
            static(tensor(1.0), tensor(2.0))
        assert static.get_traced_count() == 1


def test_a_function_made_before_the_capture_keeps_its_state() -> None:
    """F3: also one of code that was converted before, whose maker is captured too."""
    results = []
    for converter in (d2s.to_static, d2s.convert, lambda function: function):
        make = function_of(MAKER)
        outside = d2s.convert(make)()

        def f(x: Any, make: Any = make, outside: Any = outside) -> Any:
            inside = make()
            inside(x)
            return inside(x) + outside(x)

        static = converter(f)
        results.append([static(tensor(1.0)).item() for _ in range(3)])
    assert results[0] == results[1] == results[2] == [3.0, 4.0, 5.0]


def test_what_is_imported_is_no_state_of_a_function_that_asks_for_a_module() -> None:
    """G2: libraries that look for another one in ``sys.modules``, as einops does."""

    def function(x: Any) -> Any:
        return x * 2 if "paddle" in sys.modules else x

    static = d2s.to_static(function, full_graph=True)
    assert static(paddle.ones([2])).tolist() == [2.0, 2.0]
    (entry,) = static.entries
    assert len(entry.runner.captured.guards) < 20
    sys.modules["d2s_imported_later"] = types.ModuleType("d2s_imported_later")
    try:
        assert static(paddle.ones([2])).tolist() == [2.0, 2.0]
    finally:
        del sys.modules["d2s_imported_later"]
    assert len(static.programs) == 1
