"""Which tests run which lines, as recorded once; and in which order they are to try a mutant."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.mutation.contexts import TIMES
from tests.mutation.mutants import Mutant

PARTS = (
    ("--doctest-modules", "d2s"),
    ("-m", "not slow", "tests"),
)
"""What pytest is asked to run: the quick suite, as ``make test`` does."""

INSIDE: Final = 4
"""How much more a step counts that lies in the function that is changed."""

OVERHEAD: Final = 0.2
"""Seconds that count for every test besides its own."""

GREEDY: Final = 150
"""How many tests are chosen by what they add; no trial comes further."""


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
        self._imported: set[tuple[int, int]] = set()
        self._texts = _Texts(root)

    def is_current(self, file: str) -> bool:
        """Whether ``file`` is the text that was recorded."""
        return self._digests.get(file) == _digest(self.root / file)

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that run the changed lines, those first that are likely to notice.

        Tests that were added come first, then those that speak of a text that is changed, then
        those that name the module.  Among them, each next one adds the most to what those before
        have run of the file, for its time: tests that run the same lines see the same.
        """
        first, last = mutant.span
        taken = self._of(mutant.file)
        found = [
            test
            for test, steps in taken.items()
            if any(first <= abs(line) <= last for step in steps for line in step)
        ]
        by_import = mutant.scope[0] == 0 or (not found and self._is_imported(first, last))
        if by_import:  # what an import makes, tables say, is read from elsewhere
            found = list(taken)
        found = self._one_by_one(found, mutant.scope)
        if by_import:
            known = set(found)
            found += sorted(set(self.tests) - known, key=self.tests.__getitem__)
        stem = Path(mutant.file).stem
        names = (f"[{stem}]", f".{stem}", f"test_{stem}.")
        word = ast.literal_eval(mutant.before) if mutant.kind == "constant changed" else None

        def rank(test: str) -> tuple[bool, int, bool]:
            distance = self._texts.distance(test, word) if isinstance(word, str) else 0
            return test not in self.added, distance, not any(name in test for name in names)

        return sorted(found, key=rank)

    def _one_by_one(self, tests: list[str], scope: tuple[int, int]) -> list[str]:
        """``tests`` by what each adds; those that add nothing last, the fastest first."""
        numbers: dict[tuple[int, int], int] = {}
        inside = 0
        masks: dict[str, int] = {}
        for test in tests:
            mask = 0
            for step in self._steps[test]:
                bit = 1 << numbers.setdefault(step, len(numbers))
                mask |= bit
                if scope[0] <= abs(step[1]) <= scope[1]:
                    inside |= bit
            masks[test] = mask
        left = sorted(tests, key=self.tests.__getitem__)
        seen, found = 0, []

        def gain(test: str) -> float:
            new = masks[test] & ~seen
            weight = new.bit_count() + INSIDE * (new & inside).bit_count()
            return weight / (self.tests[test] + OVERHEAD)

        for _ in range(GREEDY):
            best = max(left, key=gain, default=None)
            if best is None:
                break
            if not masks[best] & ~seen:
                if not seen:
                    break
                seen = 0  # once more from the beginning: another test of each kind
                continue
            found.append(best)
            left.remove(best)
            seen |= masks[best]
        return found + left

    def _is_imported(self, first: int, last: int) -> bool:
        """Whether lines of the present file run when it is imported, before any test."""
        return any(first <= abs(line) <= last for step in self._imported for line in step)

    def _of(self, file: str) -> dict[str, set[tuple[int, int]]]:
        """The steps from line to line in ``file``, by test; the last file asked for is kept."""
        if self._file != file:
            self._file, self._steps, self._imported = file, {}, set()
            for test, step in _steps(self._data, str(self.root / file)):
                if test in self.tests:
                    self._steps.setdefault(test, set()).add(step)
                elif not test:
                    self._imported.add(step)
        return self._steps


class _Texts:
    """What the tests say, to find those that speak of a word."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, dict[str, str]] = {}

    def distance(self, test: str, word: str) -> int:
        """0: the name of ``test`` has ``word`` in it; 1: its text; 2: its file; 3: none of them."""
        file, _, name = test.partition("::")
        parts = self._parts(file)
        function = name.partition("[")[0].rpartition("::")[2]
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)").search
        texts = (name, parts.get(function, ""), parts[""])
        return next((rank for rank, text in enumerate(texts) if whole(text)), len(texts))

    def _parts(self, file: str) -> dict[str, str]:
        """The text of ``file``, as the part without a name, and of each of its functions."""
        if file not in self._files:
            text = (self.root / file).read_text("utf-8")
            found = self._files[file] = {"": text}
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef):
                    whole = [*node.decorator_list, node]
                    lines = text.splitlines()[whole[0].lineno - 1 : node.end_lineno]
                    found[node.name] = "\n".join(lines)
        return self._files[file]


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
