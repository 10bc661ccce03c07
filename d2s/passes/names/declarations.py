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

from typing import Any, Final

import gast

from d2s.analysis.scopes import changes_in, declared, own_nodes, parameters
from d2s.analysis.walk import statements_in
from d2s.passes.base import Context, Pass, functions_in
from d2s.syntax.positions import place, span_of
from d2s.syntax.quote import name
from d2s.syntax.vocabulary import NAMESPACE

_TAKERS: Final = frozenset({"list_", "generator", "if_", "while_", "for_", "handle"})
"""The operators that call body functions."""


def _body_functions(function: Any, ctx: Context) -> frozenset[str]:
    """The functions that ``function`` hands to the operators of branches and loops."""
    return frozenset(
        argument.id
        for node in own_nodes(function.body)
        if isinstance(node, gast.Call)
        and isinstance(node.func, gast.Attribute)
        and node.func.attr in _TAKERS
        and isinstance(node.func.value, gast.Name)
        and node.func.value.id in (NAMESPACE, ctx.namespace)
        for part in node.args
        for argument in (part.elts if isinstance(part, gast.Tuple) else [part])
        if isinstance(argument, gast.Name)
    )


def _declare(function: Any, ctx: Context) -> None:
    sharing = [
        node
        for node in statements_in(function.body)
        if isinstance(node, gast.FunctionDef)
        and any(isinstance(statement, gast.Nonlocal) for statement in node.body)
    ]
    wanted: dict[str, Any] = {}
    bodies = _body_functions(function, ctx) if sharing else frozenset()
    for node in sharing:
        # A function of the user's says ``nonlocal`` of a variable that is there without us.
        if node.name in bodies:
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
        _declare(function, ctx)
    # A variable of the user's own closure is declared outside of the tree.
    tree.body = [
        statement
        for statement in tree.body
        if not (
            isinstance(statement, gast.AnnAssign)
            and statement.value is None
            and isinstance(statement.target, gast.Name)
            and statement.target.id in outer
        )
    ]
    return tree


PASS = Pass(
    "declarations",
    run,
    after=("conditional", "loops"),
    about=(
        gast.Nonlocal,
        gast.If,
        gast.While,
        gast.For,
        gast.ListComp,
        gast.GeneratorExp,
        gast.Try,
        gast.With,
    ),
)
