"""The patterns of ``match`` as ordinary tests of variables.

Literals, dotted names, ``None``, classes without arguments, captures and alternatives of these are
tests; so are tuples of them where the subject is written as a tuple.  Of other patterns those parts
that a tensor may decide can be taken out and tested behind the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.passes.base import (
    Context,
    assign,
    constant,
    load,
)
from d2s.syntax.positions import Span, place, span_of

_SELVES: Final = frozenset(
    "bool bytearray bytes dict float frozenset int list set str tuple".split()  # noqa: SIM905
)
"""Classes whose one positional pattern is matched by the subject itself (PEP 634)."""


_STRUCTURES: Final = (gast.MatchSequence, gast.MatchMapping, gast.MatchClass)


@dataclass(frozen=True)
class Part:
    """What reads a subject, or one item of it: a variable."""

    name: str


Subject = Part | tuple["Subject", ...]
"""A subject that is written as a tuple is known by its items."""


@dataclass
class Tests:
    """A pattern as tests that must hold, and the variables that get (parts of) the subject."""

    tests: list[Any] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def test(self, at: Span) -> Any | None:
        """All tests as one expression; ``None`` when there is nothing to test."""
        return joined(gast.And(), self.tests, at) if self.tests else None

    def bindings(self, at: Span) -> list[Any]:
        return [assign(name, load(part, at), at) for name, part in self.names.items()]


def joined(operator: Any, parts: list[Any], at: Span) -> Any:
    """``parts`` under one operator; one part as it is."""
    return parts[0] if len(parts) == 1 else place(gast.BoolOp(operator, parts), at)


class Patterns:
    """Says patterns as tests; ``builtin`` tells whether a name means the built-in."""

    def __init__(self, ctx: Context, builtin: Callable[[str], bool]) -> None:
        self.ctx = ctx
        self.builtin = builtin

    def tests(self, pattern: Any, subject: Subject) -> Tests | None:
        """``pattern`` as tests of ``subject``; ``None`` when they would not say the same."""
        at = span_of(pattern)
        if isinstance(pattern, gast.MatchAs):
            found = Tests() if pattern.pattern is None else self.tests(pattern.pattern, subject)
            if pattern.name is None or found is None:
                return found
            if not isinstance(subject, Part):
                return None  # the tuple itself is wanted
            found.names[pattern.name] = subject.name
            return found
        if isinstance(pattern, gast.MatchOr):
            return self.alternatives(pattern, subject)
        if not isinstance(subject, Part):
            return self.items(pattern, subject)
        thing = load(subject.name, at)
        if isinstance(pattern, gast.MatchValue):
            return Tests([place(gast.Compare(thing, [gast.Eq()], [pattern.value]), at)])
        if isinstance(pattern, gast.MatchSingleton):
            right = constant(pattern.value, at)
            return Tests([place(gast.Compare(thing, [gast.Is()], [right]), at)])
        if isinstance(pattern, gast.MatchClass):
            return self.class_(pattern, subject, at)
        return None

    def alternatives(self, pattern: Any, subject: Subject) -> Tests | None:
        at = span_of(pattern)
        result = Tests()
        for item in pattern.patterns:
            found = self.tests(item, subject)
            if found is None or not found.tests:
                return None
            if result.tests and result.names != found.names:
                return None  # one name for several parts of the subject
            result.tests.append(found.test(at))
            result.names = found.names
        return Tests([joined(gast.Or(), result.tests, at)], result.names)

    def items(self, pattern: Any, subject: tuple[Subject, ...]) -> Tests | None:
        if not isinstance(pattern, gast.MatchSequence) or len(pattern.patterns) != len(subject):
            return None
        result = Tests()
        for item, part in zip(pattern.patterns, subject, strict=True):
            found = self.tests(item, part)
            if found is None:
                return None
            result.tests += found.tests
            result.names |= found.names
        return result

    def class_(self, pattern: Any, subject: Part, at: Span) -> Tests | None:
        if not self.builtin("isinstance") or pattern.kwd_attrs or len(pattern.patterns) > 1:
            return None
        inner: Tests | None = Tests()
        if pattern.patterns:
            if not (isinstance(pattern.cls, gast.Name) and self.builtin(pattern.cls.id)):
                return None
            if pattern.cls.id not in _SELVES:
                return None
            inner = self.tests(pattern.patterns[0], subject)
        if inner is None:
            return None
        test = self.ctx.expr(
            "isinstance(thing, cls)", at, thing=load(subject.name, at), cls=pattern.cls
        )
        return Tests([test, *inner.tests], inner.names)

    def decided(self, pattern: Any) -> frozenset[int]:
        """Parts of ``pattern`` to take out of it: the first that a tensor may decide, and the rest.

        There are none when something that cannot be taken out is looked at after the first; what
        asks for a class only may be asked later.
        """
        leaves = list(self.leaves(pattern))
        first = next((i for i, leaf in enumerate(leaves) if self.may_be_decided(leaf)), None)
        rest = [] if first is None else leaves[first:]
        moved = [leaf for leaf in rest if self.is_plain(leaf)]
        staying = [leaf for leaf in rest if not self.is_plain(leaf)]
        if not all(isinstance(leaf, gast.MatchStar) for leaf in staying) and not (
            all(isinstance(leaf, gast.MatchStar | gast.MatchSequence) for leaf in staying)
            and all(_asks_class(leaf) or is_capture(leaf) for leaf in moved)
        ):
            return frozenset()
        return frozenset(map(id, moved))

    def is_plain(self, pattern: Any) -> bool:
        """Whether ``pattern`` is nothing but tests of one subject."""
        return self.tests(pattern, Part("")) is not None

    def leaves(self, pattern: Any) -> Iterator[Any]:
        """The parts of ``pattern`` in the order in which Python looks at them."""
        if isinstance(pattern, gast.MatchAs) and not self.is_plain(pattern):
            yield from self.leaves(pattern.pattern)
            return
        yield pattern
        if isinstance(pattern, _STRUCTURES) and not self.is_plain(pattern):
            for item in [*pattern.patterns, *getattr(pattern, "kwd_patterns", ())]:
                yield from self.leaves(item)

    def may_be_decided(self, leaf: Any) -> bool:
        """Whether ``leaf`` compares with a number, a name or ``None``, or asks for a class."""
        return self.is_plain(leaf) and any(
            isinstance(part, gast.MatchClass | gast.MatchSingleton)
            or (isinstance(part, gast.MatchValue) and not _is_text(part.value))
            for part in gast.walk(leaf)
        )

    def renamed(self, pattern: Any, moved: frozenset[int], result: Tests) -> Any:
        """A copy of ``pattern`` that binds fresh variables only; ``result`` takes the rest."""
        at = span_of(pattern)
        fresh = self.ctx.names.fresh

        def inner(item: Any) -> Any:
            return self.renamed(item, moved, result)

        if id(pattern) in moved:
            if is_capture(pattern) and not pattern.name:
                return pattern
            name = fresh("item")
            found = self.tests(pattern, Part(name))
            assert found is not None  # it was asked before
            result.tests += found.tests
            result.names |= found.names
            return place(gast.MatchAs(None, name), at)
        if isinstance(pattern, gast.MatchStar | gast.MatchAs) and pattern.name:
            name = fresh("item")
            result.names[pattern.name] = name
            if isinstance(pattern, gast.MatchStar):
                return place(gast.MatchStar(name), at)
            below = None if pattern.pattern is None else inner(pattern.pattern)
            return place(gast.MatchAs(below, name), at)
        if isinstance(pattern, gast.MatchSequence):
            return place(gast.MatchSequence([inner(item) for item in pattern.patterns]), at)
        if isinstance(pattern, gast.MatchMapping):
            rest = pattern.rest and fresh("item")
            values = [inner(item) for item in pattern.patterns]
            if rest:
                result.names[pattern.rest] = rest
            return place(gast.MatchMapping(pattern.keys, values, rest), at)
        if isinstance(pattern, gast.MatchClass) and not self.is_plain(pattern):
            positional = [inner(item) for item in pattern.patterns]
            named = [inner(item) for item in pattern.kwd_patterns]
            return place(gast.MatchClass(pattern.cls, positional, pattern.kwd_attrs, named), at)
        return pattern


def _asks_class(pattern: Any) -> bool:
    """Whether ``pattern`` is a class without arguments, or alternatives of such."""
    if isinstance(pattern, gast.MatchAs) and pattern.pattern is not None:
        return _asks_class(pattern.pattern)
    if isinstance(pattern, gast.MatchOr):
        return all(map(_asks_class, pattern.patterns))
    return isinstance(pattern, gast.MatchClass) and not pattern.patterns


def _is_text(value: Any) -> bool:
    return isinstance(value, gast.Constant) and isinstance(value.value, str | bytes)


def is_capture(pattern: Any) -> bool:
    """Whether ``pattern`` fits whatever the subject is."""
    return isinstance(pattern, gast.MatchAs) and pattern.pattern is None
