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
    at, first = header(function), function.body[0]
    gathered = ctx.expr("d2s.gathered(things)", at, things=load(rest.id, at))
    described = isinstance(first, gast.Expr) and isinstance(first.value, gast.Constant)
    function.body.insert(int(described), assign(rest.id, gathered, at))


PASS = Pass("rests", each_function(_begin), after=("calls",), about=("*",))
