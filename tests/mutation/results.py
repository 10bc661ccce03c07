"""What became of each mutant: kept in one file, added to after each, and told as a report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutation.mutants import Mutant, diff_of
from tests.mutation.survivors import EXPLAINED, Explained


@dataclass(frozen=True)
class Result:
    """One mutant and its end.

    Attributes:
        mutant: the change.
        killed: whether a test noticed.
        by: the test that did; or ``time``, ``import``, ``crash``.
        tried: how many tests ran.
        known: how many tests run the changed line.
    """

    mutant: Mutant
    killed: bool
    by: str
    tried: int
    known: int

    @property
    def explained(self) -> Explained | None:
        """Why nobody can notice the change, where that is known."""
        return next((item for item in EXPLAINED if item.speaks_of(self.mutant)), None)

    @property
    def open(self) -> bool:
        """Whether it survived, and nobody has said why."""
        return not (self.killed or self.explained)


class Results:
    """All results by key; ``add`` writes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._kept = json.loads(path.read_text("utf-8"))

    def add(self, result: Result) -> None:
        self._kept[result.mutant.key] = asdict(result)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self._kept, indent=1), "utf-8")
        new.replace(self.path)

    def of(self, mutants: Iterable[Mutant]) -> list[Result]:
        """The results of those of ``mutants`` that have been tried."""
        return [
            Result(mutant, found["killed"], found["by"], found["tried"], found["known"])
            for mutant in mutants
            if (found := self._kept.get(mutant.key)) is not None
        ]


def score(results: Iterable[Result]) -> float:
    """How many of a hundred mutants were killed, of those that can be."""
    counted = [result.killed for result in results if result.killed or result.open]
    return 100 * sum(counted) / len(counted) if counted else 100.0


def report(results: list[Result], root: Path) -> str:
    """A table by file, and each survivor that nobody has explained."""
    files: dict[str, list[Result]] = {}
    for result in results:
        files.setdefault(result.mutant.file, []).append(result)
    width = max([len(file) for file in files] + [5])
    lines = [f"{'file':{width}} tried killed explained open  score"]
    for file, those in [*sorted(files.items()), ("total", results)]:
        killed = sum(result.killed for result in those)
        explained = sum(bool(not result.killed and result.explained) for result in those)
        lines.append(
            f"{file:{width}} {len(those):5} {killed:6} {explained:9} "
            f"{len(those) - killed - explained:4} {score(those):5.1f}%"
        )
    for result in results:
        if result.open:
            lines += ["", _survivor(result, root)]
    return "\n".join(lines)


def _survivor(result: Result, root: Path) -> str:
    mutant = result.mutant
    head = f"{mutant.file}:{mutant.line} in {mutant.where or 'the module'}: {mutant.kind}"
    tests = f"{result.tried} of the {result.known} tests that run it were run"
    return f"{head} [{mutant.key}]\n{tests}\n{diff_of(mutant, root)}"
