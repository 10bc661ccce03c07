"""The facts about a function as text: line by line, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from d2s.debug.facts.model import Facts, ProgramFacts
from d2s.debug.facts.words import profile_in_words, timing_in_words
from d2s.markup.listing import Hint, Line, Listing, share_of_time, width_of

Styled = tuple[str, str]
"""A line of text, and a style of rich's for it."""

_MARKS: Final = {"program": "▌", "island": "▌", "capture": "┊", "outside": "░"}
_STYLES: Final = {
    "cond": "blue",
    "while_loop": "magenta",
    "unrolled": "yellow",
    "host": "yellow",
    "outside": "yellow",
    "list": "cyan",
}


def lines_of(found: Facts) -> Iterator[Styled]:
    """The facts, line by line."""
    yield f"{found.name} ({found.place}): {', '.join(found.summary)}", "bold"
    for program in found.programs:
        yield from _program(program)
    if found.timing is not None:
        yield f"  {timing_in_words(found.timing)}", ""
    if found.profile is not None:
        yield f"  {profile_in_words(found.profile)}", "dim"
    if found.check is not None and not found.check.ok:
        for said in str(found.check).splitlines():
            yield f"  {said}", "red"
    for callee in found.callees:
        for each in callee.breaks:
            place = f"{PurePath(each.file).name}:{each.line}"
            yield f"  ! {callee.name} is not one program: {place} [{each.code}]", "yellow"
    general = [hint for hint in found.hints if not _is_shown(hint, found.functions)]
    for hint in general:
        yield from _hint(
            hint, "  ", f"{PurePath(hint.file).name}:{hint.line}: " if hint.file else ""
        )
    width = width_of(found.functions)
    timed = found.profile is not None
    for listing in found.functions:
        yield "", ""
        time = f" {'time':>4}" if timed else ""
        yield f"{'line':>{width + 1}} {'ops':>4}{time}  {listing.name} ({listing.file})", "dim"
        for line in listing.lines:
            yield from _line(line, width, timed=timed)


def _is_shown(hint: Hint, listings: tuple[Listing, ...]) -> bool:
    return any(hint in line.hints for listing in listings for line in listing.lines)


def _program(program: ProgramFacts) -> Iterator[Styled]:
    yield f"  {program.number}. {program.title}", ""
    yield f"     captured: {program.reason}", "dim"
    if program.guarded:
        shown = ", ".join(program.guards[:6])
        more = program.guarded - len(program.guards[:6])
        yield f"     relies on {shown}" + (f" and {more} more" if more else ""), "dim"


def _line(line: Line, width: int, *, timed: bool) -> Iterator[Styled]:
    mark = _MARKS.get(line.where, " ")
    count = str(line.operations) if line.operations else ""
    time = f" {share_of_time(line.share):>4}" if timed else ""
    yield f"{line.number:>{width + 1}} {count:>4}{time} {mark}{line.text}".rstrip(), ""
    indent = " " * (len(line.text) - len(line.text.lstrip()))
    margin = f"{'':>{width + 6 + len(time)}} {indent}"
    for fate in line.fates:
        yield f"{margin} = {fate}", _STYLES.get(fate.kind, "dim")
    for hint in line.hints:
        yield from _hint(hint, f"{margin} ")


def _hint(hint: Hint, margin: str, place: str = "") -> Iterator[Styled]:
    code = f" [{hint.code}]" if hint.code else ""
    yield f"{margin}! {place}{hint.text}{code}", "yellow"
    if hint.cure:
        yield f"{margin}  cure: {hint.cure}", "green"
