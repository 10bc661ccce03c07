"""Turn ``while`` and ``for`` into calls that decide between Python and a static loop.

>>> show(PASS, '''
... def f(x):
...     while x < 9:
...         y = x * 2
...         x = y + 1
...     return x
... ''')
def f(x):
    def body():
        nonlocal x
        y = x * 2
        x = y + 1
    d2s.while_(lambda: x < 9, body, ('x',))
    return x

>>> show(PASS, '''
... def f(n):
...     s = 0
...     for i in range(n):
...         s = s + i
...     return s
... ''')
def f(n):
    s = 0
    def body(i):
        nonlocal s
        s = s + i
    d2s.for_(range(n), body, ('s',))
    return s

A loop with a ``yield`` stays Python:

>>> show(PASS, '''
... def f(items):
...     for item in items:
...         yield item
... ''')
def f(items):
    for item in d2s.over(items):
        yield item
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.scopes import own_nodes
from d2s.passes.base import (
    Context,
    Pass,
    ScopeTransformer,
    State,
    each_function,
    load,
    shared_state,
)
from d2s.syntax.positions import header, place, span_of
from d2s.syntax.quote import name

_YIELDS: Final = (gast.Yield, gast.YieldFrom)


class _Loops(ScopeTransformer):
    """Converts the loops of ``function``, inner ones first."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.function = function

    def visit_While(self, node: Any) -> Any:
        stop = _taken_stop(node)
        state = self.state(node, [node.test, *node.body], [], stop)
        if state is None:
            return self.generic_visit(node)
        names = self.ctx.names
        body = names.fresh("body")
        self.generic_visit(node)
        at = header(node)
        test = self.ctx.thunk(node.test)
        rest = "" if stop is None else ", lambda: stop"
        if test is not None:
            return self.ctx.quote(
                f"""
                def body():
                    statements
                d2s.while_(test, body, state{rest})
                """,
                at,
                body=body,
                statements=[*state.declarations(at), *node.body],
                test=test,
                state=state.names,
                stop=name(stop or ""),
            )
        returned = place(gast.Return(node.test), at)
        return self.ctx.quote(
            f"""
            def test():
                condition
            def body():
                statements
            d2s.while_(test, body, state{rest})
            """,
            at,
            test=names.fresh("test"),
            condition=[*state.declarations(at), returned],
            body=body,
            statements=[*state.declarations(at), *node.body],
            state=state.names,
            stop=name(stop or ""),
        )

    def visit_For(self, node: Any) -> Any:
        stop = _taken_stop(node)
        state = self.state(node, node.body, [node.target], stop)
        if state is None:
            stays = self.generic_visit(node)
            if any(isinstance(each, _YIELDS) for each in own_nodes(node.body)):
                stays.iter = self._over(stays.iter)
            return stays
        name_of_body = self.ctx.names.fresh("body")
        self.generic_visit(node)
        at = header(node)
        target = node.target
        shared = {*state.nonlocals, *state.globals_, *state.names}
        first: list[Any] = []
        if isinstance(target, gast.Name) and target.id not in shared:
            item = target.id
        else:
            item = self.ctx.names.fresh("item")
            first = [place(gast.Assign([target], load(item, at), None), at)]
        rest = "" if stop is None else ", lambda: stop"
        return self.ctx.quote(
            f"""
            def body(item):
                statements
            d2s.for_(iter_, body, state{rest})
            """,
            at,
            body=name_of_body,
            item=item,
            statements=[*state.declarations(at), *first, *node.body],
            iter_=node.iter,
            state=state.names,
            stop=name(stop or ""),
        )

    def visit_YieldFrom(self, node: Any) -> Any:
        self.generic_visit(node)
        node.value = self._over(node.value)
        return node

    def _over(self, things: Any) -> Any:
        return self.ctx.expr("d2s.over(things)", span_of(things), things=things)

    def state(
        self, node: Any, statements: list[Any], targets: list[Any], stop: str | None
    ) -> State | None:
        """What the body shares with the code around it; ``None`` if the loop stays Python."""
        if not _convertible(node, self.ctx):
            if stop is not None:
                at = header(node)
                leave = gast.If(load(stop, at), [place(gast.Break(), at)], [])
                node.body.append(place(leave, at))
            return None
        state = shared_state(self.ctx, self.function, node, statements, targets)
        if stop is None or stop in state.nonlocals:
            return state
        # Set before each read in the trip, as by a break that every trip reaches.
        return State((*state.names, stop), (*state.nonlocals, stop), state.globals_)


def _taken_stop(node: Any) -> str | None:
    """The flag of the ``if flag: break`` at the end of the body, which is taken off."""
    last = node.body[-1]
    if (
        isinstance(last, gast.If)
        and not last.orelse
        and len(last.body) == 1
        and isinstance(last.body[0], gast.Break)
        and isinstance(last.test, gast.Name)
    ):
        node.body = node.body[:-1]
        return str(last.test.id)
    return None


def _convertible(node: Any, ctx: Context) -> bool:
    exits = ctx.fresh_exits()  # the flag at its end has been taken off
    return not (
        node.orelse
        or exits.returns([node])
        or exits.breaks(node.body)
        or exits.continues(node.body)
        or exits.stays_python(node)
    )


def _lower(function: Any, ctx: Context) -> None:
    ctx.flow(function)
    function.body = _Loops(ctx, function).block(function.body)


PASS = Pass(
    "loops",
    each_function(_lower),
    after=("returns", "jumps", "unbound"),
    keeps_flow=True,
    about=(gast.While, gast.For, gast.YieldFrom),
)
