"""Read ``x.shape`` through an operator: an open dimension is a tensor, not -1 (rule E4).

>>> show(PASS, '''
... def f(x):
...     return x.reshape([x.shape[0], -1])
... ''')
def f(x):
    return x.reshape([d2s.shape(x)[0], -1])

So are classes, as a tensor of the program is of another one (rule E1):

>>> show(PASS, '''
... def f(x):
...     x.__class__.count = 1
...     return x.__class__.__name__
... ''')
def f(x):
    x.__class__.count = 1
    return d2s.class_(x).__name__
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter

_OPERATORS: Final = {"shape": "d2s.shape(thing)", "__class__": "d2s.class_(thing)"}


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
        if not isinstance(node.ctx, gast.Load):
            inner = node.value
            if isinstance(inner, gast.Attribute) and inner.attr == "__class__":
                node.value.value = self.visit(inner.value)
                return node
            return self.generic_visit(node)
        self.generic_visit(node)
        if node.attr not in _OPERATORS:
            return node
        return self.ctx.expr(_OPERATORS[node.attr], span_of(node), thing=node.value)


def run(tree: Any, ctx: Context) -> Any:
    """Convert each read of these attributes."""
    tree.body = [_Shapes(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("shapes", run, after=("loops", "conditional"), about=tuple(_OPERATORS))
