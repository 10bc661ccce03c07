"""Turn ``match`` into ordinary tests where they say the same: a tensor may decide (rule B7).

Literals, dotted names, ``None``, classes without arguments, captures and alternatives of these are
tests of the subject; so are tuples of them where the subject is written as a tuple.

>>> show(PASS, '''
... def f(x, code, phase):
...     match code, phase:
...         case 0 | -1, Phase.WARM:
...             return x * 2
...         case paddle.Tensor() as shift, _ if shift > 3:
...             return x + shift
...         case other, _:
...             return x - other
... ''')
def f(x, code, phase):
    if (code == 0 or code == -1) and phase == Phase.WARM:
        return x * 2
    else:
        test = False
        if isinstance(code, paddle.Tensor):
            shift = code
            test = shift > 3
        if test:
            return x + shift
        else:
            other = code
            return x - other

Other patterns look into the subject and stay Python's.  A guard becomes an ``if`` inside, and so do
tests inside of the pattern that a tensor may decide; what follows runs when nothing has matched.

>>> show(PASS, '''
... def f(x, kind):
...     match kind:
...         case ["shift", 0, by] if by > x.min():
...             return x + by
...         case [_, *_]:
...             return x
... ''')
def f(x, kind):
    matched = False
    match d2s.subject(kind):
        case ['shift', item, item_2]:
            if item == 0:
                by = item_2
                if by > x.min():
                    matched = True
                    return x + by
    if not matched:
        match d2s.subject(kind):
            case [_, *_]:
                return x
"""

from __future__ import annotations

import builtins
import itertools
import types
from dataclasses import dataclass
from typing import Any, Final

import gast

from d2s.analysis.exits import looks_at_frame
from d2s.analysis.scopes import (
    captured_names,
    changes_in,
    dotted,
    local_names,
    own_nodes,
)
from d2s.errors import SyntaxNotSupportedError
from d2s.passes.base import (
    Context,
    Pass,
    ScopeTransformer,
    assign,
    constant,
    each_function,
    if_,
    load,
    negated,
)
from d2s.passes.patterns import Part, Patterns, Subject, Tests, is_capture, joined
from d2s.syntax.positions import Span, header, place, span_of

_MOST: Final = 64
"""Cases of a ``match`` that become tests: each is an ``if`` inside of the one before."""


@dataclass
class _Case:
    """One case; ``tests`` is ``None`` when its pattern stays Python's."""

    node: Any
    tests: Tests | None

    @property
    def at(self) -> Span:
        return span_of(self.node.pattern)


