"""Declare variables that only body functions bind, so that ``nonlocal`` finds them.

A bare annotation makes a name local without binding it: the variable stays unbound until a
branch or loop binds it, as in the user's text.

>>> show(PASS, '''
... def f(x):
...     def body():
...         nonlocal y
...         y = x
...     d2s.if_(x > 0, body, None, ('y',))
...     return y
... ''')
def f(x):
    y: object
    def body():
        nonlocal y
        y = x
    d2s.if_(x > 0, body, None, ('y',))
    return y
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.scopes import changes_in, declared, own_nodes, parameters
from d2s.passes.base import Context, Pass, functions_in
from d2s.syntax.positions import place, span_of
from d2s.syntax.quote import name


def _declare(function: Any) -> None:
    wanted: dict[str, Any] = {}
    for node in own_nodes(function.body):
        if isinstance(node, gast.FunctionDef):
            for statement in node.body:
                if isinstance(statement, gast.Nonlocal):
                    wanted.update(dict.fromkeys(statement.names, statement))
    if not wanted:
        return
    known = changes_in(function.body).bound | set(parameters(function))
    known |= declared(function, gast.Nonlocal) | declared(function, gast.Global)
    if isinstance(function.body[0], gast.Expr) and isinstance(
        function.body[0].value, gast.Constant
    ):
        at = 1
    else:
        at = 0
    while at < len(function.body) and isinstance(function.body[at], gast.Nonlocal | gast.Global):
        at += 1
    function.body[at:at] = [
        place(
            gast.AnnAssign(name(variable, gast.Store()), name("object"), None, 1),
            span_of(statement),
        )
        for variable, statement in wanted.items()
        if variable not in known
    ]


def run(tree: Any, ctx: Context) -> Any:
    """Declare in every function, innermost first."""
    outer = set(ctx.source.free)
    for function in functions_in(tree):
        _declare(function)
    # A variable of the user's own closure is declared outside of the tree.
    tree.body = [
        statement
        for statement in tree.body
        if not (
            isinstance(statement, gast.AnnAssign)
            and statement.value is None
            and statement.target.id in outer
        )
    ]
    return tree


PASS = Pass("declarations", run, after=("conditional", "loops"))
