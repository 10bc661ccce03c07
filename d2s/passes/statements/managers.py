"""Cut a generator that ``contextlib.contextmanager`` wraps in two at its ``yield``.

Only in a pipeline of its own (``pipeline.CUT``), for ``runtime.calls.managers``: what is behind the
``yield`` may be needed once for each way in which a tensor lets the body of the ``with`` end, and a
generator goes on only once.

>>> show(PASS, '''
... def evaluating(model):
...     was = model.training
...     model.eval()
...     try:
...         yield model
...     finally:
...         model.train(was)
... ''')
def evaluating(model):
    was = model.training
    model.eval()
    entered = model
    def leave(error):
        try:
            if error is not None:
                raise error
        finally:
            model.train(was)
    return entered, leave

A generator that yields anywhere else than in the statements of the function and of ``try`` bodies
that begin with it is given back as it is.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from d2s.analysis.exits import returns
from d2s.analysis.scopes import changes_in, own_nodes, parameters
from d2s.passes.base import Context, Pass, assign, constant, load
from d2s.syntax.positions import Span, place, span_of
from d2s.syntax.quote import quote


class _Cut:
    """What comes before the ``yield`` of a generator, what is yielded, and what comes behind.

    Args:
        ctx: the context.
        error: the name under which what is behind gets the exception raised at the ``yield``.
    """

    def __init__(self, ctx: Context, error: str) -> None:
        self.ctx = ctx
        self.error = error
        self.at: Span | None = None
        self.entered: Any = None

    def block(self, statements: list[Any]) -> tuple[list[Any], list[Any]] | None:
        """The statements before the ``yield`` and those behind it; ``None``: another form."""
        for position, node in enumerate(statements):
            if not _yields(node):
                continue
            before, rest = statements[:position], statements[position + 1 :]
            if returns(before) or any(map(_yields, rest)):
                return None
            if isinstance(node, gast.Try):
                inner = self.block(node.body)
                others = [*node.handlers, *node.orelse, *node.finalbody]
                if inner is None or inner[0] or any(map(_yields, others)):
                    return None
                fields = node.handlers, node.orelse, node.finalbody
                behind = [place(gast.Try(inner[1], *fields), span_of(node))]
            else:
                found = self.statement(node)
                if found is None:
                    return None
                behind = found
            return before, [*behind, *rest]
        return None

    def statement(self, node: Any) -> list[Any] | None:
        """What is left of the statement that yields: an exception is raised there."""
        found = node.value if isinstance(node, gast.Expr | gast.Assign) else None
        if not isinstance(found, gast.Yield) or (found.value and _yields(found.value)):
            return None
        at = self.at = span_of(node)
        self.entered = found.value or constant(None, at)
        behind = self.ctx.quote(
            """
            if error is not None:
                raise error
            """,
            at,
            error=self.error,
        )
        if isinstance(node, gast.Assign):
            behind.append(place(gast.Assign(node.targets, constant(None, at), None), at))
        return behind


def _yields(node: Any) -> bool:
    return any(isinstance(item, gast.Yield | gast.YieldFrom) for item in own_nodes([node]))


def run(tree: Any, ctx: Context) -> Any:
    """The function, cut; the same tree if it has another form."""
    names = {word: ctx.names.fresh(word) for word in ("entered", "leave", "error")}
    cut = _Cut(ctx, names["error"])
    found = cut.block(tree.body)
    if found is None or cut.at is None:
        return tree
    before, behind = found
    declarations = [
        copy.deepcopy(node) for node in before if isinstance(node, gast.Global | gast.Nonlocal)
    ]
    outside = {variable for node in declarations for variable in node.names}
    bound = changes_in(before).bound | set(parameters(tree))
    shared = sorted((changes_in(behind).bound & bound) - outside)
    if shared:
        declarations.append(place(gast.Nonlocal(shared), cut.at))
    # For the passes behind this one it is a function of its own, not a part of the user's.
    leave = quote(
        """
        def leave(error):
            statements
        """,
        at=cut.at,
        leave=names["leave"],
        error=names["error"],
        statements=[*declarations, *behind],
    )
    both = [load(names[word], cut.at) for word in ("entered", "leave")]
    tree.body = [
        *before,
        assign(names["entered"], cut.entered, cut.at),
        *leave,
        place(gast.Return(place(gast.Tuple(both, gast.Load()), cut.at)), cut.at),
    ]
    return tree


PASS = Pass("managers", run, makes=(gast.If, gast.Compare, gast.Raise, gast.Try))
