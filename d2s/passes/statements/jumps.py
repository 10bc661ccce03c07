"""Lower ``break``, ``continue`` and the ``else`` of loops.

The rest of the text goes to the other side of the branch that jumps; a flag is made only where
a path may or may not have jumped; where the rest of a trip asks for it, the trip begins with it
``False``.  A loop keeps one ``break``, as the last statement of its body,
which the pass ``loops`` turns into the loop's ``stop``; ``while True`` tests the flag itself.

>>> show(PASS, '''
... def f(x):
...     while x < 9:
...         if x == 5:
...             break
...         x = x + 1
...     return x
... ''')
def f(x):
    broken = False
    while x < 9:
        if x == 5:
            broken = True
        else:
            x = x + 1
        if broken:
            break
    return x

>>> show(PASS, '''
... def f(x, careful):
...     while True:
...         if careful:
...             if x > 9:
...                 break
...         x = x + 1
...     return x
... ''')
def f(x, careful):
    broken = False
    while not broken:
        broken = False
        if careful:
            if x > 9:
                broken = True
        if not broken:
            x = x + 1
    return x

>>> show(PASS, '''
... def f(xs):
...     s = 0
...     for x in xs:
...         if x < 0:
...             continue
...         s = s + x
...     return s
... ''')
def f(xs):
    s = 0
    for x in xs:
        if x < 0:
            pass
        else:
            s = s + x
    return s
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.exits import (
    LOOPS,
    blocks_of,
)
from d2s.passes.base import Context, Pass, assign, constant, each_function, if_, load, negated
from d2s.syntax.positions import Span, header, place, span_of
from d2s.syntax.trees import Rewriter

JUMPS = (gast.Break, gast.Continue)


class _Loop:
    """Lowers the jumps of one loop.

    ``broken`` and ``skipped`` are its flags, ``None`` while they are not needed; with ``given`` the
    flag of the returns serves, because every ``break`` of the loop stands behind a return.
    """

    def __init__(self, ctx: Context, given: str | None) -> None:
        self.ctx = ctx
        self.given = given is not None
        self.broken = given
        self.skipped: str | None = None
        self.asks = False  # the body asks for ``broken``
        self.exits = ctx.fresh_exits()  # asked for each statement before it is changed

    def flag_broken(self) -> str:
        if self.broken is None:
            self.broken = self.ctx.names.fresh("broken")
        return self.broken

    def flag_skipped(self) -> str:
        if self.skipped is None:
            self.skipped = self.ctx.names.fresh("skipped")
        return self.skipped

    def leave(self, node: Any, tail: bool) -> list[Any]:
        at = span_of(node)
        if isinstance(node, gast.Break):
            if self.given:
                return []
            return [assign(self.flag_broken(), constant(True, at), at)]
        if tail:
            return _pass(at)  # a breakpoint on the line is come to
        return [assign(self.flag_skipped(), constant(True, at), at)]

    def guarded(self, node: Any, rest: list[Any], tail: bool) -> list[Any]:
        """``rest``, run when ``node`` (already lowered, kinds given) has not jumped."""
        at = header(node[0])
        rest = self.block(rest, tail, at)
        if not rest:
            return []
        flags = []
        if node[1]:
            self.asks = True
            flags.append(load(self.flag_broken(), at))
        if node[2]:
            flags.append(load(self.flag_skipped(), at))
        test = flags[0] if len(flags) == 1 else place(gast.BoolOp(gast.Or(), flags), at)
        return [if_(negated(test, at), rest, [], at)]

    def block(self, statements: list[Any], tail: bool, at: Span) -> list[Any]:
        """``statements`` without jumps; ``tail``: the trip ends where they end."""
        done: list[Any] = []
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(node, JUMPS):
                return done + self.leave(node, tail)
            breaks, skips = self.exits.breaks([node]), self.exits.continues([node])
            if not breaks and not skips:
                done.append(node)
                if isinstance(node, gast.Return | gast.Raise):
                    return done
                continue
            at = header(node)
            if isinstance(node, gast.If):
                return done + self.branch(node, rest, tail, breaks, skips)
            if isinstance(node, LOOPS):  # its else clause jumps; the loop itself is lowered
                node.orelse = self.block(node.orelse, False, at)
            elif isinstance(node, gast.With | gast.AsyncWith):
                node.body = self.block(node.body, False, at)
            elif isinstance(node, gast.Match):
                for case in node.cases:
                    case.body = self.block(case.body, False, at) or _pass(at)
            else:
                self.try_(node, at)
            return [*done, node, *self.guarded((node, breaks, skips), rest, tail)]
        return done

    def branch(
        self, node: Any, rest: list[Any], tail: bool, breaks: bool, skips: bool
    ) -> list[Any]:
        at = header(node)
        if not rest or self.exits.always_leaves(node.body):
            body = self.block(node.body, tail, at)
            orelse = self.block([*node.orelse, *rest], tail, at)
        elif node.orelse and self.exits.always_leaves(node.orelse):
            orelse = self.block(node.orelse, tail, at)
            body = self.block([*node.body, *rest], tail, at)
        else:
            node.body = self.block(node.body, False, at) or _pass(at)
            node.orelse = self.block(node.orelse, False, at)
            return [node, *self.guarded((node, breaks, skips), rest, tail)]
        if not body and not orelse and isinstance(node.test, gast.Name):
            return []  # the flag itself was all that there was to know
        return [if_(node.test, body, orelse, at)]

    def try_(self, node: Any, at: Span) -> None:
        kinds = (node, self.exits.breaks(node.body), self.exits.continues(node.body))
        node.body = self.block(node.body, False, at) or _pass(at)
        for handler in node.handlers:
            handler.body = self.block(handler.body, False, at) or _pass(at)
        if node.orelse and (kinds[1] or kinds[2]):
            node.orelse = self.guarded(kinds, node.orelse, False)
        else:
            node.orelse = self.block(node.orelse, False, at)


def _pass(at: Span) -> list[Any]:
    return [place(gast.Pass(), at)]


def _flag_of_returns(loop: Any, ctx: Context) -> str | None:
    """The flag of returns that is ``True`` exactly when ``loop`` was broken out of, if any."""
    found: set[str | None] = set()

    def look(statements: list[Any], test: Any = None) -> None:
        before = None
        for node in statements:
            if isinstance(node, gast.Break):
                name = test.id if before is None and isinstance(test, gast.Name) else None
                if isinstance(before, gast.Assign) and isinstance(before.targets[0], gast.Name):
                    name = before.targets[0].id
                found.add(name if name in ctx.flags else None)
            elif isinstance(node, LOOPS):
                look(node.orelse)
            else:
                for block in blocks_of(node):
                    look(
                        block,
                        node.test
                        if block is getattr(node, "body", None) and isinstance(node, gast.If)
                        else None,
                    )
            before = node

    look(loop.body)
    return found.pop() if len(found) == 1 else None


def _statements(node: Any, ctx: Context) -> list[Any]:
    """What stands in the place of the loop ``node``, whose inner loops are lowered already."""
    at = header(node)
    exits = ctx.fresh_exits()
    if not (exits.breaks(node.body) or exits.continues(node.body) or node.orelse):
        return [node]
    if exits.stays_python(node) or exits.returns([node]):
        return [node]
    loop = _Loop(ctx, _flag_of_returns(node, ctx))
    node.body = loop.block(node.body, True, at) or _pass(at)
    if loop.skipped is not None:
        node.body.insert(0, assign(loop.skipped, constant(False, at), at))
    before: list[Any] = []
    after: list[Any] = node.orelse
    node.orelse = []
    if loop.broken is not None:
        if loop.asks:  # it is so, but in a static loop the flag is what the last trip has left
            node.body.insert(0, assign(loop.broken, constant(False, at), at))
        if not loop.given:
            before = [assign(loop.broken, constant(False, at), at)]
        broken = load(loop.broken, at)
        endless = isinstance(node, gast.While) and isinstance(node.test, gast.Constant)
        if endless and node.test.value:
            node.test = negated(broken, at)
        else:
            stop = [place(gast.Break(), at)]
            node.body.append(if_(broken, stop, [], at))
        if after:
            after = [if_(negated(load(loop.broken, at), at), after, [], at)]
    return [*before, node, *after]


class _Jumps(Rewriter):
    """Lowers every loop of one function, inner loops first."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def visit_For(self, node: Any) -> Any:
        self.generic_visit(node)
        return _statements(node, self.ctx)

    visit_While = visit_For
    visit_AsyncFor = visit_For

    def visit_FunctionDef(self, node: Any) -> Any:
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef


def _lower(function: Any, ctx: Context) -> None:
    transformer = _Jumps(ctx)
    body: list[Any] = []
    for statement in function.body:
        new = transformer.visit(statement)
        body.extend(new if isinstance(new, list) else [new])
    function.body = body


PASS = Pass(
    "jumps",
    each_function(_lower),
    after=("returns",),
    about=LOOPS,
    makes=(gast.If, gast.Not, gast.BoolOp),
)
