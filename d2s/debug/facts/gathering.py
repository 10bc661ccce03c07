"""Everything that is known of a function, gathered: the one place that asks the runtime for it."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final

from d2s.api import plain_function
from d2s.debug.facts import hints
from d2s.debug.facts.constructs import SKIPPED, fates_in
from d2s.debug.facts.evidence import Evidence, Part, parts_of
from d2s.debug.facts.explanation import Explanation
from d2s.debug.facts.flow import Key, flow_of
from d2s.debug.facts.measuring import Session
from d2s.debug.facts.model import Callee, ProgramFacts
from d2s.errors import D2SError, NoSourceError, SyntaxNotSupportedError
from d2s.markup.code import keys_of
from d2s.markup.listing import Fate, Generated, Hint, Line, Listing, hints_at, own_lines
from d2s.paddle_bridge import size_of
from d2s.program.dispatch.entry import Entry
from d2s.program.dispatch.options import is_whole
from d2s.program.islands.breaks import Break, breaks_of
from d2s.program.islands.driver import Driver
from d2s.program.islands.island import Island
from d2s.program.islands.listing import rewritten
from d2s.program.keys.callables import written
from d2s.program.static_function import StaticFunction
from d2s.runtime.values.objects import is_library
from d2s.syntax.source import source_of

OUTSIDE: Final = Fate("outside", "Python, between programs")

_MOST: Final = 24
"""So many functions are shown."""

_GUARDS: Final = 40
"""So many of the places that a program relies on are listed."""


@dataclass
class Gathering:
    """One function, and what is known of it.

    Attributes:
        function: the user's function.
        converted: a conversion of it with its programs, if there is one.
        whole: it is refused where it cannot be one program.
        session: the programs are those of calls that were made to know this.
    """

    function: types.FunctionType
    converted: StaticFunction | None
    whole: bool
    session: bool = False

    def __post_init__(self) -> None:
        self.parts: tuple[Part, ...] = ()
        self.broken = Broken(None if self.converted is None else self.converted.driver)
        if self.converted is not None:
            self.parts = tuple(
                {id(each.function): each for each in parts_of(self.converted)}.values()
            )
        self.evidence = Evidence(self.parts)
        self._captured = any(part.entries for part in self.parts)

    def explanation(self) -> Explanation:
        """The facts that no further call is needed for."""
        source = source_of(self.function)
        listings = tuple(self._listing(each) for each in self._functions())
        keys = keys_of(listings)

        def key(place: tuple[str, int]) -> str:
            return keys.get(place, "")

        programs = tuple(self._programs(key))
        breaks = () if self.converted is None else self.converted.breaks
        found = [
            hint
            for code in (self.function.__code__, *self.broken.functions)
            for hint in hints.of_breaks(
                breaks if code is self.function.__code__ else self.broken.breaks(code),
                self.broken.called(code),
                whole=self.whole,
            )
        ]
        refused = found[0] if found and self.whole else None
        for listing in listings:
            found += hints.of_lines(listing, self.evidence)
        for program in programs:
            found += hints.of_flow(program.flow, source.file)
        found += hints.of_programs(self.parts, source.file, source.first_line)
        found += hints.of_text(
            listings, self.function.__qualname__, captured=bool(programs or breaks)
        )
        said = tuple(dict.fromkeys(found))
        return Explanation(
            _name_of(self.function),
            source.file,
            source.first_line,
            tuple(_with_hints(each, said) for each in listings),
            programs,
            breaks,
            tuple(self.broken.callees()),
            said,
            refused=refused,
        )

    def _functions(self) -> Iterator[types.FunctionType]:
        """The function, those that break, and those that became part of its programs.

        None is inside of another.
        """
        yield self.function
        shown = [self.function.__code__]
        broken = {
            (code.co_filename, code.co_firstlineno): function
            for code, function in self.broken.functions.items()
        }
        captured = dict(sorted(self.evidence.functions.items()))
        for (file, line), found in {**broken, **captured}.items():
            inside = any(
                code.co_filename == file and code.co_firstlineno <= line <= _last_line(code)
                for code in shown
            )
            if not inside and not is_library(file) and len(shown) < _MOST:
                shown.append(found.__code__)
                yield found

    def _listing(self, function: types.FunctionType) -> Listing:
        source = source_of(function)
        plain = own_lines(source.text, source.first_line)
        known = fates_in(source.tree, source.file, self.evidence)
        driver = self.broken.driver(function)
        islands = None if driver is None else driver.islands
        breaks = self.broken.breaks(function.__code__)
        lines = tuple(
            self._line(each, source, known.get(each.number, []), islands, breaks) for each in plain
        )
        made = tuple(_made(function, driver))
        return Listing(_name_of(function), source.file, source.first_line, lines, made)

    def _line(
        self,
        line: Line,
        source: Any,
        fates: list[Fate],
        islands: tuple[Island, ...] | None,
        breaks: tuple[Break, ...],
    ) -> Line:
        """A line with what became of it."""
        count = self.evidence.at(source.file, line.number).operations
        text = line.text.strip()
        where = ""
        body = source.tree.body[0].lineno
        if self._captured and text and not text.startswith("#") and line.number >= body:
            where = "program" if count else "" if SKIPPED in fates else "capture"
            if islands is not None:
                where = _where_of(line.number, islands)
        if line.number in [each.line for each in breaks]:
            fates = [OUTSIDE, *fates]
        return replace(line, where=where, operations=count, fates=tuple(fates))

    def _programs(self, key: Key) -> Iterator[ProgramFacts]:
        number = 0
        for part in self.parts:
            for entry in part.entries:
                number += 1
                yield self._program(number, part, entry, key)

    def _program(self, number: int, part: Part, entry: Entry, key: Key) -> ProgramFacts:
        captured = entry.runner.captured
        guards = dict.fromkeys(guard.place.path for guard in captured.guards)
        return ProgramFacts(
            number,
            entry.reason.text,
            tuple(f"{leaf.path}: {leaf.dtype}{list(leaf.shape)}" for leaf in captured.leaves),
            size_of(captured.program),
            None if self.session else entry.runner.runs,
            None if part.island is None else part.island.tree.lines,
            tuple(guards)[:_GUARDS],
            len(guards),
            flow_of(captured.program, self.evidence.places, key),
            "" if part.home in (None, self.function) else _name_of(part.home),
        )


class Broken:
    """What keeps a function from being one program: its own breaks, and those of what it calls.

    Args:
        driver: of the function; ``None`` if it is one program.

    Attributes:
        functions: what is called and has breaks, by its code.
    """

    def __init__(self, driver: Driver | None) -> None:
        found = {} if driver is None else driver.called()
        self._drivers = {code: each for code, each in found.items() if each is not None}
        self.functions = {
            code: _stand_in(code) if each is None else each.function for code, each in found.items()
        }
        if driver is not None:
            self._drivers[driver.function.__code__] = driver

    def driver(self, function: types.FunctionType) -> Driver | None:
        """The driver of one of the functions."""
        return self._drivers.get(function.__code__)

    def breaks(self, code: types.CodeType) -> tuple[Break, ...]:
        """The breaks of one of the functions."""
        known = breaks_of(code)
        if known is None or code not in (*self._drivers, *self.functions):
            return ()
        return (known.whole,) if known.whole else tuple(known.lines[k] for k in sorted(known.lines))

    def called(self, code: types.CodeType) -> dict[int, list[str]]:
        """What a function calls that is not one program: names and places, by the line."""
        known = breaks_of(code)
        calls = {} if known is None else known.calls
        return {
            line: sorted(
                f"{_name_of(function)}, which is not ({PurePath(each.co_filename).name}:"
                f"{each.co_firstlineno})"
                for each in codes
                if (function := self.functions.get(each)) is not None
            )
            for line, codes in calls.items()
        }

    def callees(self) -> Iterator[Callee]:
        """What is called and has breaks of its own."""
        for code, function in self.functions.items():
            calls = self.called(code)
            breaks = tuple(each for each in self.breaks(code) if each.line not in calls)
            if breaks:
                file, line = code.co_filename, code.co_firstlineno
                yield Callee(_name_of(function), file, line, breaks)


def _stand_in(code: types.CodeType) -> types.FunctionType:
    """A function of ``code`` that is only looked at: the user's own is not known any more."""
    cells = tuple(types.CellType() for _ in code.co_freevars)
    made = types.FunctionType(code, {}, code.co_name, None, cells)
    made.__qualname__ = getattr(code, "co_qualname", code.co_name)
    return made


