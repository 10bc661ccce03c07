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

import functools
import textwrap
from typing import Any

import gast

from d2s.syntax.positions import PLACED, Span, place, set_span
from d2s.syntax.trees import CODE, copied, walk


@functools.cache
def _parsed(template: str) -> Any:
    tree = gast.parse(textwrap.dedent(template))
    for node in walk(tree):
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


class _Instance:
    """One use of a template: its names replaced, every new node at ``at``.

    Attributes:
        values: what each name of the template stands for.
        at: the position of what has none.
        used: names whose trees stand in the result already; they are copied from then on.
    """

    def __init__(self, values: dict[str, Any], at: Span) -> None:
        self.values = values
        self.at = at
        self.used: set[str] = set()

    def block(self, statements: list[Any]) -> list[Any]:
        """The statements of a template: lists stand where their names stand alone."""
        result: list[Any] = []
        for node in statements:
            alone = node.value if isinstance(node, gast.Expr) else None
            if isinstance(alone, gast.Name) and isinstance(self.values.get(alone.id), list):
                result += self._once(alone.id)
                continue
            made = self.node(node)
            if made is not None:
                result.append(made)
        return result

    def node(self, node: Any) -> Any:
        """``node`` of a template, anew; ``None`` for a declaration of no name."""
        kind = node.__class__
        if kind is gast.Name and node.id in self.values:
            return self._value(node)
        made = kind.__new__(kind)
        fields = made.__dict__
        fields.update(node.__dict__)
        for field in CODE[kind]:
            value = fields.get(field)
            if value.__class__ is list:
                fields[field] = self.block(value)
            elif value is not None:
                fields[field] = self.node(value)
        if kind is gast.FunctionDef:
            wish = self.values.get(node.name)
            made.name = wish if isinstance(wish, str) else node.name
        elif kind is gast.Nonlocal or kind is gast.Global:
            made.names = self._names(node.names)
            if not made.names:
                return None
        if isinstance(made, PLACED):
            set_span(made, self.at)
        return made

    def _value(self, node: Any) -> Any:
        value = self.values[node.id]
        if isinstance(value, str):
            made = name(value, node.ctx)
        elif isinstance(value, gast.AST):
            return self._once(node.id)
        else:
            made = constant(value)
        return place(made, self.at)

    def _once(self, key: str) -> Any:
        value = self.values[key]
        again = key in self.used
        self.used.add(key)
        if isinstance(value, list):
            return [self._placed(copied(item) if again else item) for item in value]
        return self._placed(copied(value) if again else value)

    def _placed(self, tree: Any) -> Any:
        return tree if getattr(tree, "lineno", None) is not None else place(tree, self.at)

    def _names(self, declared: list[str]) -> list[str]:
        names: list[str] = []
        for item in declared:
            value = self.values.get(item, item)
            names.extend([value] if isinstance(value, str) else value)
        return names


def quote(template: str, *, at: Span, **values: Any) -> list[Any]:
    """The statements of ``template`` with its names replaced, at the position ``at``.

    Args:
        template: Python text.
        at: the position for every node that has none, the header of the user's statement.
        **values: what each name of the template stands for (see the module's text).

    Returns:
        New statements; trees given as values are part of them, not copies.
    """
    return _Instance(values, at).block(_parsed(template).body)


def quote_expr(template: str, *, at: Span, **values: Any) -> Any:
    """The one expression of ``template``; arguments as for :func:`quote`."""
    (statement,) = quote(template, at=at, **values)
    return statement.value