class _Matches(ScopeTransformer):
    """Converts each ``match`` of one function, inner ones first."""

    def __init__(self, ctx: Context, function: Any) -> None:
        super().__init__(ctx)
        self.locals_ = local_names(function)
        self.own = self.locals_ - captured_names(function)
        self.unsure = ctx.flow(function).unsure
        self.patterns = Patterns(ctx, lambda name: _is_builtin(name, self.locals_, ctx))

    def visit_Match(self, node: Any) -> Any:
        statements = self.converted(node)
        for statement in statements:
            self.refuse_tensors(statement)
        return statements

    def refuse_tensors(self, statement: Any) -> None:
        """A class pattern of Python's does not know a tensor of a program."""
        for pattern in gast.walk(statement):
            if isinstance(pattern, gast.MatchClass) and self.is_tensor_class(pattern.cls):
                raise SyntaxNotSupportedError(
                    "a pattern asks for a tensor inside of alternatives, or for its attributes",
                    cure="write each alternative as a case, and the attributes into its guard",
                    file=self.ctx.source.file,
                    line=pattern.lineno,
                )

    def is_tensor_class(self, node: Any) -> bool:
        root, *rest = (dotted(node) or "").split(".")
        found = None if root in self.locals_ else self.ctx.resolve(root)
        for part in rest:
            found = getattr(found, part, None) if isinstance(found, types.ModuleType) else None
        return (
            isinstance(found, type)
            and found.__name__ == "Tensor"
            and found.__module__.split(".")[0] == "paddle"
        )

    def converted(self, node: Any) -> list[Any]:
        self.generic_visit(node)
        if len(node.cases) > _MOST:
            return [self.asked(node)]
        at = header(node)
        before: list[Any] = []
        if self.tests(node, _nameless(node.subject)):
            tests = self.tests(node, self.bound(node.subject, node, before))
            return _read_first(node, [*before, *self.statements(_cases(node, tests), "", at, "")])
        if not any(
            case.guard is not None
            or self.patterns.decided(case.pattern)
            or (self.patterns.is_plain(case.pattern) and not _fits_all(case))
            for case in node.cases
        ):
            return [self.asked(node)]
        subject = self.bound(node.subject, node, before, whole=True)
        tests = [self.patterns.tests(case.pattern, subject) for case in node.cases]
        statements = self.statements(_cases(node, tests), subject.name, at, "")
        return _read_first(node, [*before, *statements])

    def tests(self, node: Any, subject: Subject) -> list[Tests | None]:
        """The patterns of ``node`` as tests of ``subject``; empty unless all of them can be."""
        found = [self.patterns.tests(case.pattern, subject) for case in node.cases]
        return [] if None in found else found

    # -- the subject -----------------------------------------------------------------------------

    def bound(self, node: Any, match: Any, before: list[Any], *, whole: bool = False) -> Any:
        """The variables of a subject; where there are none yet ``before`` sets them."""
        if _is_display(node) and not whole:
            return tuple(self.bound(item, match, before) for item in node.elts)
        if isinstance(node, gast.Name) and self.is_steady(node, match):
            return Part(node.id)
        name = self.ctx.names.fresh("subject")
        before.append(assign(name, node, span_of(node)))
        return Part(name)

    def is_steady(self, node: Any, match: Any) -> bool:
        """Whether a variable is surely bound, and stays as it is until a case is found."""
        asked = [match.subject, *(case.pattern for case in match.cases)]
        asked += [case.guard for case in match.cases if case.guard is not None]
        return (
            node.id in self.own
            and id(node) not in self.unsure
            and node.id not in changes_in(asked).bound
        )

    # -- the cases -------------------------------------------------------------------------------

    def statements(self, cases: list[_Case], subject: str, at: Span, flag: str) -> list[Any]:
        """What stands in the place of ``cases``.

        Args:
            cases: those that are left.
            subject: the variable of the subject, for patterns that stay Python's.
            at: the position of the ``match``.
            flag: a variable that is ``False`` here, if there is one; ``True`` ends the search.
        """
        if not cases:
            return []
        case, others = cases[0], cases[1:]
        if case.tests is None:
            return self.structures(cases, subject, at, flag)
        guard, body = case.node.guard, case.node.body
        test, bindings = case.tests.test(case.at), case.tests.bindings(case.at)
        if test is None and guard is None:
            return [*(bindings or [place(gast.Pass(), case.at)]), *body]
        before: list[Any] = []
        if guard is None:
            body = [*bindings, *body]
        elif test is None:
            before, test = bindings, guard
        elif not bindings:
            test = joined(gast.And(), [test, guard], case.at)
        else:
            name = self.ctx.names.fresh("test")
            guarded = [*bindings, assign(name, guard, header(guard))]
            before = [
                assign(name, constant(False, case.at), case.at),
                if_(test, guarded, [], case.at),
            ]
            test = load(name, case.at)
        return [*before, if_(test, body, self.statements(others, subject, at, flag), case.at)]

    def structures(self, cases: list[_Case], subject: str, at: Span, flag: str) -> list[Any]:
        """``cases`` of which the first has a pattern that stays Python's."""
        group = list(itertools.takewhile(self.stays, cases))
        if group:
            nodes = [case.node for case in group]
            rest = self.statements(cases[len(group) :], subject, at, flag)
            if rest:
                others = place(gast.MatchAs(None, None), at)
                nodes.append(gast.match_case(others, None, rest))
            return [place(gast.Match(self.looked_into(subject, at), nodes), at)]
        return self.guarded(cases[0], cases[1:], subject, at, flag)

    def asked(self, node: Any) -> Any:
        """A ``match`` that stays as it is, with a subject that must be one thing."""
        node.subject = self.ctx.expr(
            "d2s.subject(thing)", span_of(node.subject), thing=node.subject
        )
        return node

    def looked_into(self, subject: str, at: Span) -> Any:
        """The subject of a ``match`` of Python's, which must not be one of several things."""
        return self.ctx.expr("d2s.subject(thing)", at, thing=load(subject, at))

    def stays(self, case: _Case) -> bool:
        """Whether ``case`` can stay as it is, behind or before others in one ``match``."""
        if case.tests is not None:
            return _fits_all(case.node)
        return case.node.guard is None and not self.patterns.decided(case.node.pattern)

    def guarded(
        self, case: _Case, others: list[_Case], subject: str, at: Span, flag: str
    ) -> list[Any]:
        """A pattern that stays Python's, with tests that do not."""
        node = case.node
        before: list[Any] = []
        body = node.body
        rest: list[Any] = []
        if others:
            if not flag:
                flag = self.ctx.names.fresh("matched")
                before = [assign(flag, constant(False, at), at)]
            body = [assign(flag, constant(True, case.at), case.at), *body]
        if node.guard is not None:
            body = [if_(node.guard, body, [], header(node.guard))]
        moved = self.patterns.decided(node.pattern)
        if moved:
            tests = Tests()
            node.pattern = self.patterns.renamed(node.pattern, moved, tests)
            body = [if_(tests.test(case.at), [*tests.bindings(case.at), *body], [], case.at)]
        one = gast.match_case(node.pattern, None, body)
        if others:
            test = negated(load(flag, at), at)
            rest = [if_(test, self.statements(others, subject, at, flag), [], at)]
        return [*before, place(gast.Match(self.looked_into(subject, at), [one]), at), *rest]


