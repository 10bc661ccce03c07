"""Give a function one ``return``, at its end.

Paths that leave early keep the rest of the text on the other side of the branch; a flag is made
only where a path may or may not have returned (out of loops, ``with`` and ``try``).

>>> show(PASS, '''
... def f(x, y):
...     if x > y:
...         return x + y
...     z = x - y
...     return z
... ''')
def f(x, y):
    if x > y:
        result = x + y
    else:
        z = x - y
        result = z
    return result

>>> show(PASS, '''
... def f(xs):
...     for x in xs:
...         if x > 0:
...             return x
...     return 0
... ''')
def f(xs):
    returned = False
    for x in xs:
        if x > 0:
            result = x
            returned = True
            break
    if not returned:
        result = 0
    return d2s.result(result)
"""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.exits import LOOPS
from d2s.passes.base import Context, Pass, assign, constant, each_function, if_, load, negated
from d2s.syntax.positions import Span, header, span_of


class _Returns:
    """Lowers the returns of one function; ``flagged`` tells whether its flag came into use."""

    def __init__(self, ctx: Context) -> None:
        self.result = ctx.names.fresh("result")
        self.returned = ctx.names.fresh("returned")
        ctx.flags.add(self.returned)
        self.flagged = False
        self.exits = ctx.exits  # asked for each statement before it is changed

    def leave(self, node: Any, tail: bool) -> list[Any]:
        """What stands in the place of the return statement ``node``."""
        at = span_of(node)
        value = node.value if node.value is not None else constant(None, at)
        statements = [assign(self.result, value, at)]
        if not tail:
            self.flagged = True
            statements.append(assign(self.returned, constant(True, at), at))
        return statements

    def guarded(self, rest: list[Any], at: Span, tail: bool) -> list[Any]:
        """``rest``, run when the function has not returned yet."""
        rest = self.block(rest, tail, at)
        if not rest:
            return []
        self.flagged = True
        return [if_(negated(load(self.returned, at), at), rest, [], at)]

    def block(self, statements: list[Any], tail: bool, at: Span) -> list[Any]:
        """``statements`` without returns; ``tail``: the function ends where they end."""
        done: list[Any] = []
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(node, gast.Return):
                return done + self.leave(node, tail)
            if not self.exits.returns([node]) or self.exits.stays_python(node):
                done.append(node)
                if isinstance(node, gast.Raise):
                    return done
                continue
            at = header(node)
            if isinstance(node, gast.If):
                return done + self.branch(node, rest, tail)
            if isinstance(node, LOOPS):
                self.loop(node)
            elif isinstance(node, gast.With | gast.AsyncWith):
                node.body = self.block(node.body, False, at)
            elif isinstance(node, gast.Try | gast.TryStar):
                self.try_(node, at)
            elif isinstance(node, gast.Match):
                inner = tail and not rest
                for case in node.cases:
                    case.body = self.block(case.body, inner, at)
                if inner and not _irrefutable(node.cases[-1]):
                    self.flagged = True
                    for case in node.cases:
                        case.body.append(assign(self.returned, constant(True, at), at))
                elif inner:
                    return [*done, node]
            return [*done, node, *self.guarded(rest, at, tail)]
        if tail:
            done.append(assign(self.result, constant(None, at), at))
        return done

    def branch(self, node: Any, rest: list[Any], tail: bool) -> list[Any]:
        """An ``if`` that may return, and the ``rest`` of its block."""
        at = header(node)
        if not rest or self.exits.always_leaves(node.body):
            body = self.block(node.body, tail, at)
            return [if_(node.test, body, self.block([*node.orelse, *rest], tail, at), at)]
        if node.orelse and self.exits.always_leaves(node.orelse):
            orelse = self.block(node.orelse, tail, at)
            return [if_(node.test, self.block([*node.body, *rest], tail, at), orelse, at)]
        node.body = self.block(node.body, False, at)
        node.orelse = self.block(node.orelse, False, at)
        return [node, *self.guarded(rest, at, tail)]

    def loop(self, node: Any) -> None:
        """A loop that may return: ``break``, with the flag set; inner loops break the outer."""
        node.body = self.in_loop(node.body)
        node.orelse = self.block(node.orelse, False, header(node))

    def in_loop(self, statements: list[Any]) -> list[Any]:
        done: list[Any] = []
        for node in statements:
            if isinstance(node, gast.Return):
                at = span_of(node)
                return [*done, *self.leave(node, False), *_placed([gast.Break()], at)]
            done.append(node)
            if not self.exits.returns([node]) or self.exits.stays_python(node):
                continue
            at = header(node)
            if isinstance(node, LOOPS):
                node.body = self.in_loop(node.body)
                node.orelse = self.in_loop(node.orelse)
                self.flagged = True
                leave = _placed([gast.Break()], at)
                done.append(if_(load(self.returned, at), leave, [], at))
            elif isinstance(node, gast.Match):
                for case in node.cases:
                    case.body = self.in_loop(case.body)
            else:
                for name in ("body", "orelse", "finalbody"):
                    if getattr(node, name, None):
                        setattr(node, name, self.in_loop(getattr(node, name)))
                for handler in getattr(node, "handlers", ()):
                    handler.body = self.in_loop(handler.body)
        return done

    def try_(self, node: Any, at: Span) -> None:
        body_returns = self.exits.returns(node.body)
        node.body = self.block(node.body, False, at)
        for handler in node.handlers:
            handler.body = self.block(handler.body, False, at)
        if node.orelse and body_returns:
            node.orelse = self.guarded(node.orelse, at, False)
        else:
            node.orelse = self.block(node.orelse, False, at)
        # ``else`` is not part of the tail: what follows is guarded by the flag.


def _irrefutable(case: Any) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, gast.MatchAs) and pattern.pattern is None


def _placed(nodes: list[Any], at: Span) -> list[Any]:
    for node in nodes:
        node.lineno, node.col_offset = at.line, at.column
        node.end_lineno, node.end_col_offset = at.end_line, at.end_column
    return nodes


def _lower(function: Any, ctx: Context) -> None:
    statements = function.body
    last = statements[-1]
    early = statements[:-1] if isinstance(last, gast.Return) else statements
    exits = ctx.exits
    if not exits.returns(early):
        return
    begin = next(place for place, node in enumerate(early) if exits.returns([node]))
    # What comes before may await or yield: no path around it returns.
    if any(map(exits.stays_python, statements[begin:])):
        return
    lowering = _Returns(ctx)
    # Of all statements this one is surely come to, whichever path returns.
    at = header(statements[begin])
    if not any(map(exits.stays_python, statements[:begin])):
        first = statements[0]
        begin = int(isinstance(first, gast.Expr) and isinstance(first.value, gast.Constant))
    before, statements = statements[:begin], statements[begin:]
    body = lowering.block(statements, True, at)
    end = "return d2s.result(result)" if lowering.flagged else "return result"
    if lowering.flagged:
        first = header(statements[0])
        body.insert(0, assign(lowering.returned, constant(False, first), first))
    function.body = [*before, *body, *ctx.quote(end, at, result=lowering.result)]


PASS = Pass(
    "returns",
    each_function(_lower),
    about=(gast.Return,),
    makes=(gast.If, gast.Not, gast.Break),
)
