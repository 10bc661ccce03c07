"""Definite assignment: the forward walk over the structured tree.

It decides which reads must be checked (rules B2 and C3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis import scopes
from d2s.analysis.uses import Set, Uses, bound_in, handler_name


@dataclass
class Binding:
    """State of the forward walk.  A set of ``None`` stands for code that is never reached.

    Attributes:
        locals_: the variables that are asked about.
        uses: what statements use.
        unsure: the reads of variables that may be unbound, by ``id``.  The nodes are kept: of one
            that a pass has replaced, another node might get the ``id``.
    """

    locals_: Set
    uses: Uses
    unsure: dict[int, Any] = field(default_factory=dict)

    def read(self, tree: Any, bound: Set) -> None:
        for node in self.uses.of(tree).loads:
            if node.id not in bound and node.id in self.locals_:
                self.unsure[id(node)] = node

    def block(self, statements: list[Any], bound: Set | None, breaks: list[Set]) -> Set | None:
        for statement in statements:
            bound = self.statement(statement, bound, breaks)
        return bound

    def statement(self, node: Any, bound: Set | None, breaks: list[Set]) -> Set | None:
        if bound is None:
            return None
        walk = _WALKS.get(type(node))
        if walk is not None:
            return walk(self, node, bound, breaks)
        self.read(node, bound)
        return bound | self.uses.of(node).bound

    def if_(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        self.read(node.test, bound)
        bound |= self.uses.of(node.test).walrus
        return _meet([self.block(side, bound, breaks) for side in (node.body, node.orelse)])

    def while_(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        bound -= _deleted(node.body)
        self.read(node.test, bound)
        inner = bound | self.uses.of(node.test).walrus
        out: list[Set] = []
        self.block(node.body, inner, out)
        endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
        return _meet([None if endless else self.block(node.orelse, inner, breaks), *out])

    def for_(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        self.read(node.iter, bound)
        bound -= _deleted(node.body)
        out: list[Set] = []
        self.block(node.body, bound | bound_in([node.target]), out)
        return _meet([self.block(node.orelse, bound, breaks), *out])

    def with_(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        for item in node.items:
            self.read(item.context_expr, bound)
            if item.optional_vars is not None:
                bound |= bound_in([item.optional_vars])
        return self.block(node.body, bound, breaks)

    def try_(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        results = [self.block([*node.body, *node.orelse], bound, breaks)]
        for handler in node.handlers:
            name = handler_name(handler)
            end = self.block(handler.body, bound | name, breaks)
            results.append(None if end is None else end - name)
        after = _meet(results)
        if node.finalbody:
            self.block(node.finalbody, bound, breaks)
            if after is not None:
                after |= bound_in(node.finalbody)
        return after

    def match(self, node: Any, bound: Set, breaks: list[Set]) -> Set | None:
        self.read(node.subject, bound)
        results: list[Set | None] = []
        for case in node.cases:
            inner = bound | bound_in([case.pattern])
            if case.guard is not None:
                self.read(case.guard, inner)
            results.append(self.block(case.body, inner, breaks))
            if _irrefutable(case):
                return _meet(results)
        return _meet([bound, *results])

    def break_(self, node: Any, bound: Set, breaks: list[Set]) -> None:
        breaks.append(bound)

    def leaves(self, node: Any, bound: Set, breaks: list[Set]) -> None:
        self.read(node, bound)

    def delete(self, node: Any, bound: Set, breaks: list[Set]) -> Set:
        self.read(node, bound)
        for target in node.targets:
            if isinstance(target, gast.Name) and target.id not in bound:
                self.unsure[id(target)] = target
        return bound - bound_in([node])


_WALKS: Final[dict[type, Callable[[Binding, Any, Set, list[Set]], Set | None]]] = {
    gast.If: Binding.if_,
    gast.While: Binding.while_,
    gast.For: Binding.for_,
    gast.AsyncFor: Binding.for_,
    gast.With: Binding.with_,
    gast.AsyncWith: Binding.with_,
    gast.Try: Binding.try_,
    gast.TryStar: Binding.try_,
    gast.Match: Binding.match,
    gast.Break: Binding.break_,
    gast.Return: Binding.leaves,
    gast.Raise: Binding.leaves,
    gast.Continue: Binding.leaves,
    gast.Delete: Binding.delete,
}
"""The other statements bind what they assign, and go on."""


def _deleted(statements: list[Any]) -> Set:
    """The variables that some trip of a loop may leave unbound."""
    return frozenset(
        target.id
        for node in scopes.own_nodes(statements)
        if isinstance(node, gast.Delete)
        for target in node.targets
        if isinstance(target, gast.Name)
    )


def _irrefutable(case: Any) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, gast.MatchAs) and pattern.pattern is None


def _meet(ends: list[Set | None]) -> Set | None:
    """What is bound at all ends that are reached; ``None`` if none is."""
    reached = [end for end in ends if end is not None]
    return frozenset.intersection(*reached) if reached else None


def unsure_in(part: list[Any], names: Set) -> dict[int, Any]:
    """Each read of ``names`` in ``part`` before it surely binds them, by its ``id``."""
    binding = Binding(names, Uses())
    binding.block(part, frozenset(), [])
    return binding.unsure


def shared_names(parts: list[list[Any]], names: Set) -> Set:
    """Those of ``names`` that more than one part of a text uses, or one before it binds them."""
    found: set[str] = set()
    seen: set[str] = set()
    for part in parts:
        used = names & (scopes.reads_in(part) | bound_in(part))
        found |= used & seen
        seen |= used
        unsure = unsure_in(part, names)
        for node in scopes.own_nodes(part):
            if isinstance(node, gast.Name) and id(node) in unsure:
                found.add(node.id)
            elif isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
                found |= names & {node.target.id}
    return frozenset(found)
