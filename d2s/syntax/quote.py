"""Code templates: generated code is written as code.

>>> import gast
>>> from d2s.syntax.positions import Span
>>> test = gast.parse("x > 0", mode="eval").body
>>> statements = quote('''
... d2s.if_(test, body, orelse, names)
... ''', at=Span(7, 4, 7, 9), test=test, names=("y",), body="body_2", orelse=None)
>>> gast.dump(statements[0].value.args[3]), statements[0].lineno
("Tuple(elts=[Constant(value='y', kind=None)], ctx=Load())", 7)

In a template every name that is given as a keyword is replaced: by a tree (used as it is, and
copied when the template names it twice), by a list of statements (where it stands alone as a
statement), by another name (a string), or by a constant (a tuple of strings, ``None``, a number).
"""

from __future__ import annotations

import copy
import functools
import textwrap
from typing import Any

import gast

from d2s.syntax.positions import Span, place


@functools.cache
def _parsed(template: str) -> Any:
    tree = gast.parse(textwrap.dedent(template))
    for node in gast.walk(tree):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, name):
                setattr(node, name, None)
    return tree


def constant(value: Any) -> Any:
    """The tree of a constant or of a tuple of constants."""
    if isinstance(value, tuple):
        return gast.Tuple([constant(item) for item in value], gast.Load())
    return gast.Constant(value, None)


def name(identifier: str, ctx: Any = None) -> Any:
    """A variable, read unless ``ctx`` says otherwise."""
    return gast.Name(identifier, ctx or gast.Load(), None, None)


class _Fill(gast.NodeTransformer):  # type: ignore[misc]
    """Replaces the names of a template; ``used`` tells which trees stand in the result already."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.used: set[str] = set()

    def _once(self, key: str) -> Any:
        value = self.values[key]
        if key in self.used:
            return copy.deepcopy(value)
        self.used.add(key)
        return value

    def visit_Expr(self, node: Any) -> Any:
        inner = node.value
        if isinstance(inner, gast.Name) and isinstance(self.values.get(inner.id), list):
            return self._once(inner.id)
        node.value = self.visit(inner)
        return node

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.values:
            return node
        value = self.values[node.id]
        if isinstance(value, str):
            node.id = value
            return node
        if isinstance(value, gast.AST):
            return self._once(node.id)
        return constant(value)

    def visit_FunctionDef(self, node: Any) -> Any:
        if isinstance(self.values.get(node.name), str):
            node.name = self.values[node.name]
        self.generic_visit(node)
        return node

    def visit_Nonlocal(self, node: Any) -> Any:
        names: list[str] = []
        for item in node.names:
            value = self.values.get(item, item)
            names.extend([value] if isinstance(value, str) else value)
        node.names = names
        return node if names else None

    visit_Global = visit_Nonlocal


def quote(template: str, *, at: Span, **values: Any) -> list[Any]:
    """The statements of ``template`` with its names replaced, at the position ``at``.

    Args:
        template: Python text.
        at: the position for every node that has none, the header of the user's statement.
        **values: what each name of the template stands for (see the module's text).

    Returns:
        New statements; trees given as values are part of them, not copies.
    """
    tree = _Fill(values).visit(copy.deepcopy(_parsed(template)))
    return [place(statement, at) for statement in tree.body]


def quote_expr(template: str, *, at: Span, **values: Any) -> Any:
    """The one expression of ``template``; arguments as for :func:`quote`."""
    (statement,) = quote(template, at=at, **values)
    return statement.value
