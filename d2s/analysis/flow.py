"""Which variables are live, and which may be unbound: two walks over the structured tree.

Liveness is the classic backward analysis; it decides what a branch or loop hands on (rules B1
and C2: only what is assigned there *and* read afterwards).  Definite assignment is the forward
one; it decides which reads must be checked (rules B2 and C3).

Both run on trees whose jumps have been lowered, but are right for ``break``, ``continue`` and
``return`` as well, which remain in code that stays Python.

Source: Aho, Lam, Sethi, Ullman, *Compilers*, 2nd ed., 9.2.5 (live variables), restated for
structured programs, so that no control-flow graph is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

from d2s.analysis import scopes
from d2s.analysis.walk import SCOPES, children

Set = frozenset[str]
EMPTY: Set = frozenset()


@dataclass(frozen=True)
class Flow:
    """The facts of one function; keys are ``id(node)`` of nodes that ``root`` keeps alive.

    Attributes:
        root: the function that was looked at.
        after: variables live after an ``if``, loop or other compound statement.
        entering: variables whose value on entry to a branch body or loop body matters.
        unsure: ``id`` of each ``Name`` that is read where it may be unbound.
        captured: variables that nested functions may read at any time.
        locals_: the function's own variables.
        globals_: names that it declares ``global``.
    """

    root: Any
    after: dict[int, Set]
    entering: dict[int, Set]
    unsure: frozenset[int]
    captured: Set
    locals_: Set
    globals_: Set


@dataclass
class _Liveness:
    """State of the backward walk; ``after`` and ``entering`` grow monotonically."""

    always: Set
    after: dict[int, Set] = field(default_factory=dict)
    entering: dict[int, Set] = field(default_factory=dict)

    def block(self, statements: list[Any], out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        for statement in reversed(statements):
            out = self.statement(statement, out, loop, extra) | extra
        return out

    def statement(self, node: Any, out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        out = out | self.always | extra  # an exception may leave it anywhere
        self.after[id(node)] = self.after.get(id(node), EMPTY) | out
        if isinstance(node, gast.If):
            body = self.block(node.body, out, loop, extra)
            orelse = self.block(node.orelse, out, loop, extra)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | body | orelse
            return scopes.reads_in(node.test) | (body | orelse) - _walrus(node.test)
        if isinstance(node, gast.While | gast.For | gast.AsyncFor):
            return self.loop(node, out, loop, extra)
        if isinstance(node, gast.Try | gast.TryStar):
            return self.try_(node, out, loop, extra)
        if isinstance(node, gast.With | gast.AsyncWith):
            # A context manager may swallow an exception: what is live after is live all along.
            inner = self.block(node.body, out, loop, extra | out)
            return scopes.reads_in(node.items) | inner - _bound(
                [item.optional_vars for item in node.items if item.optional_vars is not None]
            )
        if isinstance(node, gast.Match):
            inner = out
            for case in node.cases:
                guard = EMPTY if case.guard is None else scopes.reads_in(case.guard)
                body = self.block(case.body, out, loop, extra)
                inner |= (guard | body) - _bound([case.pattern])
                inner |= scopes.reads_in(case.pattern)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | inner
            return scopes.reads_in(node.subject) | inner
        if isinstance(node, gast.Return):
            return self.always | (EMPTY if node.value is None else scopes.reads_in(node.value))
        if isinstance(node, gast.Raise):
            return self.always | extra | scopes.reads_in(node)
        if isinstance(node, gast.Break):
            return loop[0]
        if isinstance(node, gast.Continue):
            return loop[1]
        if isinstance(node, gast.Delete):  # what is unbound has to be bound
            return scopes.reads_in(node) | out | _bound([node])
        return scopes.reads_in(node) | out - _surely_bound(node)

    def loop(self, node: Any, out: Set, outer: tuple[Set, Set], extra: Set) -> Set:
        after = self.block(node.orelse, out, outer, extra) if node.orelse else out
        bound: Set = EMPTY
        if isinstance(node, gast.While):
            head_reads = scopes.reads_in(node.test)
        else:
            head_reads = EMPTY
            bound = _bound([node.target])
        head = after | head_reads
        while True:
            body = self.block(node.body, head, (out, head), extra)
            grown = head | body - bound
            if grown == head:
                break
            head = grown
        self.entering[id(node)] = self.entering.get(id(node), EMPTY) | head
        if isinstance(node, gast.While):
            return head
        return head | scopes.reads_in(node.iter)

    def try_(self, node: Any, out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        final = self.block(node.finalbody, out, loop, extra) if node.finalbody else out
        leave = loop
        if node.finalbody:
            leave = (loop[0] | final, loop[1] | final)
            extra = extra | final
        handlers: Set = EMPTY
        for handler in node.handlers:
            inner = self.block(handler.body, final, leave, extra)
            handlers |= inner - _handler_name(handler)
            if handler.type is not None:
                handlers |= scopes.reads_in(handler.type)
        orelse = self.block(node.orelse, final, leave, extra) if node.orelse else final
        # An exception may come between any two statements of the body.
        return self.block(node.body, orelse, leave, extra | handlers) | handlers


def _walrus(test: Any) -> Set:
    """Names that ``test`` surely binds: a walrus where evaluation always comes by."""
    found: set[str] = set()
    stack = [test]
    while stack:
        node = stack.pop()
        if isinstance(node, gast.NamedExpr):
            found.add(node.target.id)
        if isinstance(node, gast.BoolOp):
            stack.append(node.values[0])
        elif isinstance(node, gast.IfExp):
            stack.append(node.test)
        elif isinstance(node, gast.Compare):
            stack.extend([node.left, node.comparators[0]])
        elif not isinstance(node, (*SCOPES, *scopes.COMPREHENSIONS)):
            stack += children(node)
    return frozenset(found)


def _surely_bound(statement: Any) -> Set:
    """What a simple ``statement`` binds, without a walrus that evaluation may pass by."""
    walrus = (n.target.id for n in scopes.own_nodes(statement) if isinstance(n, gast.NamedExpr))
    return _bound([statement]) - (frozenset(walrus) - _walrus(statement))


def _handler_name(handler: Any) -> Set:
    """The name that an ``except ... as`` binds; gast keeps it as a ``Name``."""
    name = getattr(handler.name, "id", handler.name)
    return EMPTY if name is None else frozenset({name})


def _bound(nodes: list[Any]) -> Set:
    return scopes.changes_in(nodes).bound


@dataclass
class _Binding:
    """State of the forward walk.  A set of ``None`` stands for code that is never reached."""

    locals_: Set
    unsure: set[int] = field(default_factory=set)

    def read(self, tree: Any, bound: Set | None) -> None:
        if bound is None:
            return
        for node in scopes.own_nodes(tree):
            if (
                isinstance(node, gast.Name)
                and isinstance(node.ctx, gast.Load)
                and node.id in self.locals_
                and node.id not in bound
            ):
                self.unsure.add(id(node))

    def block(self, statements: list[Any], bound: Set | None, breaks: list[Set]) -> Set | None:
        for statement in statements:
            bound = self.statement(statement, bound, breaks)
        return bound

    def statement(self, node: Any, bound: Set | None, breaks: list[Set]) -> Set | None:
        if bound is None:
            return None
        if isinstance(node, gast.If):
            self.read(node.test, bound)
            bound |= _walrus(node.test)
            return _meet(
                self.block(node.body, bound, breaks), self.block(node.orelse, bound, breaks)
            )
        if isinstance(node, gast.While):
            self.read(node.test, bound)
            inner = bound | _walrus(node.test)
            out: list[Set] = []
            self.block(node.body, inner, out)
            endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
            after = None if endless else self.block(node.orelse, inner, breaks)
            for state in out:
                after = _meet(after, state)
            return after
        if isinstance(node, gast.For | gast.AsyncFor):
            self.read(node.iter, bound)
            out = []
            self.block(node.body, bound | _bound([node.target]), out)
            after = self.block(node.orelse, bound, breaks)
            for state in out:
                after = _meet(after, state)
            return after
        if isinstance(node, gast.With | gast.AsyncWith):
            for item in node.items:
                self.read(item.context_expr, bound)
                if item.optional_vars is not None:
                    bound |= _bound([item.optional_vars])
            return self.block(node.body, bound, breaks)
        if isinstance(node, gast.Try | gast.TryStar):
            normal = self.block([*node.body, *node.orelse], bound, breaks)
            results = [normal]
            for handler in node.handlers:
                start = bound | _handler_name(handler)
                end = self.block(handler.body, start, breaks)
                if end is not None:
                    end -= _handler_name(handler)
                results.append(end)
            after = results[0]
            for result in results[1:]:
                after = _meet(after, result)
            if node.finalbody:
                self.block(node.finalbody, bound, breaks)
                if after is not None:
                    after |= _bound(node.finalbody)
            return after
        if isinstance(node, gast.Match):
            self.read(node.subject, bound)
            after = bound
            results = [bound]
            for case in node.cases:
                inner = bound | _bound([case.pattern])
                if case.guard is not None:
                    self.read(case.guard, inner)
                results.append(self.block(case.body, inner, breaks))
                if _irrefutable(case):
                    results = results[1:]
                    break
            after = results[0]
            for result in results[1:]:
                after = _meet(after, result)
            return after
        if isinstance(node, gast.Break):
            breaks.append(bound)
            return None
        self.read(node, bound)
        if isinstance(node, gast.Return | gast.Raise | gast.Continue):
            return None
        if isinstance(node, gast.Delete):
            return bound - _bound([node])
        return bound | _surely_bound(node)


def _irrefutable(case: Any) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, gast.MatchAs) and pattern.pattern is None


def _meet(left: Set | None, right: Set | None) -> Set | None:
    if left is None:
        return right
    if right is None:
        return left
    return left & right


_SEES_ALL = frozenset({"locals", "vars", "eval", "exec", "dir"})


def flow_of(function: Any) -> Flow:
    """The flow facts of one gast ``FunctionDef`` (nested functions are looked at on their own).

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x):
    ...     if x > 0:
    ...         t = x * 2
    ...         y = t
    ...     return y
    ... ''').body[0]
    >>> flow = flow_of(tree)
    >>> sorted(flow.after[id(tree.body[0])]), len(flow.unsure)
    (['y'], 1)
    """
    locals_ = scopes.local_names(function)
    captured = scopes.captured_names(function) & locals_
    outside = scopes.declared(function, gast.Global | gast.Nonlocal)
    always = captured | outside
    if scopes.reads_in(function.body) & _SEES_ALL:
        always |= locals_
    liveness = _Liveness(always)
    liveness.block(function.body, always, (EMPTY, EMPTY), EMPTY)
    binding = _Binding(locals_)
    binding.block(function.body, frozenset(scopes.parameters(function)), [])
    return Flow(
        function,
        liveness.after,
        liveness.entering,
        frozenset(binding.unsure),
        captured,
        locals_,
        scopes.declared(function, gast.Global),
    )
