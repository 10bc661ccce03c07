"""The first source line whose value differs: probes in both ways to run, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from d2s.diagnostics.location import Location
from d2s.selfcheck.report import Difference
from d2s.selfcheck.values import Array, Fact, Tolerance, facts, mismatches

MOST_ENTRIES: Final = 20_000
"""So many values are noted of one call."""

MOST_BYTES: Final = 2**29


@dataclass(frozen=True)
class Entry:
    """What one probe has seen."""

    place: Location
    kind: str
    name: str
    facts: list[Fact]

    @property
    def key(self) -> tuple[str, int, str, str]:
        """Equal for the same probe in two runs."""
        return self.place.file, self.place.line, self.kind, self.name

    def __str__(self) -> str:
        return f"line {self.place.line}"


@dataclass
class Record:
    """What the probes of one call have seen, in order.

    Attributes:
        entries: the beginning of it.
        full: there was more.
    """

    entries: list[Entry] = field(default_factory=list)
    full: bool = False
    _bytes: int = 0

    def note(self, place: Location, kind: str, name: str, value: Any) -> None:
        """Add what a probe has seen."""
        if self.full:
            return
        seen = facts(name, value, objects=False)
        self._bytes += sum(what.data.nbytes for _, what in seen if isinstance(what, Array))
        self.entries.append(Entry(place, kind, name, seen))
        self.full = len(self.entries) >= MOST_ENTRIES or self._bytes > MOST_BYTES


def first_difference(want: Record, got: Record, tolerance: Tolerance) -> Difference | None:
    """The first entry in which the program's record differs from dygraph's."""
    last: Entry | None = None
    for one, other in zip(want.entries, got.entries, strict=False):
        if one.key != other.key:
            return _parting(last, one, other)
        for item in mismatches(one.facts, other.facts, tolerance):
            return _at(one, "value", item.name, item.dygraph, item.static, item.detail)
        last = one
    rest = len(want.entries) - len(got.entries)
    if rest > 0 and not got.full:
        return _parting(last, want.entries[len(got.entries)], None)
    if rest < 0 and not want.full:
        return _parting(last, None, got.entries[len(want.entries)])
    return None


def _at(
    entry: Entry, kind: str, name: str, dygraph: str, static: str, detail: str = ""
) -> Difference:
    return Difference(kind, name, dygraph, static, detail, entry.place.file, entry.place.line)


def _parting(last: Entry | None, want: Entry | None, got: Entry | None) -> Difference:
    """The two runs go on at different places."""
    entries = [entry for entry in (want, got) if entry is not None]
    loop = next((entry for entry in entries if entry.kind in ("for", "while")), None)
    texts = ["an end" if entry is None else f"{entry}" for entry in (want, got)]
    if loop is not None:
        texts = [
            "another trip" if entry is loop else f"none, but {text}"
            for entry, text in zip((want, got), texts, strict=True)
        ]
        return _at(loop, "path", "the loop", texts[0], texts[1])
    after = "" if last is None else f" after {last}"
    return _at(want or entries[0], "path", f"the next step{after}", texts[0], texts[1])