def _read_first(node: Any, statements: list[Any]) -> list[Any]:
    """``statements`` with the first read of the subject on the line of the ``match``."""
    names = {item.id for item in own_nodes(node.subject) if isinstance(item, gast.Name)}
    reads = (item for item in own_nodes(statements) if isinstance(item, gast.Name))
    first = next((item for item in reads if item.id in names), None)
    if first is not None and _is_inside(span_of(first), span_of(node.cases[0].pattern)):
        place(first, header(node), force=True)
    return statements


def _is_inside(one: Span, other: Span) -> bool:
    return (other.line, other.column) <= (one.line, one.column) and (
        one.end_line,
        one.end_column,
    ) <= (other.end_line, other.end_column)


def _cases(node: Any, tests: list[Tests | None]) -> list[_Case]:
    return [_Case(case, found) for case, found in zip(node.cases, tests, strict=True)]


def _fits_all(case: Any) -> bool:
    """Whether ``case`` fits whatever the subject is."""
    return case.guard is None and is_capture(case.pattern)


def _is_display(node: Any) -> bool:
    return isinstance(node, gast.Tuple) and not any(
        isinstance(item, gast.Starred) for item in node.elts
    )


def _nameless(node: Any, place: str = "") -> Subject:
    """The shape of a subject, before it has variables."""
    if not _is_display(node):
        return Part(place)
    return tuple(_nameless(item, f"{place}.{index}") for index, item in enumerate(node.elts))


def _is_builtin(name: str, locals_: frozenset[str], ctx: Context) -> bool:
    """Whether ``name`` means the built-in of that name, as far as can be known now."""
    found = ctx.resolve(name)
    return name not in locals_ and (found is None or found is getattr(builtins, name, None))


def _lower(function: Any, ctx: Context) -> None:
    if not any(looks_at_frame(node) for node in own_nodes(function.body)):
        function.body = _Matches(ctx, function).block(function.body)


PASS = Pass(
    "matches",
    each_function(_lower),
    about=(gast.Match,),
    makes=(gast.If, gast.BoolOp, gast.Compare, gast.Not),
)
