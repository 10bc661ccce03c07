"""What each statement and expression reads and binds, found out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis import scopes
from d2s.analysis.walk import SCOPES, children, walk

Set = frozenset[str]


EMPTY: Set = frozenset()


ASSIGNING: Final = (gast.Assign, gast.Expr, gast.AugAssign)
"""What nearly all statements are."""


@dataclass(frozen=True)
class Use:
    """What a simple statement or an expression reads and binds.

    Attributes:
        reads: variables that it reads, in nested scopes too.
        loads: the ``Name`` nodes that read in its own scope.
        bound: what it surely binds.
        walrus: the part of that which ``:=`` binds.
    """

    reads: Set
    loads: tuple[Any, ...]
    bound: Set
    walrus: Set = EMPTY


_SIMPLE: Final = frozenset(
    (
        gast.Assert, gast.Assign, gast.Attribute, gast.BinOp, gast.BoolOp, gast.Call, gast.Compare,
        gast.Constant, gast.Dict, gast.Expr, gast.FormattedValue, gast.IfExp, gast.JoinedStr,
        gast.List, gast.Pass, gast.Raise, gast.Return, gast.Set, gast.Slice, gast.Starred,
        gast.Subscript, gast.Tuple, gast.UnaryOp, gast.keyword,
    )
)  # fmt: skip
"""Nodes that open no scope and bind nothing but the names below them."""


class Uses:
    """What each statement and expression of one function uses, found out once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Use]] = {}  # the tree, which keeps its id its own

    def of(self, tree: Any) -> Use:
        known = self._known.get(id(tree))
        if known is None:
            known = self._known[id(tree)] = (tree, _plain_use(tree) or _any_use(tree))
        return known[1]


def _plain_use(tree: Any) -> Use | None:
    """What ``tree`` uses, if nothing in it opens a scope, and no ``:=`` is in it."""
    reads: set[str] = set()
    bound: set[str] = set()
    loads: list[Any] = []
    for node in walk(tree):
        kind = node.__class__
        if kind is gast.Name:
            if node.ctx.__class__ is gast.Load:
                reads.add(node.id)
                loads.append(node)
            else:
                bound.add(node.id)
        elif kind is gast.AugAssign:
            if isinstance(node.target, gast.Name):
                reads.add(node.target.id)
        elif kind not in _SIMPLE:
            return None
    return Use(frozenset(reads), tuple(loads), frozenset(bound))


def _any_use(tree: Any) -> Use:
    nodes = list(scopes.own_nodes(tree))
    loads = [
        node for node in nodes if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load)
    ]
    walrus = _walrus(tree)
    unsure = frozenset(n.target.id for n in nodes if isinstance(n, gast.NamedExpr)) - walrus
    return Use(scopes.reads_in(tree), tuple(loads), bound_in([tree]) - unsure, walrus)


def _walrus(test: Any) -> Set:
    """Names that ``test`` surely binds: a walrus where evaluation always comes by."""
    found: set[str] = set()
    stack = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, gast.NamedExpr):
            found.add(node.target.id)
        if isinstance(node, gast.BoolOp):
            stack.append(node.values[0])
        elif isinstance(node, gast.IfExp):
            stack.append(node.test)
        elif isinstance(node, gast.Compare):
            stack.extend([node.left, node.comparators[0]])
        elif not isinstance(node, (*SCOPES, *scopes.COMPREHENSIONS)):
            stack += children(node)
    return frozenset(found)


def handler_name(handler: Any) -> Set:
    """The name that an ``except ... as`` binds; gast keeps it as a ``Name``."""
    name = getattr(handler.name, "id", handler.name)
    return EMPTY if name is None else frozenset({name})


def bound_in(nodes: list[Any]) -> Set:
    """The variables that ``nodes`` bind."""
    return scopes.changes_in(nodes).bound
