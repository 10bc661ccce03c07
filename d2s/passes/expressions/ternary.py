"""Turn conditional expressions into calls that decide between Python and a static branch.

>>> show(PASS, '''
... def f(x):
...     return x + 1 if x > 0 else -x
... ''')
def f(x):
    return d2s.ifelse(x > 0, lambda: x + 1, lambda: -x)
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import header
from d2s.syntax.trees import Rewriter


class _Ternaries(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_IfExp(self, node: Any) -> Any:
        self.generic_visit(node)
        at = header(node)
        body, orelse = self.ctx.thunk(node.body, at), self.ctx.thunk(node.orelse, at)
        if body is None or orelse is None:
            return node
        return self.ctx.expr(
            "d2s.ifelse(test, body, orelse)",
            at,
            test=node.test,
            body=body,
            orelse=orelse,
        )


def run(tree: Any, ctx: Context) -> Any:
    """Convert each conditional expression, in lambdas and comprehensions too."""
    tree.body = [_Ternaries(ctx).visit(statement) for statement in tree.body]
    return tree


PASS = Pass("ternary", run, after=("conditional", "loops"), about=(gast.IfExp,))
