"""Take lists and tuples with ``*`` apart, as the run may know how much stands behind one.

>>> show(PASS, '''
... def f(rows, x):
...     longer = [*rows, x, x + 1]
...     return (x, *longer, *rows), {*rows}
... ''')
def f(rows, x):
    longer = d2s.listed(rows) + [x, x + 1]
    return (x,) + d2s.tupled(longer) + d2s.tupled(rows), d2s.set_(d2s.listed(rows))

So are sets and dicts, the keys of which the run may know:

>>> show(PASS, '''
... def f(a, b):
...     return {a, b}, {a: 1, "b": b}, {"a": a}
... ''')
def f(a, b):
    return d2s.set_([a, b]), d2s.dict_([(a, 1), ('b', b)]), {'a': a}

>>> show(PASS, '''
... def f(a, b):
...     return {**a, "b": b, b: a, **b}
... ''')
def f(a, b):
    return d2s.mapped(a) | d2s.dict_([('b', b), (b, a)]) | d2s.mapped(b)

What is unpacked into names one of which has a ``*`` is taken apart likewise:

>>> show(PASS, '''
... def f(rows):
...     [first, *rest] = rows
...     return rest
... ''')
def f(rows):
    [first, rest] = d2s.parted(rows, 1, 0)
    return rest
"""

from __future__ import annotations

import functools
from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import place, span_of
from d2s.syntax.trees import Rewriter


class _Displays(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Assign(self, node: Any) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        parts = getattr(target, "elts", ())
        stars = [at for at, part in enumerate(parts) if isinstance(part, gast.Starred)]
        if len(node.targets) == 1 and stars:
            (at,) = stars
            target.elts[at] = target.elts[at].value
            call = f"d2s.parted(value, {at}, {len(parts) - at - 1})"
            node.value = self.ctx.expr(call, span_of(node.value), value=node.value)
        return node

    def visit_List(self, node: Any) -> Any:
        return self._apart(node, "listed")

    def visit_Tuple(self, node: Any) -> Any:
        return self._apart(node, "tupled")

    def visit_Set(self, node: Any) -> Any:
        self.generic_visit(node)
        if all(isinstance(item, gast.Constant) for item in node.elts):
            return node
        items = place(gast.List(node.elts, gast.Load()), span_of(node))
        return self.ctx.expr("d2s.set_(items)", span_of(node), items=self._split(items, "listed"))

    def visit_Dict(self, node: Any) -> Any:
        self.generic_visit(node)
        if None not in node.keys:
            return self._keyed(node)
        parts: list[Any] = []
        span = span_of(node)
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts.append(self.ctx.expr("d2s.mapped(value)", span, value=value))
            elif parts and isinstance(parts[-1], gast.Dict):
                parts[-1].keys.append(key)
                parts[-1].values.append(value)
            else:
                parts.append(place(gast.Dict([key], [value]), span_of(key)))
        made = (self._keyed(part) if isinstance(part, gast.Dict) else part for part in parts)
        return functools.reduce(functools.partial(self._sum, operator=gast.BitOr), made)

    def _keyed(self, node: Any) -> Any:
        """A dict without ``**``."""
        if all(isinstance(key, gast.Constant) for key in node.keys):
            return node
        pairs = [
            place(gast.Tuple([key, value], gast.Load()), span_of(key))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        items = place(gast.List(pairs, gast.Load()), span_of(node))
        return self.ctx.expr("d2s.dict_(items)", span_of(node), items=items)

    def visit_Subscript(self, node: Any) -> Any:
        """``x[*key]``: what stands in brackets is not one thing to be added up."""
        node.value = self.visit(node.value)
        self.generic_visit(node.slice)
        return node

    def _apart(self, node: Any, word: str) -> Any:
        self.generic_visit(node)
        return self._split(node, word)

    def _split(self, node: Any, word: str) -> Any:
        loaded = isinstance(node.ctx, gast.Load)
        if not loaded or not any(isinstance(item, gast.Starred) for item in node.elts):
            return node
        parts: list[Any] = []
        span = span_of(node)  # Python raises at the display what an item raises
        for item in node.elts:
            if isinstance(item, gast.Starred):
                value = item.value
                parts.append(self.ctx.expr(f"d2s.{word}(value)", span, value=value))
            elif parts and isinstance(parts[-1], type(node)):
                parts[-1].elts.append(item)
            else:
                parts.append(type(node)([item], gast.Load()))
                place(parts[-1], span_of(item))
        return functools.reduce(self._sum, parts)

    def _sum(self, left: Any, right: Any, operator: Any = gast.Add) -> Any:
        made = gast.BinOp(left, operator(), right)
        place(made, span_of(left))
        return made


def run(tree: Any, ctx: Context) -> Any:
    """Take each list and tuple with ``*`` apart."""
    tree.body = [_Displays(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("displays", run, about=(gast.Starred, gast.Set, gast.Dict))
