"""Show what each statement binds, for the self-check; no part of the usual pipeline.

``d2s.probe`` only looks.  It stands behind an assignment, at the head of each side of an ``if``,
of a loop body and of a handler, and before a ``return``; it carries the line of the statement.

>>> show(PASS, '''
... def f(x, n):
...     y = x * 2
...     for i in range(n):
...         y += i
...     if y > 0:
...         return y - 1
...     return y
... ''')
def f(x, n):
    d2s.probe('argument', 'x', x)
    d2s.probe('argument', 'n', n)
    y = x * 2
    d2s.probe('value', 'y', y)
    for i in range(n):
        d2s.probe('for', 'i', i)
        y += i
        d2s.probe('value', 'y', y)
    if y > 0:
        d2s.probe('if', 'the condition', True)
        returned = y - 1
        d2s.probe('return', 'the returned value', returned)
        return returned
    else:
        d2s.probe('if', 'the condition', False)
    returned = y
    d2s.probe('return', 'the returned value', returned)
    return returned
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gast

from d2s.analysis.exits import blocks_of, looks_at_frame
from d2s.analysis.scopes import MUTATORS, changes_in, dotted, own_nodes, parameters
from d2s.passes.base import Context, Pass, assign, each_function, load
from d2s.syntax.positions import Span, header, span_of
from d2s.syntax.quote import constant, name


class _Probes:
    """Puts the probes into one function."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.result = ctx.names.fresh("returned")

    def probe(self, kind: str, label: str, value: Any, at: Span) -> list[Any]:
        """The statement ``d2s.probe(kind, label, value)``."""
        return self.ctx.quote(
            "d2s.probe(kind, label, value)",
            at,
            kind=constant(kind),
            label=constant(label),
            value=value,
        )

    def arguments(self, function: Any) -> list[Any]:
        """Probes of the parameters; of ``self`` there is nothing to see."""
        at = header(function)
        return [
            probe
            for parameter in parameters(function)
            if parameter not in ("self", "cls")
            for probe in self.probe("argument", parameter, load(parameter, at), at)
        ]

    def bound(self, targets: list[Any], kind: str, at: Span) -> list[Any]:
        """Probes of what ``targets`` bind."""
        return [
            probe
            for path in dict.fromkeys(path for target in targets for path in _paths(target))
            for probe in self.probe(kind, path, _read(path, at), at)
        ]

    def block(self, statements: list[Any]) -> list[Any]:
        """``statements`` with probes among them."""
        done: list[Any] = []
        for statement in statements:
            done.extend(self.statement(statement))
        return done

    def statement(self, node: Any) -> list[Any]:
        """``node`` with the probes that belong to it."""
        at = header(node)
        for block in blocks_of(node):
            block[:] = self.block(block)
        if isinstance(node, gast.Return):
            return self.returned(node)
        if isinstance(node, gast.Assign):
            return [node, *self.bound(node.targets, "value", at)]
        if isinstance(node, gast.AugAssign) or (
            isinstance(node, gast.AnnAssign) and node.value is not None
        ):
            return [node, *self.bound([node.target], "value", at)]
        if isinstance(node, gast.Expr):
            return [node, *self.changed(node, at)]
        self.head(node, at)
        return [node]

    def returned(self, node: Any) -> list[Any]:
        """A ``return`` whose value is seen before it leaves."""
        if node.value is None:
            return [node]
        at = span_of(node)
        first = assign(self.result, node.value, at)
        node.value = load(self.result, at)
        shown = self.probe("return", "the returned value", load(self.result, at), at)
        return [first, *shown, node]

    def changed(self, node: Any, at: Span) -> list[Any]:
        """Probes of tensors that an expression statement changes in place, as ``x.add_(y)``."""
        call = node.value
        if not isinstance(call, gast.Call) or not isinstance(call.func, gast.Attribute):
            return []
        if call.func.attr in MUTATORS:  # a container, which may be long
            return []
        found = changes_in([node])
        paths = sorted(found.mutated | found.mutated_attributes)
        return [probe for path in paths for probe in self.probe("value", path, _read(path, at), at)]

    def head(self, node: Any, at: Span) -> None:
        """Probes at the head of the blocks of a compound statement."""
        if isinstance(node, gast.If):
            for holds, block in ((True, node.body), (False, node.orelse)):
                block[:0] = self.probe("if", "the condition", constant(holds), at)
        elif isinstance(node, gast.While):
            node.body[:0] = self.probe("while", "the condition", constant(True), at)
        elif isinstance(node, gast.For):
            node.body[:0] = self.bound([node.target], "for", at)
        elif isinstance(node, gast.With):
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            node.body[:0] = self.bound(targets, "value", at)
        elif isinstance(node, gast.Match):
            for number, case in enumerate(node.cases, 1):
                case.body[:0] = self.probe("case", "the case", constant(number), at)
        elif isinstance(node, gast.Try | gast.TryStar):
            for number, handler in enumerate(node.handlers, 1):
                where = span_of(handler.type) if handler.type is not None else span_of(handler)
                line = Span(where.line, where.column, where.line, where.column + 1)
                handler.body[:0] = self.probe("except", "the handler", constant(number), line)


def _paths(target: Any) -> Iterator[str]:
    """The variables and attributes that ``target`` binds or changes, in order."""
    if isinstance(target, gast.Tuple | gast.List):
        for item in target.elts:
            yield from _paths(item)
        return
    while isinstance(target, gast.Starred | gast.Subscript):
        target = target.value
    path = dotted(target)
    if path is not None:
        yield path


def _read(path: str, at: Span) -> Any:
    """The variable or attribute ``path``, read."""
    root, *attributes = path.split(".")
    found = name(root)
    for attribute in attributes:
        found = gast.Attribute(found, attribute, gast.Load())
    return found


def _insert(function: Any, ctx: Context) -> None:
    if any(looks_at_frame(node) for node in own_nodes(function.body)):
        return  # it would see our variables
    probes = _Probes(ctx)
    docstring: list[Any] = []
    statements = function.body
    first = statements[0]
    if isinstance(first, gast.Expr) and isinstance(first.value, gast.Constant):
        docstring, statements = statements[:1], statements[1:]
    function.body = [*docstring, *probes.arguments(function), *probes.block(statements)]


PASS = Pass("probes", each_function(_insert), after=("annotated",))
