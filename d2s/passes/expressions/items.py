"""Read ``x[key]`` through an operator where the run may be what knows the key.

A list that is asked for an item by a tensor, or by a number that a tensor decides, gives the item
that is meant.  A constant key stays Python, and so does a slice with constant bounds.

>>> show(PASS, '''
... def f(layers, x, i, key):
...     x[1:] = layers[-1](x[0])
...     return layers[i](x), x[key][:, 2], layers[:i]
... ''')
def f(layers, x, i, key):
    x[1:] = layers[-1](x[0])
    return d2s.getitem(layers, i)(x), d2s.getitem(x, key)[:, 2], d2s.getitem(layers, slice(None, i))
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, key_of
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter


class _Items(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_AnnAssign(self, node: Any) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Subscript(self, node: Any) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load) or self._is_fixed(node.slice):
            return node
        return self.ctx.expr(
            "d2s.getitem(container, key)",
            span_of(node),
            container=node.value,
            key=key_of(node.slice),
        )

    def _is_fixed(self, key: Any) -> bool:
        """Whether ``key`` is a constant, or a slice or tuple of constants."""
        if isinstance(key, gast.Slice):
            return all(
                part is None or self._is_fixed(part) for part in (key.lower, key.upper, key.step)
            )
        if isinstance(key, gast.Tuple):
            return all(map(self._is_fixed, key.elts))
        if isinstance(key, gast.UnaryOp):
            key = key.operand
        return isinstance(key, gast.Constant | gast.Starred)


def run(tree: Any, ctx: Context) -> Any:
    """Convert each read of an item."""
    items = _Items(ctx)
    tree.body = [items.visit(statement) for statement in tree.body]
    return tree


PASS = Pass(
    "items",
    run,
    after=("subscripts", "shapes", "loops", "conditional"),
    about=(gast.Subscript,),
)
