"""Take annotations off local variables: one that a body function shares may not have any.

Python evaluates no annotation of a local variable, so nothing is lost but the text; an
annotation without a value stays, because it makes its variable local.  In a block it goes to the
beginning of the function, where it means the same.

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

>>> show(PASS, '''
... def f(x):
...     if x > 0:
...         y: int
...         y = x
...     return y
... ''')
def f(x):
    y: int
    if x > 0:
        pass
        y = x
    return y
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.passes.base import Context, Pass, ScopeTransformer, each_function
from d2s.syntax.positions import place, span_of


class _Annotations(ScopeTransformer):
    """Takes them off.

    Attributes:
        outer: the statements of the function itself, in no block.
        moved: annotations without a value, by the variable.
    """

    def __init__(self, ctx: Context, outer: list[Any]) -> None:
        super().__init__(ctx)
        self.outer = list(outer)
        self.moved: dict[str, Any] = {}

    def visit_AnnAssign(self, node: Any) -> Any:
        if not isinstance(node.target, gast.Name):
            return node
        if node.value is None:
            if any(node is statement for statement in self.outer):
                return node
            self.moved.setdefault(node.target.id, node)
            return place(gast.Pass(), span_of(node))
        return place(gast.Assign([node.target], node.value, None), span_of(node))


def _lower(function: Any, ctx: Context) -> None:
    annotations = _Annotations(ctx, function.body)
    body = annotations.block(function.body)
    at = 0
    while at < len(body) and (_is_docstring(body, at) or isinstance(body[at], _DECLARATIONS)):
        at += 1
    function.body = [*body[:at], *annotations.moved.values(), *body[at:]]


def _is_docstring(body: list[Any], at: int) -> bool:
    """Whether the statement at ``at`` is the text that begins a function."""
    first = body[at]
    return at == 0 and isinstance(first, gast.Expr) and isinstance(first.value, gast.Constant)


_DECLARATIONS: Final = (gast.Nonlocal, gast.Global)


PASS = Pass("annotated", each_function(_lower), about=(gast.AnnAssign,))
