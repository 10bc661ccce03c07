"""Lower ``break``, ``continue`` and the ``else`` of loops.

The rest of the text goes to the other side of the branch that jumps; a flag is made only where
a path may or may not have jumped; where the rest of a trip asks for it, the trip begins with it
``False``.  A loop keeps one ``break``, as the last statement of its body,
which the pass ``loops`` turns into the loop's ``stop``; ``while True`` tests the flag itself.

What a path does last before it breaks comes behind the loop where it assigns what trips read: no
trip begins with that.

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

>>> show(PASS, '''
... def f(x):
...     xs = []
...     while True:
...         xs.append(x)
...         if x > 9:
...             xs = stack(xs)
...             break
...         x = x + 1
...     return xs
... ''')
def f(x):
    xs = []
    broken = False
    while not broken:
        xs.append(x)
        if x > 9:
            broken = True
        else:
            x = x + 1
    xs = stack(xs)
    return xs
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import gast

from d2s.analysis.exits import (
    LOOPS,
    blocks_of,
)
from d2s.analysis.liveness import Liveness
from d2s.analysis.scopes import MUTATORS, changes_in, dotted, own_nodes
from d2s.analysis.uses import EMPTY, Set, Uses, bound_in
from d2s.passes.base import Context, Pass, assign, constant, each_function, if_, load, negated
from d2s.syntax.positions import Span, header, place, span_of
from d2s.syntax.trees import Rewriter

JUMPS = (gast.Break, gast.Continue)


class _Loop:
    """Lowers the jumps of one loop.

    ``broken`` and ``skipped`` are its flags, ``None`` while they are not needed; with ``given`` the
    flag of the returns serves, because every ``break`` of the loop stands behind a return.
    ``late`` is what comes behind the loop, and under which flag of its own, if it has any.
    """

    def __init__(self, node: Any, ctx: Context, given: str | None) -> None:
        self.ctx = ctx
        self.breaks = _count(node.body)
        self.late: list[tuple[str | None, list[Any]]] = []
        self._ends = _Ends(node, ctx) if _ends_at_once(node) else None
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

    def leave(self, node: Any, done: list[Any], tail: bool) -> list[Any]:
        """What stands in the place of a jump and of what is ``done`` right before it."""
        at = span_of(node)
        if isinstance(node, gast.Break):
            return self.leave_loop(done, at)
        if tail:
            return done + _pass(at)  # a breakpoint on the line is come to
        return [*done, assign(self.flag_skipped(), constant(True, at), at)]

    def leave_loop(self, done: list[Any], at: Span) -> list[Any]:
        late: list[Any] = []
        if self._ends is not None:
            done, late = self._ends.parted(done)
        if late:
            flag = self.ctx.names.fresh("left") if self.breaks > 1 else None
            self.late.append((flag, late))
            if flag is not None:
                done = [*done, assign(flag, constant(True, at), at)]
        if self.given:
            return done
        return [*done, assign(self.flag_broken(), constant(True, at), at)]

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """While a ``try`` or ``with`` is lowered, which sees what is raised in it."""
        ends, self._ends = self._ends, None
        try:
            yield
        finally:
            self._ends = ends

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
                return self.leave(node, done, tail)
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
            elif isinstance(node, gast.Match):
                for case in node.cases:
                    case.body = self.block(case.body, False, at) or _pass(at)
            else:
                with self.in_place():
                    self.held(node, at)
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

    def held(self, node: Any, at: Span) -> None:
        """A ``with`` or ``try``."""
        if isinstance(node, gast.With | gast.AsyncWith):
            node.body = self.block(node.body, False, at)
            return
        kinds = (node, self.exits.breaks(node.body), self.exits.continues(node.body))
        node.body = self.block(node.body, False, at) or _pass(at)
        for handler in node.handlers:
            handler.body = self.block(handler.body, False, at) or _pass(at)
        if node.orelse and (kinds[1] or kinds[2]):
            node.orelse = self.guarded(kinds, node.orelse, False)
        else:
            node.orelse = self.block(node.orelse, False, at)

    def behind(self, orelse: list[Any], broken: Any, *, endless: bool) -> list[Any]:
        """What comes behind the loop.

        Args:
            orelse: what comes there where no path has broken out.
            broken: whether one has.
            endless: one has, then.
        """
        at = span_of(broken)
        late = self.late
        if endless and len(late) == self.breaks:  # one of them comes
            *late, (_, after) = late
        else:
            after = [if_(negated(broken, at), orelse, [], at)] if orelse else []
            if late and self.breaks == 1:
                return [if_(broken, late[0][1], orelse, at)]
        for flag, statements in reversed(late):
            assert flag is not None
            after = [if_(load(flag, at), statements, after, at)]
        return after


class _Ends:
    """What paths of one loop do right before they break out of it.

    Attributes:
        read: variables of which trips read what the trip before has left.
        local: other ones that trips bind.
        grown: variables and paths to which trips add items.
    """

    def __init__(self, node: Any, ctx: Context) -> None:
        self._flags = ctx.flags
        always = place(gast.While(constant(True, header(node)), node.body, []), header(node))
        self._uses = Uses()
        self.read = Liveness(EMPTY, self._uses).settled([always], EMPTY)
        if isinstance(node, gast.For):
            self.read -= bound_in([node.target])
        self.local = bound_in([node]) - self.read
        self.grown = _grown(node)

    def parted(self, done: list[Any]) -> tuple[list[Any], list[Any]]:
        """``done``, and apart the end of it that is better behind the loop.

        It assigns what trips read; what it reads of the trip's own it could not read there at no
        cost, and does so for a list only, which would be none in the trips.
        """
        for position, node in enumerate(done):
            changes = changes_in([node])
            grows = bool((changes.bound & self.read | changes.attributes) & self.grown)
            if not (grows or changes.bound & self.read) or self._is_flag(node):
                continue
            late = [each for each in done[position:] if not self._is_flag(each)]
            if grows or not self._needs(late) & self.local:
                flags = [each for each in done[position:] if self._is_flag(each)]
                return done[:position] + flags, late
        return done, []

    def _needs(self, statements: list[Any]) -> Set:
        return Liveness(EMPTY, self._uses).settled(statements, EMPTY)

    def _is_flag(self, node: Any) -> bool:
        """Whether it sets a flag of the pass ``returns``, for which the loop asks."""
        if not isinstance(node, gast.Assign):
            return False
        return isinstance(node.targets[0], gast.Name) and node.targets[0].id in self._flags


def _grown(loop: Any) -> Set:
    """The variables, and paths as ``self.xs``, to which the trips of ``loop`` add items."""
    found: set[Any] = set()
    for node in own_nodes(loop.body):
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute):
            if node.func.attr in MUTATORS:
                found.add(dotted(node.func.value))
        elif isinstance(node, gast.AugAssign | gast.Assign) and _is_list(node.value):
            target = node.target if isinstance(node, gast.AugAssign) else node.targets[0]
            found.add(dotted(target))
    return frozenset(found - {None})


def _is_list(value: Any) -> bool:
    """Whether an expression is a list, or one and something else."""
    if isinstance(value, gast.BinOp):
        return _is_list(value.left) or _is_list(value.right)
    return isinstance(value, gast.List | gast.ListComp)


def _ends_at_once(node: Any) -> bool:
    """Whether nothing happens between a ``break`` of a loop and what comes behind it.

    A generator is closed there.
    """
    if isinstance(node, gast.While):
        return True
    call = node.iter
    return (
        isinstance(call, gast.Call) and isinstance(call.func, gast.Name) and call.func.id == "range"
    )


def _is_true(test: Any) -> bool:
    return isinstance(test, gast.Constant) and bool(test.value)


def _count(statements: list[Any]) -> int:
    """How many ``break`` of the loop around them are in ``statements``."""
    count = 0
    for node in statements:
        blocks = [node.orelse] if isinstance(node, LOOPS) else blocks_of(node)
        count += isinstance(node, gast.Break) + sum(map(_count, blocks))
    return count


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
    loop = _Loop(node, ctx, _flag_of_returns(node, ctx))
    node.body = loop.block(node.body, True, at) or _pass(at)
    if loop.skipped is not None:
        node.body.insert(0, assign(loop.skipped, constant(False, at), at))
    before: list[Any] = []
    after: list[Any] = node.orelse
    node.orelse = []
    if loop.broken is not None:
        if loop.asks:  # it is so, but in a static loop the flag is what the last trip has left
            node.body.insert(0, assign(loop.broken, constant(False, at), at))
        flags = [flag for flag, _ in loop.late if flag is not None]
        before = [
            assign(name, constant(False, at), at)
            for name in (*([] if loop.given else [loop.broken]), *flags)
        ]
        broken = load(loop.broken, at)
        endless = isinstance(node, gast.While) and _is_true(node.test)
        if endless:
            node.test = negated(broken, at)
        else:
            stop = [place(gast.Break(), at)]
            node.body.append(if_(broken, stop, [], at))
        after = loop.behind(after, load(loop.broken, at), endless=endless)
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
