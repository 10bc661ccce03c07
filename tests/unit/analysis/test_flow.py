"""What is live after and inside a branch or loop, and which reads are unsure (B1, B2, C2, C3)."""

from __future__ import annotations

import textwrap
from typing import Any

import gast
import pytest

from d2s.analysis.flow import flow_of


def facts(text: str) -> tuple[str, str, str]:
    """Live after the first compound statement, live into it, and unsure reads as ``name:line``."""
    function = gast.parse(textwrap.dedent(text)).body[0]
    flow = flow_of(function)
    statement = next(
        node
        for node in function.body
        if isinstance(node, gast.If | gast.While | gast.For | gast.Try | gast.With | gast.Match)
    )
    unsure = [
        f"{node.id}:{node.lineno}"
        for node in gast.walk(function)
        if isinstance(node, gast.Name) and id(node) in flow.unsure
    ]
    after = flow.after[id(statement)] & flow.locals_
    entering = flow.entering.get(id(statement), frozenset()) & flow.locals_
    return " ".join(sorted(after)), " ".join(sorted(entering)), " ".join(sorted(unsure))


CASES: dict[str, tuple[str, tuple[str, str, str]]] = {
    "only what is read afterwards": ("""
        def f(x):
            if x:
                t = x
                y = t
            else:
                y = 1
            return y
    """, ("y", "x", "")),
    "bound on one side": ("""
        def f(x):
            if x:
                y = x
            return y
    """, ("y", "x y", "y:5")),
    "a side that leaves binds nothing for later": ("""
        def f(x):
            if x:
                y = x
            else:
                raise ValueError
            return y
    """, ("y", "x", "")),
    "overwritten before it is read": ("""
        def f(x):
            if x:
                y = 1
            y = 2
            return y
    """, ("", "", "")),
    "a loop carries what the next trip reads": ("""
        def f(x):
            s = 0
            while x:
                t = x
                s = s + t
                x = x - 1
            return s
    """, ("s", "s x", "")),
    "the target of a for is bound inside": ("""
        def f(xs):
            for x in xs:
                y = x
            return y
    """, ("y", "y", "y:5")),
    "an endless loop is left by break only": ("""
        def f(x):
            while True:
                y = x
                if y:
                    break
            return y
    """, ("y", "x", "")),
    "a deleted variable is unbound": ("""
        def f(x):
            y = 1
            if x:
                del y
            return y
    """, ("y", "y", "y:6")),
    "a closure reads at any time": ("""
        def f(x):
            def g():
                return k
            k = 1
            if x:
                k = 2
            return g()
    """, ("g k", "g k", "")),
    "locals sees all": ("""
        def f(x):
            if x:
                y = 1
            return locals()
    """, ("x y", "x y", "")),
    "what a handler reads is live in the body": ("""
        def f(x):
            y = 0
            try:
                y = 1
                x()
            except ValueError:
                x = y
            return x
    """, ("x", "", "")),
    "an exception may come before an assignment": ("""
        def f(x):
            try:
                y = x()
            except ValueError:
                pass
            return y
    """, ("y", "", "y:7")),
    "with binds its name": ("""
        def f(x):
            with x as y:
                z = y
            return z
    """, ("z", "", "")),
    "match without a last case": ("""
        def f(x):
            match x:
                case 1:
                    y = x
            return y
    """, ("y", "x y", "y:6")),
    "match with a last case": ("""
        def f(x):
            match x:
                case 1:
                    y = x
                case other:
                    y = other
            return y
    """, ("y", "x", "")),
    "the name of a handler is bound in it": ("""
        def f(x):
            try:
                x()
            except ValueError as error:
                raise KeyError from error
            return x
    """, ("x", "", "")),
    "a walrus in the test is bound in the body": ("""
        def f(x):
            while (y := x) > 0:
                x = y
            return y
    """, ("y", "x y", "")),
    "else of a loop": ("""
        def f(xs):
            for x in xs:
                if x:
                    y = x
                    break
            else:
                y = 0
            return y
    """, ("y", "", "")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_facts(name: str) -> None:
    text, (after, entering, unsure) = CASES[name]
    found = facts(text)
    assert (found[0], found[2]) == (after, unsure)
    # What is live on entry may name too much (of endless loops and of match), never too little.
    assert set(entering.split()) <= set(found[1].split())
    if "while True" not in text and "match" not in text:
        assert found[1] == entering


def test_nested_functions_are_looked_at_on_their_own() -> None:
    function: Any = gast.parse("def f(x):\n    def g():\n        y = x\n    return g").body[0]
    flow = flow_of(function)
    assert flow.locals_ == {"x", "g"}
    assert "x" in flow.captured


def test_facts_keep_their_nodes() -> None:
    """Else a node that a pass makes could get the ``id`` of one that is gone, and its facts.

    A generator in steps became ``d2s.kept(frame.position) = ...`` so, once in 1,500 conversions.
    """
    text = "def f(x):\n  for t in x:\n    y = t\n  while x:\n    del y\n  return y + t"
    function: Any = gast.parse(text).body[0]
    flow = flow_of(function)
    function.body = []
    assert [node.id for node in flow.unsure.values()] == ["y", "y", "t"]
    assert all(number == id(node) for number, node in flow.unsure.items())
    assert {*flow.after, *flow.entering} <= {id(node) for node in flow.nodes}
