"""Let a generator hand each item to a function, in the place of its ``yield``.

Only in a pipeline of its own (``pipeline.HANDED``), for ``runtime.python.generators``: the body of
the loop over a generator runs where the generator yields, so that a tensor may decide whether it
does.  ``take`` says whether the loop wants no more.

>>> show(PASS, '''
... def positive(xs):
...     for x in xs:
...         if x > 0:
...             yield x
...     yield from [1, 2]
... ''')
def positive(take, /, xs):
    for x in xs:
        if x > 0:
            if d2s.hand(take, x):
                return
    for item in [1, 2]:
        if d2s.hand(take, item):
            return

A generator is given back as it is where ``yield`` stands in an expression; in a ``try`` or
``with``, which would meet the exceptions of the loop; or where it looks at its frame.
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.exits import looks_at_frame
from d2s.analysis.scopes import own_nodes
from d2s.passes.base import Context, Pass, ScopeTransformer, assign, constant, load
from d2s.syntax.positions import header, place, span_of
from d2s.syntax.quote import name

_AROUND = (gast.Try, gast.TryStar, gast.With)
_YIELDS = (gast.Yield, gast.YieldFrom)


class _Handing(ScopeTransformer):
    """Puts a call in the place of each ``yield`` that is a statement, or is assigned.

    Args:
        ctx: the context.
        take: the name of the function that is handed the items.
    """

    def __init__(self, ctx: Context, take: str) -> None:
        super().__init__(ctx)
        self.take = take

    def visit_Expr(self, node: Any) -> Any:
        found, at = node.value, span_of(node)
        if isinstance(found, gast.Yield):
            item = found.value or constant(None, at)
            return self.ctx.quote(
                """
                if d2s.hand(take, item):
                    return
                """,
                at,
                take=name(self.take),
                item=item,
            )
        if isinstance(found, gast.YieldFrom):
            item = self.ctx.names.fresh("item")
            return self.ctx.quote(
                """
                for item in things:
                    if d2s.hand(take, each):
                        return
                """,
                at,
                item=item,
                each=load(item, at),
                things=found.value,
                take=name(self.take),
            )
        return node

    def visit_Assign(self, node: Any) -> Any:
        found, at = node.value, span_of(node)
        if not isinstance(found, gast.Yield):
            return node
        sent = place(gast.Assign(node.targets, constant(None, at), None), at)
        return [*self.visit_Expr(place(gast.Expr(found), at)), sent]

    def visit_Return(self, node: Any) -> Any:
        if node.value is None or isinstance(node.value, gast.Constant | gast.Name):
            return place(gast.Return(None), span_of(node))
        value, at = node.value, span_of(node)
        dropped = assign(self.ctx.names.fresh("value"), value, at)
        return [dropped, place(gast.Return(None), at)]


def hands_on(tree: Any) -> bool:
    """Whether the generator has a form in which each ``yield`` can be a call."""
    places = 0
    for node in own_nodes(tree.body):
        if isinstance(node, gast.Expr | gast.Assign):
            found = node.value
            places += isinstance(found, _YIELDS if isinstance(node, gast.Expr) else gast.Yield)
        around = isinstance(node, _AROUND) and any(map(_yields, own_nodes([node])))
        if around or looks_at_frame(node):
            return False
    return places > 0 and places == sum(map(_yields, own_nodes(tree.body)))


def _yields(node: Any) -> bool:
    return isinstance(node, _YIELDS)


def run(tree: Any, ctx: Context) -> Any:
    """The function, handing its items on; the same tree if it has another form."""
    if not isinstance(tree, gast.FunctionDef) or not hands_on(tree):
        return tree
    take = ctx.names.fresh("take")
    tree.body = _Handing(ctx, take).block(tree.body)
    tree.args.posonlyargs.insert(0, place(name(take, gast.Param()), header(tree)))
    return tree


PASS = Pass("generators", run, makes=(gast.If, gast.Return, gast.For, gast.Assign))
