"""Warnings with their cures, and what costs: in the program, and on each call."""

from __future__ import annotations

import collections
import linecache
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from d2s.debug.facts.evidence import WHILE, Evidence, Part
from d2s.errors import BreakWarning, ManyProgramsWarning
from d2s.lint.check import check_text
from d2s.markup.flow import Flow, counted
from d2s.markup.listing import Hint, Listing
from d2s.program.dispatch.program_cache import CURES
from d2s.program.islands.breaks import Break

MANY: Final = 64
"""So many trips, or entries that are looked at on each call, are worth a word."""


def of_lines(listing: Listing, evidence: Evidence) -> Iterator[Hint]:
    """Loops that have become long programs."""
    for line in listing.lines:
        known = evidence.at(listing.file, line.number)
        for kind in ("for", "while", "comprehension"):
            trips = max(known.notes[kind].values) if kind in known.notes else 0
            if trips >= MANY and WHILE not in known.makes:
                yield Hint(
                    f"unrolled {counted(trips, 'time')}: the program, and the time to capture it, "
                    "grow with each trip",
                    "let a tensor decide how often it runs (iterate over a tensor, or over "
                    "range(int(n)) of a tensor n), or do without the loop",
                    file=listing.file,
                    line=line.number,
                )


def of_flow(parts: Sequence[Flow], file: str) -> Iterator[Hint]:
    """Host operators in loops of a program."""
    for part in parts:
        if part.kind == "while":
            hosts = [each for each in part.walk() if each.kind == "host"]
            for line in dict.fromkeys(line for each in hosts for line in each.lines):
                yield Hint(
                    "a host operator in a loop: each trip leaves the program for Python",
                    "do it once behind the loop, on a list or a tensor of the values",
                    file=file,
                    line=line,
                )
        else:
            for _, inner in part.blocks:
                yield from of_flow(inner, file)


def of_programs(parts: Iterable[Part], file: str, line: int) -> Iterator[Hint]:
    """What makes a new program again and again, and what each call looks at."""
    for part in parts:
        if part.home is not None:
            code = part.home.__code__
            file, line = code.co_filename, code.co_firstlineno
        reasons = [each.reason for each in part.entries if each.reason.kind in CURES]
        times = collections.Counter((each.kind, each.subject) for each in reasons)
        for (kind, subject), count in times.items():
            if count > 1:
                yield Hint(
                    f"{counted(count, 'program')} because {subject} has changed",
                    CURES[kind],
                    ManyProgramsWarning.code,
                    file,
                    line,
                )
        if part.island is not None and part.island.rests is not None:
            first, last = part.island.tree.lines
            yield Hint(f"lines {first} to {last} run in dygraph: {part.island.rests}", file=file,
                       line=first)  # fmt: skip
        yield from _of_guards(part, file, line)


def _of_guards(part: Part, file: str, line: int) -> Iterator[Hint]:
    for entry in part.entries[-1:]:
        large = {
            guard.place.path: len(held)
            for guard in entry.runner.captured.guards
            if isinstance(held := guard.place.get(), Collection) and not isinstance(held, str)
        }
        for path, count in large.items():
            if count >= MANY:
                yield Hint(
                    f"each call looks at the {count} entries of {path}; where it grows, each "
                    "length has a program of its own",
                    "read only what is needed, or keep it in a tensor",
                    file=file,
                    line=line,
                )


def of_breaks(
    breaks: Iterable[Break], called: Mapping[int, Sequence[str]], *, whole: bool
) -> Iterator[Hint]:
    """What stands in the way of one program.

    Args:
        breaks: of a function.
        called: what it calls that is not one program, by the line of the call.
        whole: it is refused because of them.
    """
    said = "refused unless full_graph=False" if whole else "not one program"
    for each in breaks:
        code = each.code or BreakWarning.code
        if each.line in called:
            names = " and ".join(called[each.line])
            yield Hint(f"{said}: calls {names}", "", code, each.file, each.line)
        else:
            yield Hint(f"{said}: {each.cause}", each.cure, code, each.file, each.line)


def of_text(listings: Sequence[Listing], root: str, *, captured: bool) -> Iterator[Hint]:
    """What ``d2s lint`` says of the lines of some functions.

    Args:
        listings: the functions.
        root: the qualified name of the one that is converted.
        captured: there is a program, which tells better than the text what was refused.
    """
    for file in dict.fromkeys(each.file for each in listings):
        text = "".join(linecache.getlines(file))
        if file == listings[0].file and root.isidentifier():  # as if it had the decorator
            text += f"\nimport d2s as d2s_\nd2s_.to_static({root})\n"
        lines = {line.number for each in listings if each.file == file for line in each.lines}
        for found in check_text(text, file):
            if found.line in lines and (found.severity == "warning" or not captured):
                yield Hint(found.message, found.cure, found.code, file, found.line)
