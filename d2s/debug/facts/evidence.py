"""What programs, and the notes of their captures, say of the user's lines."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location
from d2s.diagnostics.notes import Noted
from d2s.diagnostics.stacks import places_in_stack
from d2s.program.dispatch.entry import Entry
from d2s.program.islands.island import Island
from d2s.program.static_function import StaticFunction

Place = tuple[str, int]
"""A file and a line of it."""

HOST: Final = "py_op."
IF: Final = "pd_op.if"
WHILE: Final = "pd_op.while"


class Places:
    """Finds the user's lines of operations; the stacks of most are those of others, too."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Place, ...]] = {}

    def of(self, operation: Any) -> tuple[Place, ...]:
        """The lines on which the functions around an operation stood, the outermost first."""
        found = self._in(operation)
        if found or not operation.num_operands():
            return found
        maker = operation.operand_source(0).get_defining_op()  # some keep no stack
        return () if maker is None else self._in(maker)

    def _in(self, operation: Any) -> tuple[Place, ...]:
        stack = tuple(bridge.callstack(operation))
        if stack not in self._known:
            found: list[Location] = places_in_stack(stack)
            self._known[stack] = tuple((place.file, place.line) for place in found)
        return self._known[stack]


@dataclass
class LineEvidence:
    """What is known of one line.

    Attributes:
        operations: how many operations of the newest programs come of it, or of what it calls.
        makes: names of the operations of all programs that are its own.
        notes: what was noted there, by kind.
    """

    operations: int = 0
    makes: set[str] = field(default_factory=set)
    notes: dict[str, Noted] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A function with programs: the user's, or an island of it.

    Attributes:
        function: it, converted.
        island: the island that it is, if it is one.
        home: the user's function that it is an island of.
    """

    function: StaticFunction
    island: Island | None = None
    home: types.FunctionType | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Its programs, the oldest first."""
        return self.function.entries


class Evidence:
    """What is known of the lines of all functions that became part of programs.

    Args:
        parts: what has programs.
    """

    def __init__(self, parts: Iterable[Part]) -> None:
        self.lines: collections.defaultdict[Place, LineEvidence] = collections.defaultdict(
            LineEvidence
        )
        self.functions: dict[Place, types.FunctionType] = {}
        self.places = Places()
        for part in parts:
            for entry in part.entries:
                self._program(entry, newest=entry is part.entries[-1])
                self._notes(entry)

    def _program(self, entry: Entry, *, newest: bool) -> None:
        for operation in bridge.operations(entry.runner.captured.program):
            places = self.places.of(operation)
            if not places:
                continue
            self.lines[places[-1]].makes.add(_name(operation))
            if newest and bridge.computes(operation):
                for place in set(places):
                    self.lines[place].operations += 1

    def _notes(self, entry: Entry) -> None:
        notes = entry.runner.captured.notes
        for (file, line, kind), noted in notes.places.items():
            known = self.lines[file, line].notes.setdefault(kind, Noted())
            for value in noted.values or [0]:
                known.add(value, noted.text)
        for reference in notes.functions.values():
            function = reference()
            if function is not None:
                code = function.__code__
                self.functions.setdefault((code.co_filename, code.co_firstlineno), function)

    def at(self, file: str, line: int) -> LineEvidence:
        """What is known of one line; nothing of most."""
        return self.lines.get((file, line)) or LineEvidence()


def _name(operation: Any) -> str:
    """The name of an operation; those of ours have a number, which says nothing."""
    name = str(operation.name())
    return HOST if name.startswith(HOST) else name


def parts_of(function: StaticFunction) -> Iterator[Part]:
    """What has programs of a converted function: itself, or its islands and those of callees."""
    driver = function.driver
    if driver is None:
        yield Part(function)
        return
    driver.current()
    for each in filter(None, (driver, *driver.called().values())):
        for island in each.islands:
            for made in island.programs():
                for part in parts_of(made):
                    yield Part(part.function, island, each.function)
