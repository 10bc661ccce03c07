"""Give ``x[key] = value`` a form that a tensor of a program can have: a new ``x``.

On Python values and on tensors in dygraph ``d2s.setitem`` changes the container and returns it.
A local variable is rebound; where an attribute, an item, a global or a closure holds the container,
the operator gives it the new one.  The value comes first, as Python evaluates it first.

>>> show(PASS, '''
... def f(self, x, i):
...     x[i] = 0
...     x[i, 1:] += 2
...     self.cache[0][i] = x
...     self.seen[i] += 1
...     del self.seen[i], self.cache[0]
...     return x
... ''')
def f(self, x, i):
    x = d2s.setitem(0, x, i)
    value = x[i, 1:]
    value += 2
    x = d2s.setitem(value, x, (i, slice(1, None)))
    d2s.setitem(x, self.cache[0], i)
    container = self.seen
    value_2 = container[i]
    value_2 += 1
    d2s.setitem(value_2, container, i)
    d2s.delitem(self.seen, i)
    del self.cache[0]
    return x

``x[i] += f()`` looks ``x`` and ``i`` up before ``f()`` is called, which may bind them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from d2s.analysis.scopes import captured_names, local_names
from d2s.analysis.walk import walk
from d2s.passes.base import Context, Pass, ScopeTransformer, each_function, key_of
from d2s.syntax.positions import Span, place, span_of
from d2s.syntax.quote import name
from d2s.syntax.trees import copied


class _Stores(ScopeTransformer):
    def __init__(self, ctx: Context, rebindable: frozenset[str]) -> None:
        super().__init__(ctx)
        self.rebindable = rebindable

    def simple(self, target: Any) -> bool:
        """Whether ``target`` is an item."""
        return isinstance(target, gast.Subscript)

    def store(self, target: Any, value: Any, at: Span) -> list[Any]:
        named = isinstance(target.value, gast.Name) and target.value.id in self.rebindable
        return self.ctx.quote(
            ("container = " if named else "") + "d2s.setitem(value, container, key)",
            at,
            container=target.value.id if named else target.value,
            key=key_of(target.slice),
            value=value,
        )

    def unpacked(self, target: Any, at: Span) -> tuple[Any, list[Any]]:
        """``target`` with fresh variables from the first store in it on, and what follows."""
        later: list[Any] = []

        def replaced(part: Any) -> Any:
            if isinstance(part, gast.Tuple | gast.List):
                part.elts = [replaced(item) for item in part.elts]
                return part
            if isinstance(part, gast.Starred):
                part.value = replaced(part.value)
                return part
            if not (later or self.simple(part)):
                return part  # what comes behind a store waits for it: its key may be ``part``
            variable = self.ctx.names.fresh("value")
            value = place(name(variable), at)
            if self.simple(part):
                later.extend(self.store(part, value, at))
            else:
                later.append(place(gast.Assign([part], value, None), at))
            return place(name(variable, gast.Store()), at)

        return replaced(target), later

    def visit_Assign(self, node: Any) -> Any:
        at = span_of(node)
        if len(node.targets) == 1 and isinstance(node.targets[0], gast.Tuple | gast.List):
            node.targets[0], later = self.unpacked(node.targets[0], at)
            return [node, *later]
        if not any(self.simple(target) for target in node.targets):
            return node
        if len(node.targets) == 1:
            return self.store(node.targets[0], node.value, at)
        value = self.ctx.names.fresh("value")
        statements = self.ctx.quote("value = right", at, value=value, right=node.value)
        for target in node.targets:
            right = place(name(value), at)
            if self.simple(target):
                statements += self.store(target, right, at)
            else:
                statements.append(place(gast.Assign([target], right, None), at))
        return statements

    def visit_AugAssign(self, node: Any) -> Any:
        target = node.target
        if not self.simple(target):
            return node
        at = span_of(node)
        statements: list[Any] = []
        moving = self.moved_by(node.value)
        if not isinstance(target.value, gast.Name) or moving(target.value.id):
            held = self.ctx.names.fresh("container")
            statements = self.ctx.quote("held = value", at, held=held, value=target.value)
            target.value = place(name(held), at)
        if not _repeatable(target.slice) or any(
            isinstance(part, gast.Name) and moving(part.id) for part in walk(target.slice)
        ):
            key = self.ctx.names.fresh("key")
            statements += self.ctx.quote("key = value", at, key=key, value=key_of(target.slice))
            target.slice = place(name(key), at)
        old = copied(target)
        old.ctx = gast.Load()
        # Not ``x[i] + value``: a list that is the item is changed in place, as Python does it.
        value = self.ctx.names.fresh("value")
        statements += self.ctx.quote("value = old", at, value=value, old=old)
        statements.append(
            place(gast.AugAssign(place(name(value, gast.Store()), at), node.op, node.value), at)
        )
        return statements + self.store(target, place(name(value), at), at)

    def visit_Delete(self, node: Any) -> Any:
        """A constant key is no number of the run."""
        if all(_is_kept(target) for target in node.targets):
            return node
        statements: list[Any] = []
        for target in node.targets:
            at = span_of(target)
            if _is_kept(target):
                statements.append(place(gast.Delete([target]), at))
            else:
                statements += self.ctx.quote(
                    "d2s.delitem(container, key)",
                    at,
                    container=target.value,
                    key=key_of(target.slice),
                )
        return statements

    def moved_by(self, value: Any) -> Callable[[str], bool]:
        """Whether evaluating ``value`` may bind a variable anew: by ``:=``, or in a function."""
        parts = list(walk(value))
        walrus = {part.target.id for part in parts if isinstance(part, gast.NamedExpr)}
        quiet = all(isinstance(part, gast.Name | gast.Constant) for part in parts)
        return lambda name: name in walrus or not (quiet or name in self.rebindable)


def _is_kept(target: Any) -> bool:
    """Whether ``del target`` stays Python's own."""
    return not isinstance(target, gast.Subscript) or isinstance(target.slice, gast.Constant)


def _repeatable(key: Any) -> bool:
    """Whether evaluating ``key`` twice is evaluating it once: names, constants, slices of them."""
    return all(
        isinstance(
            node,
            gast.Name
            | gast.Constant
            | gast.Slice
            | gast.Tuple
            | gast.UnaryOp
            | gast.unaryop
            | gast.expr_context,
        )
        for node in walk(key)
    )


def _lower(function: Any, ctx: Context) -> None:
    rebindable = local_names(function) - captured_names(function)
    if "slice" not in local_names(function):
        function.body = _Stores(ctx, rebindable).block(function.body)


PASS = Pass("subscripts", each_function(_lower), about=(gast.Subscript,))
