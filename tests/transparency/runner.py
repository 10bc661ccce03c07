"""Runs a suite twice, as it is and converted, and compares test by test."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.transparency.catalogue import DEFECTS, EXCLUDED, Suite

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("D2S_TRANSPARENCY_CACHE", HERE / ".cache"))
LIMIT = 1800
"""Seconds that one run of one suite may take."""


class TransparencyError(Exception):
    """A run that could not be made.

    ``T1``: the archive cannot be fetched; ``T2``: it is not the pinned one; ``T3``: a run did not
    come to its end; ``T4``: there is nothing to compare.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{text}  [{code}]")
        self.code = code


@dataclass
class Report:
    """What one suite has shown.

    Attributes:
        name: the suite.
        tests: tests that pass as they are, and are compared.
        converted: functions that were converted where they are defined.
        called: how many of these the tests call.
        on_demand: functions that ``d2s.call`` converted in addition.
        refused: ``(place, code, cause)`` of functions that were left as they are.
        failures: new failures: test id -> message.
        excluded, defects: differing tests that the catalogue names.
        stale: tests named in ``DEFECTS`` that pass.
        error: why there is no result.
    """

    name: str
    tests: int = 0
    converted: int = 0
    called: int = 0
    on_demand: int = 0
    refused: list[tuple[str, str, str]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    excluded: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def fetch(suite: Suite) -> Path:
    """The unpacked archive of ``suite``, from the cache or from the package index.

    Raises:
        TransparencyError: (T1, T2).
    """
    name, _, version = suite.archive.partition("==")
    folder = CACHE / f"{name}-{version}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
        command += ["--disable-pip-version-check", "--quiet", "--dest", scratch, suite.archive]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        archives = list(Path(scratch).glob("*.tar.gz"))
        if done.returncode or len(archives) != 1:
            reason = (done.stderr.strip().splitlines() or ["no archive"])[-1]
            raise TransparencyError(
                "T1",
                f"{suite.archive} cannot be fetched ({reason}); the suites of the standard library "
                "need no network",
            )
        digest = hashlib.sha256(archives[0].read_bytes()).hexdigest()
        if digest != suite.sha256:
            raise TransparencyError("T2", f"the archive of {suite.archive} has sha256 {digest}")
        with tarfile.open(archives[0]) as archive:
            archive.extractall(scratch, filter="data")
        unpacked = next(path for path in Path(scratch).iterdir() if path.is_dir())
        unpacked.rename(folder)
    return folder


def order(suite: Suite, mode: str, out: Path) -> dict[str, Any]:
    """What the worker is told."""
    found: dict[str, Any] = {
        "mode": mode,
        "modules": suite.modules,
        "leave": (),
        "imports": (),
        "path": (),
        "tests": suite.tests,
        "runner": "unittest",
        "out": str(out),
    }
    if suite.archive:
        folder = fetch(suite)
        found |= {
            "runner": "pytest",
            "cwd": str(folder),
            "path": [str(folder / suite.source)],
            "tests": [*suite.options, *suite.tests],
        }
    return found


def run(suite: Suite, mode: str) -> dict[str, Any]:
    """One run in a process of its own.

    Args:
        suite: the package.
        mode: ``plain``, ``converted``, or ``broken``: with conversions that are wrong on purpose.

    Raises:
        TransparencyError: (T1, T2, T3).
    """
    environment = {
        **os.environ,
        "GLOG_minloglevel": "2",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "COLUMNS": "80",
        "D2S_VERIFY": os.environ.get("D2S_TRANSPARENCY_VERIFY", "0"),
    }
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        text = json.dumps(order(suite, mode, out))
        try:
            done = subprocess.run(
                [sys.executable, str(HERE / "worker.py"), text],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TransparencyError("T3", f"{suite.name}, {mode}: no end in {LIMIT} s") from None
        if not out.exists():
            tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
            raise TransparencyError(
                "T3", f"{suite.name}, {mode}: exit status {done.returncode}, no result\n{tail}\n"
            )
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found


def compare(name: str, plain: dict[str, Any], converted: dict[str, Any]) -> Report:
    """The report of two runs."""
    before, after = plain["outcomes"], converted["outcomes"]
    passing = [test for test, (outcome, _) in before.items() if outcome == "passed"]
    report = Report(
        name,
        tests=len(passing),
        converted=len(converted["converted"]),
        called=len(set(converted["converted"]) & set(plain["called"])),
        on_demand=converted["on_demand"],
        refused=[tuple(item) for item in converted["refused"]],
        seconds=round(plain["seconds"] + converted["seconds"], 1),
    )
    for test in passing:
        outcome, text = after.get(test, ("missing", "the test was not run"))
        if outcome == "passed":
            if test in DEFECTS:
                report.stale.append(test)
        elif test in EXCLUDED:
            report.excluded.append(test)
        elif test in DEFECTS:
            report.defects.append(test)
        else:
            report.failures[test] = text or outcome
    for test, (outcome, text) in after.items():  # a file that cannot be collected any more
        if outcome == "failed" and test not in before:
            report.failures[test] = text
    return report


def check(suite: Suite) -> Report:
    """Both runs of ``suite``, compared."""
    try:
        plain = run(suite, "plain")
        if not any(outcome == "passed" for outcome, _ in plain["outcomes"].values()):
            raise TransparencyError("T4", f"{suite.name}: no test passes as it is")
        return compare(suite.name, plain, run(suite, "converted"))
    except TransparencyError as error:
        return Report(suite.name, error=str(error))


def check_all(
    suites: Iterable[Suite], jobs: int, done: Callable[[Report], None] = lambda report: None
) -> list[Report]:
    """The reports of ``suites``, in their order; ``done`` is told of each as it comes."""

    def one(suite: Suite) -> Report:
        report = check(suite)
        done(report)
        return report

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, suites))


COLUMNS = ("package", "tests", "converted", "called", "on demand", "refused", "new failures")


def table(reports: Iterable[Report]) -> str:
    """The reports as a table, and below it what has to be looked at."""
    reports = list(reports)
    rows = [COLUMNS]
    for report in reports:
        numbers: tuple[Any, ...] = (
            report.tests, report.converted, report.called, report.on_demand,
            len(report.refused), len(report.failures),
        )  # fmt: skip
        rows.append((report.name, *(str(number) for number in numbers)))
    sums = [sum(int(row[column]) for row in rows[1:]) for column in range(1, len(COLUMNS))]
    rows.append(("total", *(str(number) for number in sums)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(
            text.rjust(width) if column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*lines, *_notes(reports)])


def _notes(reports: list[Report]) -> Iterator[str]:
    codes = Counter((code, cause) for report in reports for _, code, cause in report.refused)
    for (code, cause), count in codes.most_common():
        yield f"refused {count}: {code} {cause}"
    for report in reports:
        for test in report.excluded:
            yield f"excluded: {test}: {EXCLUDED[test]}"
        for test in report.defects:
            yield f"known defect: {test}: {DEFECTS[test]}"
        for test in report.stale:
            yield f"passes again, take it out of DEFECTS: {test}"
        for test, text in report.failures.items():
            with contextlib.suppress(IndexError):
                text = text.strip().splitlines()[-1]
            yield f"NEW FAILURE in {report.name}: {test}: {text}"
        if report.error:
            yield f"NO RESULT for {report.name}: {report.error}"
