"""The facts about a function as text: line by line, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from d2s.markup.flow import counted
from d2s.markup.listing import Hint, Line, Listing, width_of

if TYPE_CHECKING:
    from d2s.debug.facts.explanation import Explanation, ProgramFacts
    from d2s.debug.facts.measuring import Share, Timing
    from d2s.selfcheck.report import Report

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


def seconds_in_words(seconds: float) -> str:
    """A time to read.

    >>> seconds_in_words(2.5), seconds_in_words(0.0025), seconds_in_words(0.0000025)
    ('2.50 s', '2.50 ms', '2.5 µs')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def share_in_words(share: Share) -> str:
    """What of a call happens inside of programs."""
    operations = share.operations_inside + share.operations_outside
    part = share.seconds_inside / share.seconds if share.seconds else 0.0
    if not operations:
        return "no operations"
    return (
        f"{share.operations_inside} of {counted(operations, 'operation')} that ran, and "
        f"{part:.0%} of the time, inside of programs"
    )


def check_in_words(check: Report) -> str:
    """The verdict of the self-check."""
    if check.refused is not None:
        return "refused"
    return "agrees with dygraph" if check.ok else "DIFFERS from dygraph"


def timing_in_words(timing: Timing) -> str:
    """How long calls take."""
    return (
        f"first call {seconds_in_words(timing.first_s)}; then "
        f"{seconds_in_words(timing.program_s)}, in dygraph {seconds_in_words(timing.dygraph_s)} "
        f"(medians of {counted(timing.rounds, 'round')} of {counted(timing.calls, 'call')})"
    )


def speed_in_words(timing: Timing) -> str:
    """How fast it is beside dygraph."""
    if timing.speedup >= 1:
        return f"{timing.speedup:.2f} times as fast as dygraph"
    return f"takes {1 / timing.speedup:.2f} times as long as dygraph"


def lines_of(found: Explanation) -> Iterator[Styled]:
    """The facts, line by line."""
    yield f"{found.name} ({found.place}): {', '.join(found.summary)}", "bold"
    for program in found.programs:
        yield from _program(program)
    if found.timing is not None:
        yield f"  {timing_in_words(found.timing)}", ""
    if found.check is not None and not found.check.ok:
        for said in str(found.check).splitlines():
            yield f"  {said}", "red"
    general = [hint for hint in found.hints if not _is_shown(hint, found.functions)]
    for hint in general:
        yield from _hint(
            hint, "  ", f"{PurePath(hint.file).name}:{hint.line}: " if hint.file else ""
        )
    width = width_of(found.functions)
    for listing in found.functions:
        yield "", ""
        yield f"{'line':>{width + 1}} {'ops':>4}  {listing.name} ({listing.file})", "dim"
        for line in listing.lines:
            yield from _line(line, width)


def _is_shown(hint: Hint, listings: tuple[Listing, ...]) -> bool:
    return any(hint in line.hints for listing in listings for line in listing.lines)


def _program(program: ProgramFacts) -> Iterator[Styled]:
    yield f"  {program.number}. {program.title}", ""
    yield f"     captured: {program.reason}", "dim"
    if program.guarded:
        shown = ", ".join(program.guards[:6])
        more = program.guarded - len(program.guards[:6])
        yield f"     relies on {shown}" + (f" and {more} more" if more else ""), "dim"


def _line(line: Line, width: int) -> Iterator[Styled]:
    mark = _MARKS.get(line.where, " ")
    count = str(line.operations) if line.operations else ""
    yield f"{line.number:>{width + 1}} {count:>4} {mark}{line.text}".rstrip(), ""
    indent = " " * (len(line.text) - len(line.text.lstrip()))
    margin = f"{'':>{width + 6}} {indent}"
    for fate in line.fates:
        yield f"{margin} = {fate}", _STYLES.get(fate.kind, "dim")
    for hint in line.hints:
        yield from _hint(hint, f"{margin} ")


def _hint(hint: Hint, margin: str, place: str = "") -> Iterator[Styled]:
    code = f" [{hint.code}]" if hint.code else ""
    yield f"{margin}! {place}{hint.text}{code}", "yellow"
    if hint.cure:
        yield f"{margin}  cure: {hint.cure}", "green"
