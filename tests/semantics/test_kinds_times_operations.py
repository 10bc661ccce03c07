"""Every kind of container in every place that may hold one (rules B2, B4, C3, D1, G1).

A hole of the table is in ``RULES``, with the rule that states it: what is refused there raises an
error with a code.  A container that is registered takes part like one of Python's.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import itertools
import linecache
import textwrap
from typing import Any, NamedTuple

import paddle
import pytest

import d2s
from d2s.runtime.values import tree
from d2s.runtime.values.container_kinds import Registered
from tests.helpers import tensor


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Box:
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Fixed:
    x: Any
    y: Any


class Items(list):  # type: ignore[type-arg]
    """A list with an attribute."""

    def __init__(self, items: Any) -> None:
        super().__init__(items)
        self.tag = "items"


class Bag(dict):  # type: ignore[type-arg]
    """A dict with an attribute."""

    def __init__(self, **items: Any) -> None:
        super().__init__(**items)
        self.tag = "bag"


class Pair(tuple):  # type: ignore[type-arg]
    """A tuple of a class."""


class Frozen:
    """A container of the user's: no class of Python's, known because it is registered."""

    def __init__(self, **items: Any) -> None:
        self.__dict__["table"] = items

    def __getitem__(self, key: str) -> Any:
        return self.table[key]

    def __repr__(self) -> str:
        return f"Frozen({', '.join(f'{key}={item!r}' for key, item in self.table.items())})"


class Kind(NamedTuple):
    """How a kind is written: made of ``a`` and ``b``, read, and changed in place."""

    make: str
    read: str
    change: str | None = None


KINDS = {
    "list": Kind("[a, b]", "c[0] * 2 + c[1]", "c[0] = c[0] * 2"),
    "tuple": Kind("(a, b)", "c[0] * 2 + c[1]"),
    "named tuple": Kind("Point(a, b)", "c.x * 2 + c.y"),
    "tuple of a class": Kind("Pair((a, b))", "c[0] * 2 + c[1]"),
    "list of a class": Kind("Items([a, b])", "c[0] * 2 + c[1]", "c[0] = c[0] * 2"),
    "dict": Kind("{'x': a, 'y': b}", "c['x'] * 2 + c['y']", "c['x'] = c['x'] * 2"),
    "ordered dict": Kind("OrderedDict(x=a, y=b)", "c['x'] * 2 + c['y']", "c['x'] = c['x'] * 2"),
    "defaultdict": Kind(
        "defaultdict(list, x=a, y=b)", "c['x'] * 2 + c['y']", "c['x'] = c['x'] * 2"
    ),
    "dict of a class": Kind("Bag(x=a, y=b)", "c['x'] * 2 + c['y']", "c['x'] = c['x'] * 2"),
    "deque": Kind("deque([a, b], 2)", "c[0] * 2 + c[1]", "c[0] = c[0] * 2"),
    "dataclass": Kind("Box(a, b)", "c.x * 2 + c.y", "c.x = c.x * 2"),
    "frozen dataclass": Kind("Fixed(a, b)", "c.x * 2 + c.y"),
    "registered": Kind("Frozen(x=a, y=b)", "c['x'] * 2 + c['y']"),
}

PLACES = {
    "argument": """
        def f(a, b):
            return total({make})

        @convert
        def total(c):
            return {read}
    """,
    "result": """
        @convert
        def made(a, b):
            return {make}

        def f(a, b):
            c = made(a, b)
            return {read}, type(c).__name__
    """,
    "replaced in a branch": """
        @convert
        def f(a, b):
            c = {make}
            if a.sum() > 3:
                a = a * 3
                c = {make}
            return {read}, type(c).__name__
    """,
    "made on both sides": """
        @convert
        def f(a, b):
            if a.sum() > 3:
                a = a * 3
                c = {make}
            else:
                b = b - 1
                c = {make}
            return {read}, type(c).__name__
    """,
    "changed in a branch": """
        @convert
        def f(a, b):
            c = {make}
            if a.sum() > 3:
                {change}
            return {read}, type(c).__name__
    """,
    "replaced in a loop": """
        @convert
        def f(a, b):
            c = {make}
            while a.sum() < 40:
                a, b = a * 2, b + 1
                c = {make}
            return {read}, type(c).__name__
    """,
    "changed in a loop": """
        @convert
        def f(a, b):
            c = {make}
            while b.sum() < 20:
                b = b * 2
                {change}
            return {read}, type(c).__name__
    """,
    "item of a list that a loop grows": """
        @convert
        def f(a, b):
            rows = []
            while a.sum() < 40:
                a, b = a * 2, b + 1
                rows.append({make})
            c = rows[-1]
            return {read}, len(rows)
    """,
    "in another container": """
        @convert
        def f(a, b):
            held = {{"rows": [({make}, 1)]}}
            if a.sum() > 3:
                a = a * 3
                held["rows"][0] = ({make}, 2)
            c, n = held["rows"][0]
            return {read}, n
    """,
    "closure": """
        def f(a, b):
            c = {make}

            @convert
            def inner(scale):
                return ({read}) * scale

            return inner(b)
    """,
    "global": """
        def f(a, b):
            global c
            c = {make}
            return use(b)

        @convert
        def use(scale):
            return ({read}) * scale
    """,
    "attribute": """
        class Owner:
            pass

        owner = Owner()

        def f(a, b):
            owner.c = {make}
            return use(b)

        @convert
        def use(scale):
            c = owner.c
            return ({read}) * scale
    """,
    "print": """
        @convert
        def f(a, b):
            c = {make}
            if a.sum() > 3:
                print("big", c)
            return {read}
    """,
}

RULES: dict[tuple[str, str], str] = {
    (name, "item of a list that a loop grows"): "D2S207"
    for name in ("tuple of a class", "list of a class", "dict of a class")
}
"""The holes, by kind and place: the code of the error.

