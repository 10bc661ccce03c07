"""Read ``x.shape`` through an operator: an open dimension is a tensor, not -1 (rule E4).

>>> show(PASS, '''
... def f(x):
...     return x.reshape([x.shape[0], -1])
... ''')
def f(x):
    return x.reshape([d2s.shape(x)[0], -1])
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter


class _Shapes(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Call(self, node: Any) -> Any:
        """A function that is called ``shape`` (as in ``paddle.shape(x)``) is no shape."""
        if isinstance(node.func, gast.Attribute) and node.func.attr == "shape":
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(item) for item in node.args]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.attr != "shape" or not isinstance(node.ctx, gast.Load):
            return node
        return self.ctx.expr("d2s.shape(thing)", span_of(node), thing=node.value)


def run(tree: Any, ctx: Context) -> Any:
    """Convert each read of an attribute ``shape``."""
    tree.body = [_Shapes(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("shapes", run, after=("loops", "conditional"), about=("shape",))
