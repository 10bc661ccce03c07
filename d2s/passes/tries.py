"""Tell the operators which exceptions a ``try`` would catch.

An exception that only the run can raise cannot be caught by code that ran at capture; with this
knowledge it is refused at its line instead of going past the handler (rule F1).

>>> show(PASS, '''
... def f(x):
...     try:
...         y = g(x)
...     except (ValueError, KeyError):
...         y = x
...     return y
... ''')
def f(x):
    try:
        with d2s.attempt(lambda: (ValueError, KeyError)):
            y = g(x)
    except (ValueError, KeyError):
        y = x
    return y
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from d2s.analysis.exits import stays_python
from d2s.passes.base import Context, Pass, ScopeTransformer, each_function
from d2s.syntax.positions import header, place, span_of
from d2s.syntax.quote import name


class _Tries(ScopeTransformer):
    def visit_Try(self, node: Any) -> Any:
        self.generic_visit(node)
        if not node.handlers or stays_python(node) or not _may_raise_later(node.body):
            return node
        at = header(node.body[0])
        types = [
            place(name("BaseException"), at)
            if handler.type is None
            else copy.deepcopy(handler.type)
            for handler in node.handlers
        ]
        caught = types[0] if len(types) == 1 else place(gast.Tuple(types, gast.Load()), at)
        thunk = self.ctx.thunk(caught)
        if thunk is None:
            return node
        call = self.ctx.expr("d2s.attempt(caught)", span_of(node.body[0]), caught=thunk)
        item = gast.withitem(call, None)
        node.body = [place(gast.With([item], node.body, None), at)]
        return node


def _may_raise_later(statements: list[Any]) -> bool:
    """Whether ``statements`` hold a call, a ``raise`` or an ``assert``."""
    return any(
        isinstance(node, gast.Call | gast.Raise | gast.Assert)
        for statement in statements
        for node in gast.walk(statement)
    )


def _lower(function: Any, ctx: Context) -> None:
    function.body = _Tries(ctx).block(function.body)


PASS = Pass("tries", each_function(_lower), after=("returns", "jumps", "conditional", "loops"))