D1: rows of a list whose length the run decides are tensors, numbers, texts, objects of the user's
classes, and containers of Python's own classes that hold such.
"""

CALLS = ((tensor(1.0, 1.0), tensor(1.0, 2.0)), (tensor(4.0, 2.0), tensor(1.0, 3.0)))

_count = itertools.count(1)


def program(kind: Kind, place: str, convert: Any) -> Any:
    """The function ``f`` of a place, with a kind written into it."""
    text = textwrap.dedent(PLACES[place]).format(make=kind.make, read=kind.read, change=kind.change)
    file = f"<kinds {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {
        "__name__": "kinds", "paddle": paddle, "convert": convert, "Point": Point, "Box": Box,
        "Fixed": Fixed, "Items": Items, "Bag": Bag, "Pair": Pair, "Frozen": Frozen,
        "OrderedDict": collections.OrderedDict, "defaultdict": collections.defaultdict,
        "deque": collections.deque,
    }  # fmt: skip
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names["f"]


def seen(function: Any, a: Any, b: Any) -> Any:
    """Result, gradients and output of a call."""
    a, b = a.clone().detach(), b.clone().detach()
    a.stop_gradient = b.stop_gradient = False
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = function(a, b)
    value, *rest = result if isinstance(result, tuple) else (result,)
    (value * paddle.to_tensor([1.0, 0.5])).sum().backward()
    grads = [None if each.grad is None else each.grad.tolist() for each in (a, b)]
    return (
        value.tolist(),
        [int(each) if paddle.is_tensor(each) else each for each in rest],
        grads,
        out.getvalue(),
    )


CASES = [
    (name, place)
    for name, place in itertools.product(KINDS, PLACES)
    if KINDS[name].change or "{change}" not in PLACES[place]
]


@pytest.fixture(autouse=True, scope="module")
def _registered() -> Any:
    kind = Registered(
        Frozen,
        lambda frozen: (list(frozen.table), list(frozen.table.values())),
        lambda keys, items: Frozen(**dict(zip(map(str, keys), items, strict=True))),
    )
    with tree.registered(kind):
        yield


@pytest.mark.sampled(2, also=["registered-in another container"])
@pytest.mark.parametrize(("name", "place"), CASES)
def test_a_container_means_what_it_means_in_dygraph(name: str, place: str) -> None:
    """B2, B4, C3, D1, G1: value, gradient, class and output are those of dygraph."""
    plain = program(KINDS[name], place, lambda function: function)
    static = program(KINDS[name], place, d2s.to_static)
    for a, b in (*CALLS, *CALLS):
        if (name, place) in RULES:
            with pytest.raises(d2s.D2SError) as caught:
                seen(static, a, b)
            assert caught.value.code == RULES[name, place]
            return
        assert seen(static, a, b) == seen(plain, a, b)
