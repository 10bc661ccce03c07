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
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final, NamedTuple

import coverage

from tests.mutation.contexts import TIMES
from tests.mutation.mutants import Mutant

NOTHING: Final = 5
"""Pytest's exit status for a file in which every test is slow."""

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


def record(folder: Path, root: Path, added: tuple[str, ...] = (), jobs: int = 1) -> int:
    """Run the suite under coverage and write what it ran into ``folder``; 1 where a test failed.

    Each file of tests has a process of its own, so that one that dies takes no other with it, and
    Paddle's threads end with it.

    Args:
        folder: where the record is.
        root: the repository.
        added: arguments for pytest: only these tests, added to the record that there is.
        jobs: how many processes at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "tests.json"
    noted: dict[str, Any] = {"tests": {}, "added": [], "files": {}}
    if added and kept.exists():
        noted = json.loads(kept.read_text("utf-8"))
    else:
        for name in ("tests.json", "coverage", "started"):
            (folder / name).unlink(missing_ok=True)
        files = (root / "d2s").rglob("*.py")
        noted["files"] = {path.relative_to(root).as_posix(): _digest(path) for path in files}
    parts = [added] if added else _parts(root)
    status = 0
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(jobs) as pool:
        runs = {
            pool.submit(_run, Path(place) / str(number), root, part): part
            for number, part in enumerate(parts)
        }
        for done, run in enumerate(as_completed(runs), 1):
            part = " ".join(runs[run])
            found, last, code = run.result()
            status |= code not in (0, NOTHING)
            print(f"{done}/{len(parts)} {part}: {last}", file=sys.stderr, flush=True)
            noted["tests"] |= found.tests
            noted["added"] += sorted(found.tests) if added else []
            _merge(folder / "coverage", found.own)
            _merge(folder / "started", found.started)
    kept.write_text(json.dumps(noted), "utf-8")
    return int(status)


def _parts(root: Path) -> list[tuple[str, ...]]:
    """The arguments for pytest of each process, together the quick suite; long texts first."""
    files = sorted((root / "tests").rglob("test_*.py"), key=lambda path: -path.stat().st_size)
    quick = [("-m", "not slow", path.relative_to(root).as_posix()) for path in files]
    return [("--doctest-modules", "d2s"), *quick]


class _Found(NamedTuple):
    """What one run of pytest has left: its own lines by test, and those of what it started."""

    tests: dict[str, Any]
    own: list[Path]
    started: list[Path]


def _run(place: Path, root: Path, part: tuple[str, ...]) -> tuple[_Found, str, int]:
    """Run pytest with ``part``: what was found, its last words, its exit status."""
    place.mkdir()
    times, settings = place / "times.json", place / "settings"
    settings.write_text("[run]\nbranch = true\nparallel = true\npatch = subprocess\n", "utf-8")
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "--source=d2s"),
            *(f"--data-file={place / 'coverage'}", "-m", "pytest", "-q"),
            *("-o", "faulthandler_timeout=0"),  # coverage is slow
            *("-p", "tests.mutation.contexts", *part),
        ],
        cwd=root,
        env={**os.environ, TIMES: str(times)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        told, _ = process.communicate()
    if process.returncode not in (0, NOTHING):
        print(told, file=sys.stderr)
    files = sorted(place.glob("coverage.*"))
    own = [path for path in files if f".pid{process.pid}." in path.name]
    tests = json.loads(times.read_text("utf-8")) if times.exists() else {}
    found = _Found(tests, own, [path for path in files if path not in own])
    last = told.strip().splitlines() or [f"exit status {process.returncode}"]
    return found, last[-1], process.returncode


def _merge(target: Path, files: list[Path]) -> None:
    """Add the lines of ``files`` to those in ``target``."""
    data = coverage.CoverageData(str(target))
    data.read()
    for path in files:
        new = coverage.CoverageData(str(path))
        new.read()
        data.update(new)
    data.close()


def _digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
