"""The facts about one function, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from d2s.debug.facts.measuring import Profile, Share, Timing
from d2s.debug.facts.words import check_in_words, share_in_words, speed_in_words
from d2s.markup.flow import Flow, counted
from d2s.markup.listing import Hint, Listing
from d2s.program.islands.breaks import Break
from d2s.selfcheck.report import Report


@dataclass(frozen=True)
class Callee:
    """A function that is called and keeps its callers from being one program.

    Attributes:
        name: the function.
        file, line: where it begins.
        breaks: what stands in the way in it, those on the lines of its own calls left out.
    """

    name: str
    file: str
    line: int
    breaks: tuple[Break, ...]


@dataclass(frozen=True)
class ProgramFacts:
    """One program.

    Attributes:
        number: counted from 1, the oldest first.
        reason: why it was captured.
        inputs: path, dtype and shape of each tensor it takes (-1 for an open dimension).
        operations: how many operations compute in it, those in branches and loops included.
        runs: how often it has run; ``None`` where the facts were asked for with a call.
        lines: the first and the last line of the stretch that it is of, for one of several.
        function: the name of the callee that these lines are of; empty for the function itself.
        guards: places outside of the arguments that it relies on, the first of them.
        guarded: how many such places there are.
        flow: its control flow.
    """

    number: int
    reason: str
    inputs: tuple[str, ...]
    operations: int
    runs: int | None
    lines: tuple[int, int] | None
    guards: tuple[str, ...]
    guarded: int
    flow: tuple[Flow, ...]
    function: str = ""

    @property
    def title(self) -> str:
        """It in one line."""
        where = "" if self.lines is None else f"lines {self.lines[0]} to {self.lines[1]}"
        where += f" of {self.function}; " if self.function else "; " if where else ""
        inputs = ", ".join(self.inputs) or "no inputs"
        runs = "" if self.runs is None else f", {counted(self.runs, 'run')}"
        return f"{where}{inputs}; {counted(self.operations, 'operation')}{runs}"


@dataclass(frozen=True)
class Facts:
    """What is known of one function.

    Attributes:
        name: the function.
        file, line: where it begins.
        functions: it and the user's functions that became part of its programs, line by line.
        programs: the programs, each with the reason why it was captured.
        breaks: where it is not one program.
        callees: what is called and keeps it from being one.
        hints: warnings with their cures, and what costs.
        share: what of a warm call happens inside of programs; ``None`` without a call.
        timing: how long calls take; of a report only.
        profile: what each line takes; of a report that was asked for it.
        check: the self-check; of a report only.
        raised: what the call raises, in dygraph as well, and where.
        refused: why d2s refuses the function, even as several programs.
    """

    name: str
    file: str
    line: int
    functions: tuple[Listing, ...]
    programs: tuple[ProgramFacts, ...] = ()
    breaks: tuple[Break, ...] = ()
    callees: tuple[Callee, ...] = ()
    hints: tuple[Hint, ...] = ()
    share: Share | None = None
    timing: Timing | None = None
    profile: Profile | None = None
    check: Report | None = None
    raised: str | None = None
    refused: Hint | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was found to be wrong."""
        return self.refused is None and (self.check is None or self.check.ok)

    @property
    def place(self) -> str:
        """File and line, short."""
        return f"{PurePath(self.file).name}:{self.line}"

    @property
    def summary(self) -> tuple[str, ...]:
        """It in a few words each."""
        found = [counted(len(self.programs), "program")]
        if self.programs:
            found.append(counted(sum(each.operations for each in self.programs), "operation"))
        if self.breaks:
            found.append(counted(len(self.breaks), "break"))
        if self.share is not None:
            found.append(share_in_words(self.share))
        if self.check is not None:
            found.append(check_in_words(self.check))
        if self.timing is not None:
            found.append(speed_in_words(self.timing))
        if self.refused is not None:
            found.append(f"refused with {self.refused.code}")
        if self.raised is not None:
            found.append(f"raises {self.raised}")
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """The same for other programs: plain values, times in seconds."""
        check = None
        if self.check is not None:
            check = {"ok": self.check.ok, "text": str(self.check)}
        names = ("functions", "programs", "breaks", "callees", "hints")
        facts = {name: [asdict(each) for each in getattr(self, name)] for name in names}
        return {
            "name": self.name,
            "file": self.file,
            "line": self.line,
            **facts,
            "share": None if self.share is None else asdict(self.share),
            "timing": None if self.timing is None else asdict(self.timing),
            "profile": None
            if self.profile is None
            else {"seconds": self.profile.seconds, "calls": self.profile.calls},
            "check": check,
            "raised": self.raised,
            "refused": None if self.refused is None else asdict(self.refused),
        }
