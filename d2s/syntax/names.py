"""Fresh names for generated code, checked against everything in scope (rule A3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from d2s.syntax.trees import walk


def names_in(tree: Any) -> frozenset[str]:
    """Every identifier that occurs in ``tree``: variables, arguments, functions, ``global``."""
    found: set[str] = set()
    for node in walk(tree):
        if isinstance(node, gast.Name):
            found.add(node.id)
        elif isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            found.add(node.name)
        elif isinstance(node, gast.Global | gast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, gast.alias):
            found.add((node.asname or node.name).split(".")[0])
        elif (isinstance(node, gast.ExceptHandler) and isinstance(node.name, str)) or (
            isinstance(node, gast.MatchAs | gast.MatchStar) and node.name
        ):
            found.add(node.name)
        elif isinstance(node, gast.MatchMapping) and node.rest:
            found.add(node.rest)
    return frozenset(found)


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
