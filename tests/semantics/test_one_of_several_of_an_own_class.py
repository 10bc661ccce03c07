"""A list or dict of the user's own class that a branch has left with two lengths (rules A1, B4)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

CALLS = (tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(-1.0, -2.0, -3.0))


class Stack(list):
    def push(self, x: Any) -> Any:
        self.append(x)
        return len(self)

    def top(self) -> Any:
        return self[-1]

    def push_and_look(self, x: Any) -> Any:
        self.push(x)
        return self.top()


class Table(dict):
    def put(self, key: str, x: Any) -> Any:
        self[key] = x
        return len(self)

    def total(self) -> Any:
        return sum(self.values())


class Calling(list):
    def push(self, x: Any) -> None:
        super().append(x)


class Doubling(dict):
    def __setitem__(self, key: str, x: Any) -> None:
        super().__setitem__(key, x * 2)


def made(use: str, begin: str) -> Any:
    return function_of(
        f"""
    def f(x):
        h = {begin}
        if x[0] > 0:
            {"h['a'] = 1" if begin.startswith(("Table", "Doubling")) else "h.append(1)"}
        {use}
    """,
        "f",
        Stack=Stack,
        Table=Table,
        Calling=Calling,
        Doubling=Doubling,
    )


@pytest.mark.parametrize(
    ("begin", "use"),
    [
        ("Stack([0])", "return h.push(3), h, len(h)"),
        ("Stack([0])", "k = h; h.push(3); return h, k, h is k"),
        ("Stack([0])", "put = h.push; put(4); put(5); return h"),
        ("Stack([x[1]])", "y = h.push_and_look(x[2]); return y, h.top(), len(h)"),
        ("Table(z=0)", "return h.put('b', 2), h, h.total()"),
        ("Table(z=0)", "h['b'] = 2; return h, len(h), list(h)"),
        ("Table()", "h['b'] = 2; return h, 'a' in h, [*h.values()]"),
    ],
)
def test_it_is_changed_by_a_method_or_an_item(begin: str, use: str) -> None:
    """B4: under each of its names, whichever of the two it is."""
    assert_same(made(use, begin), *CALLS)


@pytest.mark.parametrize(
    ("begin", "use"),
    [("Calling([0])", "h.push(3); return h"), ("Doubling(z=0)", "h['b'] = 2; return h")],
)
def test_what_is_refused(begin: str, use: str) -> None:
    """B4: methods that call ``super()``, or stand in the place of Python's, are refused."""
    with pytest.raises(ContainerInGraphError) as caught:
        d2s.to_static(made(use, begin), full_graph=True)(CALLS[0])
    assert "'thing'" not in str(caught.value)
    assert_same(made(use, begin), *CALLS, static=d2s.to_static(made(use, begin), full_graph=False))


def test_an_attribute_of_one_of_several_lists() -> None:
    """D2: behind the branch that has made several of one."""
    f = function_of("""
    class Rows(list):
        n = 0

    def f(x):
        rows = Rows()
        if x.sum() > 0:
            rows.append(x)
        rows.n += 1
        if rows.n > 0 and x.max() > 1:
            rows.n = 7
        return len(rows), rows.n
    """, "f")  # fmt: skip
    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, -2.0), tensor(0.25, 0.5))
