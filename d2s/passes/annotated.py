"""Take annotations off local variables: one that a body function shares may not have any.

Python evaluates no annotation of a local variable, so nothing is lost but the text; an
annotation without a value stays, because it makes its variable local.

>>> show(PASS, '''
... def f(x):
...     y: int = x
...     z: int
...     return y
... ''')
def f(x):
    y = x
    z: int
    return y
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, ScopeTransformer, each_function
from d2s.syntax.positions import place, span_of


class _Annotations(ScopeTransformer):
    def visit_AnnAssign(self, node: Any) -> Any:
        if node.value is None or not isinstance(node.target, gast.Name):
            return node
        return place(gast.Assign([node.target], node.value, None), span_of(node))


def _lower(function: Any, ctx: Context) -> None:
    function.body = _Annotations(ctx).block(function.body)


PASS = Pass("annotated", each_function(_lower), about=(gast.AnnAssign,))
