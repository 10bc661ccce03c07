"""Let a ``raise`` that a tensor condition guards happen on the run.

The statement stays a ``raise``; the operator gives it the exception, or, while a branch or loop
is captured, notes a host effect that raises on the run in which dygraph would, and ends the
capture of that side.

>>> show(PASS, '''
... def f(x):
...     if x < 0:
...         raise ValueError("negative") from None
...     return x
... ''')
def f(x):
    if x < 0:
        raise d2s.error(lambda: ValueError('negative'), lambda: None) from None
    return x
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter, copied


class _Raises(Rewriter):
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_ExceptHandler(self, node: Any) -> Any:
        """A ``raise`` in a handler belongs to the exception at hand: Python's own."""
        return node

    def visit_Raise(self, node: Any) -> Any:
        if node.exc is None:
            return node
        make = self.ctx.thunk(node.exc)
        cause = None if node.cause is None else self.ctx.thunk(copied(node.cause))
        if make is None or (node.cause is not None and cause is None):
            return node
        at = span_of(node.exc)
        if cause is None:
            node.exc = self.ctx.expr("d2s.error(make)", at, make=make)
        else:
            node.exc = self.ctx.expr("d2s.error(make, cause)", at, make=make, cause=cause)
        return node


def run(tree: Any, ctx: Context) -> Any:
    """Convert each ``raise`` with an exception, nested functions included."""
    return _Raises(ctx).visit(tree)


PASS = Pass("raises", run, after=("conditional", "loops"), about=(gast.Raise,))
