"""The nodes of a tree, as most of the analysis wants them: fast, and without what says nothing.

``gast.walk`` also gives a ``Load`` or ``Store`` for each variable, and makes two generators for
each node.  Conversion walks a tree some hundred times, so this is a fifth of its time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

import gast

SCOPES: Final = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda, gast.ClassDef)
"""Node types that open a scope of their own."""

_SILENT: Final = frozenset(("ctx", "op", "ops", "kind", "type_comment"))
"""Fields that hold no code."""

_fields: dict[type, tuple[str, ...]] = {}


def _fields_of(kind: type) -> tuple[str, ...]:
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return _fields.setdefault(kind, tuple(name for name in names if name not in _SILENT))


def children(node: Any) -> list[Any]:
    """The nodes right below ``node`` that are code, in the order of its fields."""
    kind = type(node)
    found: list[Any] = []
    values = node.__dict__
    for name in _fields.get(kind) or _fields_of(kind):
        value = values.get(name)
        if type(value) is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(tree: Any) -> Iterator[Any]:
    """``tree`` and all nodes below it that are code, parents first."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)[::-1]


_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def statements_in(statements: list[Any]) -> Iterator[Any]:
    """Statements, and those inside of them; not those of functions and classes among them."""
    stack = statements[::-1]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, SCOPES):
            continue
        values = node.__dict__
        for name in reversed(_BLOCKS):
            block = values.get(name)
            if type(block) is list:
                stack += block[::-1]
