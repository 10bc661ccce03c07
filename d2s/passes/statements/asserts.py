"""Turn ``assert`` into an operator: a host effect when its condition is a tensor.

>>> show(PASS, '''
... def f(x):
...     assert x > 0, "positive"
...     return x
... ''')
def f(x):
    d2s.assert_(x > 0, lambda: 'positive')
    return x
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter


class _Asserts(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Assert(self, node: Any) -> Any:
        at = span_of(node)
        if node.msg is None:
            return self.ctx.quote("d2s.assert_(test)", at, test=node.test)
        message = self.ctx.thunk(node.msg, at)
        if message is None:
            return node
        return self.ctx.quote("d2s.assert_(test, message)", at, test=node.test, message=message)


def run(tree: Any, ctx: Context) -> Any:
    """Convert each assertion, unless Python runs without them (``-O``)."""
    return _Asserts(ctx).visit(tree) if __debug__ else tree


PASS = Pass("asserts", run, after=("conditional",), about=(gast.Assert,))
