"""Begin a function with what its ``*things`` are, of which the run may know how many there are.

>>> show(PASS, '''
... def f(first, *others):
...     return first, others
... ''')
def f(first, *others):
    others = d2s.gathered(others)
    return first, others
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, assign, each_function, load
from d2s.syntax.positions import header


def _begin(function: Any, ctx: Context) -> None:
    rest = function.args.vararg
    if rest is None:
        return
    first, *others = function.body
    described = isinstance(first, gast.Expr) and isinstance(first.value, gast.Constant)
    # On the line of the first statement, as a tracer stops at each line once.
    at = header(others[0] if described and others else first)
    gathered = ctx.expr("d2s.gathered(things)", at, things=load(rest.id, at))
    function.body.insert(int(described), assign(rest.id, gathered, at))


PASS = Pass("rests", each_function(_begin), after=("calls",), about=("*",))
