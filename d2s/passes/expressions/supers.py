"""Write out what zero-argument ``super()`` stands for; in a body function it would not work.

>>> show(PASS, '''
... def forward(this, x):
...     return super().forward(x)
... ''')
def forward(this, x):
    return super(__class__, this).forward(x)
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.passes.base import Context, Pass, load
from d2s.syntax.positions import span_of
from d2s.syntax.trees import Rewriter


class _Supers(Rewriter):
    """Knows the first parameter of the function that it is in; a class inside has its own."""

    def __init__(self, first: str | None) -> None:
        self.first = first

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Lambda(self, node: Any) -> Any:
        # Decorators, defaults and annotations belong to the function around it; a ``super()`` is
        # not to be expected in them.
        inner = _Supers(_first(node))
        if isinstance(node.body, list):
            node.body = [inner.visit(statement) for statement in node.body]
        else:
            node.body = inner.visit(node.body)
        return node

    visit_FunctionDef = visit_Lambda
    visit_AsyncFunctionDef = visit_Lambda

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        if (
            self.first is not None
            and isinstance(node.func, gast.Name)
            and node.func.id == "super"
            and not node.args
            and not node.keywords
        ):
            at = span_of(node)
            node.args = [load("__class__", at), load(self.first, at)]
        return node


def _first(function: Any) -> str | None:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[0].id if arguments else None


def run(tree: Any, ctx: Context) -> Any:
    """Name class and instance in each ``super()`` of the method, and of functions in it."""
    return _Supers(None).visit(tree)


PASS = Pass("supers", run, about=("super",))
