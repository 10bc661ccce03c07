"""One row of the table: what is called, which peers call it, what is asked of d2s."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks.by_hand import ByHand, by_executor, by_run_program
from benchmarks.goals import Goal
from d2s.bench.peers import Job, measure
from d2s.bench.rounds import Measuring, Settings
from d2s.bench.work import CONVERTERS, Work, calls

MEASURES: Final = 7
"""At most so many rounds of what cannot be called again and again: an import, a first call."""


@dataclass(frozen=True)
class Scenario:
    """One row.

    Attributes:
        name: what it is asked for by.
        summary: what one call does.
        make: the work of one call; made anew for each peer.
        by_hand: the same as a program written by hand.
        measures: peer -> one measurement in seconds, for scenarios that do not time a call.
        goals: what is asked of d2s.
        unit: what a time is the time of.
        limit_s: seconds that a peer has, if less than usual: for those known not to come back.
    """

    name: str
    summary: str
    make: Callable[[], Work] | None = None
    by_hand: ByHand | None = None
    measures: Mapping[str, Callable[[], float]] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    unit: str = "call"
    limit_s: float | None = None

    def jobs(self) -> dict[str, Job]:
        """What each peer does; dygraph is first, or who else is the measure of the others."""
        if self.make is None:
            measures = self.measures.items()
            return {peer: functools.partial(Measuring, measure) for peer, measure in measures}
        jobs: dict[str, Job] = {
            peer: functools.partial(calls, self.make, peer) for peer in CONVERTERS
        }
        if self.by_hand is not None:
            jobs["by-hand"] = functools.partial(by_executor, self.by_hand, self.make)
            jobs["floor"] = functools.partial(by_run_program, self.by_hand, self.make)
        return jobs

    def run(self, settings: Settings, progress: Callable[[str], None]) -> dict[str, Any]:
        """The row as it stands in a file of results.

        Raises:
            NoReferenceError: it does not run in dygraph.
        """
        limit = settings.limit_s if self.limit_s is None else min(settings.limit_s, self.limit_s)
        rounds = settings.rounds if self.make else min(settings.rounds, MEASURES)
        settings = dataclasses.replace(settings, limit_s=limit, rounds=rounds)
        found = measure(
            self.jobs(), settings, progress=lambda text: progress(f"{self.name}, {text}")
        )
        return {
            "summary": self.summary,
            "unit": self.unit,
            "goals": [vars(goal) for goal in self.goals],
            "peers": {peer: measured.as_json() for peer, measured in found.items()},
        }
