"""Which variables are live, and which may be unbound: two walks over the structured tree.

Liveness is the classic backward analysis; it decides what a branch or loop hands on (rules B1
and C2: only what is assigned there *and* read afterwards).  Definite assignment is the forward
one; it decides which reads must be checked (rules B2 and C3).

Both run on trees whose jumps have been lowered, but are right for ``break``, ``continue`` and
``return`` as well, which remain in code that stays Python.

A loop is walked with what is known of its head so far, and the whole function again until nothing
is added: the second time finds nothing new, so that nests cost what their text costs.

Source: Aho, Lam, Sethi, Ullman, *Compilers*, 2nd ed., 9.2.5 (live variables), restated for
structured programs, so that no control-flow graph is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis import scopes
from d2s.analysis.walk import SCOPES, children, walk

Set = frozenset[str]
EMPTY: Set = frozenset()

_ASSIGNING: Final = (gast.Assign, gast.Expr, gast.AugAssign)
"""What nearly all statements are."""


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


@dataclass(frozen=True)
class _Use:
    """What a simple statement or an expression reads and binds.

    Attributes:
        reads: variables that it reads, in nested scopes too.
        loads: the ``Name`` nodes that read in its own scope.
        bound: what it surely binds.
        walrus: the part of that which ``:=`` binds.
    """

    reads: Set
    loads: tuple[Any, ...]
    bound: Set
    walrus: Set = EMPTY


_SIMPLE: Final = frozenset(
    (
        gast.Assert, gast.Assign, gast.Attribute, gast.BinOp, gast.BoolOp, gast.Call, gast.Compare,
        gast.Constant, gast.Dict, gast.Expr, gast.FormattedValue, gast.IfExp, gast.JoinedStr,
        gast.List, gast.Pass, gast.Raise, gast.Return, gast.Set, gast.Slice, gast.Starred,
        gast.Subscript, gast.Tuple, gast.UnaryOp, gast.keyword,
    )
)  # fmt: skip
"""Nodes that open no scope and bind nothing but the names below them."""


class _Uses:
    """What each statement and expression of one function uses, found out once."""

    def __init__(self) -> None:
        self._known: dict[int, _Use] = {}

    def of(self, tree: Any) -> _Use:
        found = self._known.get(id(tree))
        if found is None:
            found = self._known[id(tree)] = _plain_use(tree) or _any_use(tree)
        return found


def _plain_use(tree: Any) -> _Use | None:
    """What ``tree`` uses, if nothing in it opens a scope, and no ``:=`` is in it."""
    reads: set[str] = set()
    bound: set[str] = set()
    loads: list[Any] = []
    for node in walk(tree):
        kind = node.__class__
        if kind is gast.Name:
            if node.ctx.__class__ is gast.Load:
                reads.add(node.id)
                loads.append(node)
            else:
                bound.add(node.id)
        elif kind is gast.AugAssign:
            if isinstance(node.target, gast.Name):
                reads.add(node.target.id)
        elif kind not in _SIMPLE:
            return None
    return _Use(frozenset(reads), tuple(loads), frozenset(bound))


def _any_use(tree: Any) -> _Use:
    nodes = list(scopes.own_nodes(tree))
    loads = [
        node for node in nodes if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load)
    ]
    walrus = _walrus(tree)
    unsure = frozenset(n.target.id for n in nodes if isinstance(n, gast.NamedExpr)) - walrus
    return _Use(scopes.reads_in(tree), tuple(loads), _bound([tree]) - unsure, walrus)


@dataclass
class _Liveness:
    """State of the backward walk; ``after`` and ``entering`` grow monotonically.

    ``grown`` tells whether the head of a loop has turned out to be more than was known.
    """

    always: Set
    uses: _Uses
    after: dict[int, Set] = field(default_factory=dict)
    entering: dict[int, Set] = field(default_factory=dict)
    grown: bool = False

    def function(self, statements: list[Any]) -> None:
        self.block(statements, self.always, (EMPTY, EMPTY), EMPTY)
        while self.grown:
            self.grown = False
            self.block(statements, self.always, (EMPTY, EMPTY), EMPTY)

    def reads(self, tree: Any) -> Set:
        return self.uses.of(tree).reads

    def block(self, statements: list[Any], out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        for statement in reversed(statements):
            out = self.statement(statement, out, loop, extra)
            if extra:
                out |= extra
        return out

    def statement(self, node: Any, out: Set, loop: tuple[Set, Set], extra: Set) -> Set:
        if self.always:
            out |= self.always
        if extra:
            out |= extra  # an exception may leave it anywhere
        known = self.after.get(id(node))
        self.after[id(node)] = out if known is None else known | out
        if isinstance(node, _ASSIGNING):
            use = self.uses.of(node)
            return use.reads | (out - use.bound)
        if isinstance(node, gast.If):
            body = self.block(node.body, out, loop, extra)
            orelse = self.block(node.orelse, out, loop, extra)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | body | orelse
            test = self.uses.of(node.test)
            return test.reads | ((body | orelse) - test.walrus)
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
                guard = EMPTY if case.guard is None else self.reads(case.guard)
                body = self.block(case.body, out, loop, extra)
                inner |= (guard | body) - _bound([case.pattern])
                inner |= scopes.reads_in(case.pattern)
            self.entering[id(node)] = self.entering.get(id(node), EMPTY) | inner
            return self.reads(node.subject) | inner
        if isinstance(node, gast.Return):
            return self.always | (EMPTY if node.value is None else self.reads(node.value))
        if isinstance(node, gast.Raise):
            return self.always | extra | self.reads(node)
        if isinstance(node, gast.Break):
            return loop[0]
        if isinstance(node, gast.Continue):
            return loop[1]
        use = self.uses.of(node)
        if isinstance(node, gast.Delete):  # what is unbound has to be bound
            return use.reads | out | _bound([node])
        return use.reads | (out - use.bound)

    def loop(self, node: Any, out: Set, outer: tuple[Set, Set], extra: Set) -> Set:
        after = self.block(node.orelse, out, outer, extra) if node.orelse else out
        bound: Set = EMPTY
        if isinstance(node, gast.While):
            head_reads = self.reads(node.test)
        else:
            head_reads = EMPTY
            bound = _bound([node.target])
        head = self.entering.get(id(node), EMPTY) | after | head_reads
        body = self.block(node.body, head, (out, head), extra)
        added = body - bound - head
        if added:
            self.grown = True
            head |= added
        self.entering[id(node)] = head
        if isinstance(node, gast.While):
            return head
        return head | self.reads(node.iter)

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
    uses: _Uses
    unsure: set[int] = field(default_factory=set)

    def read(self, tree: Any, bound: Set) -> None:
        for node in self.uses.of(tree).loads:
            if node.id not in bound and node.id in self.locals_:
                self.unsure.add(id(node))

    def block(self, statements: list[Any], bound: Set | None, breaks: list[Set]) -> Set | None:
        for statement in statements:
            bound = self.statement(statement, bound, breaks)
        return bound

    def statement(self, node: Any, bound: Set | None, breaks: list[Set]) -> Set | None:
        if bound is None:
            return None
        if isinstance(node, _ASSIGNING):
            self.read(node, bound)
            return bound | self.uses.of(node).bound
        if isinstance(node, gast.If):
            self.read(node.test, bound)
            bound |= self.uses.of(node.test).walrus
            return _meet(
                self.block(node.body, bound, breaks), self.block(node.orelse, bound, breaks)
            )
        if isinstance(node, gast.While):
            bound -= _deleted(node.body)
            self.read(node.test, bound)
            inner = bound | self.uses.of(node.test).walrus
            out: list[Set] = []
            self.block(node.body, inner, out)
            endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
            after = None if endless else self.block(node.orelse, inner, breaks)
            for state in out:
                after = _meet(after, state)
            return after
        if isinstance(node, gast.For | gast.AsyncFor):
            self.read(node.iter, bound)
            bound -= _deleted(node.body)
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
            for target in node.targets:
                if isinstance(target, gast.Name) and target.id not in bound:
                    self.unsure.add(id(target))
            return bound - _bound([node])
        return bound | self.uses.of(node).bound


def _deleted(statements: list[Any]) -> Set:
    """The variables that some trip of a loop may leave unbound."""
    return frozenset(
        target.id
        for node in scopes.own_nodes(statements)
        if isinstance(node, gast.Delete)
        for target in node.targets
        if isinstance(target, gast.Name)
    )


def _irrefutable(case: Any) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, gast.MatchAs) and pattern.pattern is None


def _meet(left: Set | None, right: Set | None) -> Set | None:
    if left is None:
        return right
    if right is None:
        return left
    return left & right


class _Recorded(_Binding):
    """The forward walk, which remembers what is bound where each statement begins."""

    def __init__(self, locals_: Set) -> None:
        super().__init__(locals_, _Uses())
        self.before: dict[int, Set] = {}

    def statement(self, node: Any, bound: Set | None, breaks: list[Set]) -> Set | None:
        if bound is not None:
            known = self.before.get(id(node))
            self.before[id(node)] = bound if known is None else known & bound
        return super().statement(node, bound, breaks)


class Boundaries:
    """What crosses the boundaries of stretches of statements, where they become functions.

    Args:
        function: the gast ``FunctionDef`` that the statements belong to.

    >>> import gast
    >>> tree = gast.parse('''
    ... def f(x, n):
    ...     y = x * n
    ...     z = y + 1
    ...     return z
    ... ''').body[0]
    >>> bounds, first = Boundaries(tree), tree.body[:2]
    >>> sorted(bounds.reads(first)), sorted(bounds.gives(first)), bounds.unsure(first)
    (['n', 'x'], ['z'], frozenset())
    """

    def __init__(self, function: Any) -> None:
        self.flow = flow_of(function)
        self._recorded = _Recorded(self.flow.locals_)
        self._recorded.block(function.body, frozenset(scopes.parameters(function)), [])
        self._uses = _Uses()

    def reached(self, stretch: list[Any]) -> bool:
        """Whether control comes to ``stretch``."""
        return id(stretch[0]) in self._recorded.before

    def gives(self, stretch: list[Any]) -> Set:
        """The variables that ``stretch`` binds and that are read behind it."""
        after = self.flow.after.get(id(stretch[-1]), EMPTY)
        return _bound(stretch) & after & self.flow.locals_

    def reads(self, stretch: list[Any]) -> Set:
        """The variables whose values on entry to ``stretch`` matter."""
        liveness = _Liveness(EMPTY, self._uses)
        gives = self.gives(stretch)
        live = liveness.block(stretch, gives, (EMPTY, EMPTY), EMPTY)
        while liveness.grown:
            liveness.grown = False
            live = liveness.block(stretch, gives, (EMPTY, EMPTY), EMPTY)
        return live & self.flow.locals_

    def unsure(self, stretch: list[Any]) -> Set:
        """Those of :meth:`reads` and :meth:`gives` that may be unbound where they are needed."""
        before = self._recorded.before[id(stretch[0])]
        after = _Binding(self.flow.locals_, self._uses).block(stretch, before, [])
        unsure = self.reads(stretch) - before
        return unsure if after is None else unsure | self.gives(stretch) - after


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
    globals_ = scopes.declared(function, gast.Global)
    outside = globals_ | scopes.declared(function, gast.Nonlocal)
    nodes = list(scopes.own_nodes(function.body))
    locals_ = (frozenset(scopes.parameters(function)) | scopes.changes_of(nodes).bound) - outside
    later = EMPTY.union(*[scopes.reads_in(n) for n in nodes if n.__class__ in scopes.CAPTURING])
    captured = later & locals_
    always = captured | outside
    reads = {n.id for n in nodes if n.__class__ is gast.Name and n.ctx.__class__ is gast.Load}
    if (later | outside | reads) & _SEES_ALL:
        always |= locals_
    uses = _Uses()
    liveness = _Liveness(always, uses)
    liveness.function(function.body)
    binding = _Binding(locals_, uses)
    binding.block(function.body, frozenset(scopes.parameters(function)), [])
    return Flow(
        function,
        liveness.after,
        liveness.entering,
        frozenset(binding.unsure),
        captured,
        locals_,
        globals_,
    )
