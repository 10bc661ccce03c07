"""Turn ``if`` into a call that decides between Python and a static branch.

>>> show(PASS, '''
... def f(x):
...     if x > 0:
...         t = x * 2
...         y = t + 1
...     else:
...         y = x
...     return y
... ''')
def f(x):
    def body():
        nonlocal y
        t = x * 2
        y = t + 1
    def orelse():
        nonlocal y
        y = x
    d2s.if_(x > 0, body, orelse, ('y',))
    return y
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.exits import Exits
from d2s.passes.base import Context, Pass, ScopeTransformer, functions_in, shared_state
from d2s.syntax.positions import header


class _Branches(ScopeTransformer):
    """Converts the branches of ``function``, inner ones first, in generated bodies too."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.function = function

    def visit_FunctionDef(self, node: Any) -> Any:
        if self.ctx.is_generated(node):
            self.generic_visit(node)
        return node

    def visit_If(self, node: Any) -> Any:
        if not _convertible(node, self.ctx.exits):
            return self.generic_visit(node)
        statements = [*node.body, *node.orelse]
        state = shared_state(self.ctx, self.function, node, statements, [])
        bound = [self.ctx.changes(side).bound for side in (node.body, node.orelse)]
        names = self.ctx.names
        body = names.fresh("body")
        orelse = names.fresh("orelse") if node.orelse else None
        self.generic_visit(node)
        at = header(node)
        first = state.declarations(at, bound[0])
        values = {
            "test": node.test,
            "body": body,
            "statements": [*first, *node.body],
            "state": state.names,
        }
        if not node.orelse:
            return self.ctx.quote(
                """
                def body():
                    statements
                d2s.if_(test, body, None, state)
                """,
                at,
                **values,
            )
        return self.ctx.quote(
            """
            def body():
                statements
            def orelse():
                others
            d2s.if_(test, body, orelse, state)
            """,
            at,
            orelse=orelse,
            others=[*state.declarations(at, bound[1]), *node.orelse],
            **values,
        )


def _convertible(node: Any, exits: Exits) -> bool:
    return not (
        exits.returns([node])
        or exits.breaks([node])
        or exits.continues([node])
        or exits.stays_python(node)
    ) and not _always_python(node.test)


def _always_python(test: Any) -> bool:
    """A constant is no tensor."""
    return isinstance(test, gast.Constant)


def run(tree: Any, ctx: Context) -> Any:
    """Convert the branches of every function that the user wrote."""
    for function in functions_in(tree):
        if not ctx.is_generated(function):
            function.body = _Branches(ctx, function).block(function.body)
    return tree


PASS = Pass("conditional", run, after=("loops",), about=(gast.If,))
