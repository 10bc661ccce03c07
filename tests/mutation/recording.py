"""Which tests run which lines, as recorded once; and in which order they are to try a mutant."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutation.contexts import TIMES
from tests.mutation.mutants import Mutant

PARTS = (
    ("--doctest-modules", "d2s"),
    ("-m", "not slow", "tests"),
)
"""What pytest is asked to run: the quick suite, as ``make test`` does."""


class Recording:
    """What the suite ran, file by file.

    Attributes:
        tests: seconds by the name of the test, of those that passed.
        added: tests that were recorded later, written for mutants that had survived, most likely.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.root = root
        self._data = folder / "coverage"
        noted = json.loads((folder / "tests.json").read_text("utf-8"))
        self.tests: dict[str, float] = {
            name: fact["seconds"]
            for name, fact in noted["tests"].items()
            if fact.get("outcome") == "passed"
        }
        self.added = frozenset(noted["added"])
        self._digests: dict[str, str] = noted["files"]
        self._file: str | None = None
        self._steps: dict[str, set[tuple[int, int]]] = {}

    def is_current(self, file: str) -> bool:
        """Whether ``file`` is the text that was recorded."""
        return self._digests.get(file) == _digest(self.root / file)

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that run the changed lines, those first that are likely to notice.

        Tests that were added come first, then those that name the module.  Tests that take one way
        through the function are alike: the fastest of each way come before the second fastest.
        """
        first, last = mutant.span
        low, high = mutant.scope
        by_import = low == 0
        ways: dict[frozenset[tuple[int, int]], list[str]] = {}
        for test, taken in self._of(mutant.file).items():
            if by_import or any(first <= abs(line) <= last for step in taken for line in step):
                way = frozenset(step for step in taken if low <= abs(step[1]) <= high)
                ways.setdefault(way, []).append(test)
        for those in ways.values():
            those.sort(key=self.tests.__getitem__)
        rows = sorted(ways.values(), key=lambda those: self.tests[those[0]])
        found = [
            test for column in itertools.zip_longest(*rows) for test in column if test is not None
        ]
        stem = Path(mutant.file).stem
        if by_import:  # tables of a module are read from elsewhere
            known = set(found)
            found += sorted(set(self.tests) - known, key=self.tests.__getitem__)
        names = (f"[{stem}]", f".{stem}", f"test_{stem}.")

        def rank(test: str) -> tuple[bool, bool]:
            return test not in self.added, not any(name in test for name in names)

        return sorted(found, key=rank)

    def _of(self, file: str) -> dict[str, set[tuple[int, int]]]:
        """The steps from line to line in ``file``, by test; the last file asked for is kept."""
        if self._file != file:
            self._file, self._steps = file, {}
            for test, step in _steps(self._data, str(self.root / file)):
                if test in self.tests:
                    self._steps.setdefault(test, set()).add(step)
        return self._steps


def _steps(data: Path, file: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Test and step, for all steps in ``file``; coverage documents the tables of its file."""
    # One query: `CoverageData.arcs` wants one for each of the thousands of tests.
    with contextlib.closing(sqlite3.connect(data)) as connection:
        rows = connection.execute(
            "select context.context, arc.fromno, arc.tono from arc"
            " join context on context.id = arc.context_id"
            " join file on file.id = arc.file_id where file.path = ?",
            (file,),
        )
        for name, source, target in rows:
            yield name, (source, target)


def record(folder: Path, root: Path, added: tuple[str, ...] = ()) -> int:
    """Run the suite under coverage and write what it ran into ``folder``; pytest's exit status.

    Args:
        folder: where the record is.
        root: the repository.
        added: arguments for pytest: only these tests, added to the record that there is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept, times = folder / "tests.json", folder / "times.json"
    if not added:
        kept.unlink(missing_ok=True)
        (folder / "coverage").unlink(missing_ok=True)
    files = (root / "d2s").rglob("*.py")
    noted: dict[str, Any] = {
        "tests": {},
        "added": [],
        "files": {path.relative_to(root).as_posix(): _digest(path) for path in files},
    }
    if kept.exists():
        noted = json.loads(kept.read_text("utf-8"))
    status = 0
    for part in (added,) if added else PARTS:
        status |= subprocess.run(
            [
                *(sys.executable, "-m", "coverage", "run", "--append", f"--rcfile={os.devnull}"),
                *(f"--data-file={folder / 'coverage'}", "--source=d2s", "--branch", "-m"),
                *("pytest", "-q", "-o", "faulthandler_timeout=0"),  # coverage is slow
                *("-p", "tests.mutation.contexts", *part),
            ],
            cwd=root,
            env={**os.environ, TIMES: str(times)},
            check=False,
        ).returncode
        found = json.loads(times.read_text("utf-8"))
        noted["tests"] |= found
        noted["added"] += sorted(found) if added else []
    kept.write_text(json.dumps(noted), "utf-8")
    return status


def _digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
