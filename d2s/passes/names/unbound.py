"""Check reads of variables that some path leaves unbound.

Only a variable that a branch or loop binds on some paths is concerned; on Python values
``d2s.read`` is never reached with an unbound variable, because Python raises before the call.

>>> show(PASS, '''
... def f(x):
...     if x > 0:
...         y = x
...     return y
... ''')
def f(x):
    if x > 0:
        y = x
    return d2s.read(y, 'y')
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, ScopeTransformer, functions_in
from d2s.syntax.positions import span_of
from d2s.syntax.quote import name


class _Reads(ScopeTransformer):
    def __init__(self, ctx: Context, unsure: dict[int, Any]) -> None:
        super().__init__(ctx)
        self.unsure = unsure

    def visit_Call(self, node: Any) -> Any:
        if self.ctx.is_word(node.func) and node.func.attr == "result":
            return node
        return self.generic_visit(node)

    def visit_Delete(self, node: Any) -> Any:
        unsure = [item for item in node.targets if id(item) in self.unsure]
        checks = [
            statement
            for item in unsure
            for statement in self.ctx.quote(
                "d2s.read(value, text)",
                span_of(item),
                value=name(item.id),
                text=gast.Constant(item.id, None),
            )
        ]
        return [*checks, node]

    def visit_Name(self, node: Any) -> Any:
        if id(node) not in self.unsure:
            return node
        return self.ctx.expr(
            "d2s.read(value, text)", span_of(node), value=node, text=gast.Constant(node.id, None)
        )


def run(tree: Any, ctx: Context) -> Any:
    """Wrap each unsure read of every function."""
    for function in functions_in(tree):
        unsure = ctx.flow(function).unsure
        if unsure:
            function.body = _Reads(ctx, unsure).block(function.body)
    return tree


PASS = Pass("unbound", run, after=("returns", "jumps"), keeps_flow=True)
