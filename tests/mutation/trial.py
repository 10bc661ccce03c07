"""How one mutant is tried: a few tests of each kind first, then others, for as long as allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tests.mutation import forks
from tests.mutation.mutants import Mutant, mutated
from tests.mutation.recording import Recording
from tests.mutation.results import Result

FIRST: Final = 12
"""How many tests the first child runs: most mutants do not live longer."""

PATIENCE: Final = 3.0
"""A child that takes so many times what its tests took under coverage does not end by itself."""

START: Final = 60.0
"""Seconds for a child to import d2s and to collect its tests, on a machine with other work."""


class Trials:
    """Tries mutants one after the other.

    Attributes:
        killers: how many mutants of a file each test has killed: such tests go first.
        trusted: what has ended a mutant, and does not end a child without a change.
        doubtful: tests that fail there too; they say nothing about a mutant.
    """

    def __init__(
        self,
        recording: Recording,
        root: Path,
        budget: float,
        run: Callable[..., forks.Outcome] = forks.run,
    ) -> None:
        self.recording = recording
        self.root = root
        self.budget = budget
        self.killers: dict[str, Counter[str]] = {}
        self.trusted: set[str] = set()
        self.doubtful: set[str] = set()
        self._run = run

    def of(self, mutant: Mutant) -> Result:
        """Whether the tests notice ``mutant``."""
        known = [test for test in self.recording.tests_for(mutant) if test not in self.doubtful]
        change = (mutant.file, mutated(mutant, self.root))
        tried = 0
        for tests in self._rounds(mutant, known):
            outcome = self._run(tests, self.root, self._limit(tests), change)
            while outcome.killed and not self._is_due_to_change(outcome, tests):
                self.doubtful.add(outcome.by)
                tests = [test for test in tests if test != outcome.by]
                outcome = self._run(tests, self.root, self._limit(tests), change)
            tried += len(outcome.ran)
            if outcome.killed:
                self.killers.setdefault(mutant.file, Counter())[outcome.by] += 1
                return Result(mutant, True, outcome.by, tried, len(known))
        return Result(mutant, False, "", tried, len(known))

    def _rounds(self, mutant: Mutant, known: list[str]) -> Iterator[list[str]]:
        """The tests for one child after the other."""
        likely = [
            test for test, _ in self.killers.get(mutant.file, Counter()).most_common() if test
        ]
        possible = set(known)
        ahead = [test for test in likely if test in possible][: FIRST // 3]
        known = [*ahead, *(test for test in known if test not in ahead)]
        left, chosen = self.budget, []
        for test in known:
            left -= self.recording.tests[test]
            if left < 0 and len(chosen) >= FIRST:
                break
            chosen.append(test)
        yield from (part for part in (chosen[:FIRST], chosen[FIRST:]) if part)

    def _limit(self, tests: list[str]) -> float:
        return START + PATIENCE * sum(self.recording.tests[test] for test in tests)

    def _is_due_to_change(self, outcome: forks.Outcome, tests: list[str]) -> bool:
        """Whether the tests that ran pass without the change; asked once for each that failed."""
        by = outcome.by
        if by in self.trusted:
            return True
        is_test = by in self.recording.tests
        same = [*(test for test in outcome.ran if test != by), by] if is_test else tests
        if self._run(same, self.root, self._limit(tests)).killed:
            if not is_test:
                raise RuntimeError(f"ended by {by} without a change, at one of {same}")
            return False
        self.trusted.add(by)
        return True
