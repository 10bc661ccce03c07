"""Give ``x[key] = value`` a form that a tensor of a program can have: a new ``x``.

On Python values and on tensors in dygraph ``d2s.setitem`` changes the container and returns it.
Only a local variable can be rebound; other containers are changed as they are.  The value comes
first, as Python evaluates it first.

>>> show(PASS, '''
... def f(x, i):
...     x[i] = 0
...     x[i, 1:] += 2
...     return x
... ''')
def f(x, i):
    x = d2s.setitem(0, x, i)
    x = d2s.setitem(x[i, 1:] + 2, x, (i, slice(1, None)))
    return x
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from d2s.analysis.scopes import captured_names, local_names
from d2s.passes.base import Context, Pass, ScopeTransformer, each_function
from d2s.syntax.positions import Span, place, span_of
from d2s.syntax.quote import name


class _Stores(ScopeTransformer):
    def __init__(self, ctx: Context, rebindable: frozenset[str]) -> None:
        super().__init__(ctx)
        self.rebindable = rebindable

    def simple(self, target: Any) -> bool:
        return (
            isinstance(target, gast.Subscript)
            and isinstance(target.value, gast.Name)
            and target.value.id in self.rebindable
        )

    def store(self, target: Any, value: Any, at: Span) -> list[Any]:
        return self.ctx.quote(
            "container = d2s.setitem(value, container, key)",
            at,
            container=target.value.id,
            key=_key(target.slice),
            value=value,
        )

    def unpacked(self, target: Any, at: Span) -> tuple[Any, list[Any]]:
        """``target`` with a fresh variable for each simple store in it, and these stores."""
        later: list[Any] = []

        def replaced(part: Any) -> Any:
            if isinstance(part, gast.Tuple | gast.List):
                part.elts = [replaced(item) for item in part.elts]
                return part
            if not self.simple(part):
                return part
            variable = self.ctx.names.fresh("value")
            later.extend(self.store(part, place(name(variable), at), at))
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
        if not _repeatable(target.slice):
            key = self.ctx.names.fresh("key")
            statements = self.ctx.quote("key = value", at, key=key, value=_key(target.slice))
            target.slice = place(name(key), at)
        old = copy.deepcopy(target)
        old.ctx = gast.Load()
        value = place(gast.BinOp(old, node.op, node.value), at)
        return statements + self.store(target, value, at)


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
        for node in gast.walk(key)
    )


def _key(key: Any) -> Any:
    """``key`` as an expression outside of brackets: ``1:`` is ``slice(1, None)``."""
    if isinstance(key, gast.Slice):
        parts = [key.lower, key.upper] + ([] if key.step is None else [key.step])
        at = span_of(key)
        arguments = [place(gast.Constant(None, None), at) if p is None else p for p in parts]
        return place(gast.Call(name("slice"), arguments, []), at)
    if isinstance(key, gast.Tuple):
        return place(gast.Tuple([_key(item) for item in key.elts], gast.Load()), span_of(key))
    return key


def _lower(function: Any, ctx: Context) -> None:
    rebindable = local_names(function) - captured_names(function)
    if "slice" not in local_names(function):
        function.body = _Stores(ctx, rebindable).block(function.body)


PASS = Pass("subscripts", each_function(_lower))