def _name_of(function: Any) -> str:
    return str(function.__qualname__).replace("<locals>.", "")


def _last_line(code: types.CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)


def _with_hints(listing: Listing, said: tuple[Hint, ...]) -> Listing:
    lines = (
        replace(line, hints=hints_at(said, listing.file, line.number)) for line in listing.lines
    )
    return replace(listing, lines=tuple(lines))


def _where_of(line: int, islands: tuple[Island, ...]) -> str:
    """Where a line of a function runs that is several programs."""
    for island in islands:
        first, last = island.tree.lines
        if first <= line <= last:
            return "outside" if island.rests is not None else "island"
    return "outside"


def _made(function: types.FunctionType, driver: Driver | None) -> Iterator[Generated]:
    """What a function was rewritten to; nothing where it cannot be."""
    try:
        yield from rewritten(function, driver)
    except (NoSourceError, SyntaxNotSupportedError) as error:
        yield Generated(f"not converted: {error.cause}", (), ())


def gathered(function: Any) -> Gathering:
    """What is known without a call of a function, method or layer, converted or not.

    Raises:
        NotAFunctionError: (D2S102) it is something else.
        NoSourceError: (D2S101) its text cannot be found.
    """
    static = _static_of(function)
    return Gathering(written(plain_function(function)), static, _whole(static))


def called(function: Any, session: Session) -> Gathering:
    """What is known after the calls of a session."""
    return Gathering(
        written(plain_function(function)),
        session.converted,
        _whole(_static_of(function)),
        session=True,
    )


def _static_of(function: Any) -> StaticFunction | None:
    found = getattr(function, "forward", function)
    return found if isinstance(found, StaticFunction) else None


def _whole(static: StaticFunction | None) -> bool:
    """Whether a function is refused where it cannot be one program."""
    return is_whole({} if static is None else static._options)


def refusal(error: D2SError) -> Hint:
    """The error with which d2s refuses a function."""
    return Hint(f"refused: {error.cause}", error.cure, error.code, error.file, error.line)
