"""Fresh names for generated code, checked against everything in scope (rule A3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import gast

from d2s.syntax.trees import walk


def names_in(tree: Any) -> frozenset[str]:
    """Every identifier that occurs in ``tree``: variables, arguments, functions, ``global``."""
    found: set[str] = set()
    for node in walk(tree):
        kind = node.__class__
        if kind is gast.Name:
            found.add(node.id)
        elif kind in _NAMED:
            found.update(_names_of(node))
    return frozenset(found)


_NAMED: Final = frozenset(
    (
        *(gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Global, gast.Nonlocal),
        *(gast.alias, gast.ExceptHandler, gast.MatchAs, gast.MatchStar, gast.MatchMapping),
    )
)
"""Nodes that say a name and have no variable for it."""


def _names_of(node: Any) -> list[str]:
    if isinstance(node, gast.Global | gast.Nonlocal):
        return list(node.names)
    if isinstance(node, gast.alias):
        return [(node.asname or node.name).split(".")[0]]
    name = node.rest if isinstance(node, gast.MatchMapping) else node.name
    return [name] if isinstance(name, str) else []


class Names:
    """Hands out names that nobody else uses.

    ``taken`` starts as the names of the function, its closure and the globals that it reads, and
    grows with every name handed out; it is never reset while one function is converted.

    >>> names = Names({"body", "x"})
    >>> names.fresh("body"), names.fresh("body"), names.fresh("test")
    ('body_2', 'body_3', 'test')
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """A free name that begins with ``wish``."""
        count = self._counts.get(wish, 1)
        name = wish if count == 1 else f"{wish}_{count}"
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self._counts[wish] = count
        self.taken.add(name)
        return name
