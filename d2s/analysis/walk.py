"""What most of the analysis walks over: statements, and nodes that open no scope of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import gast

from d2s.syntax.trees import CODE, children, walk

__all__ = ["SCOPES", "children", "statements_in", "walk"]

SCOPES: Final = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)
"""Node types that open a scope of their own."""

_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
_HOLDERS: Final = (gast.stmt, gast.excepthandler, gast.match_case)


class _Blocks(dict[type, tuple[str, ...]]):
    """The fields of a statement that hold statements, last first; none of what opens a scope."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        holds = issubclass(kind, _HOLDERS) and kind not in SCOPES
        fields = CODE[kind] if holds else ()
        self[kind] = found = tuple(name for name in reversed(_BLOCKS) if name in fields)
        return found


_blocks: Final = _Blocks()


def statements_in(statements: list[Any]) -> Iterator[Any]:
    """Statements, and those inside of them; not those of functions and classes among them."""
    stack = statements[::-1]
    pop = stack.pop
    while stack:
        node = pop()
        yield node
        for name in _blocks[node.__class__]:
            stack += node.__dict__[name][::-1]
