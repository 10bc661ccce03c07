"""Tests that show a row of the support table which no program of the corpus can show.

A test says so with a marker: the numbers of its rows, and the code if it shows a refusal. ::

    @pytest.mark.row(104)
    @pytest.mark.row(115, refused="D2S307")

The markers are read from the text of the tests, so they stand on module-level test functions and
hold literals. This module is also the pytest plugin that writes down how these tests ended.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corpus.rows import LAST, NUMBERS

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
# A test that fails for one parameter fails; one that is skipped for some parameters passes.
_WEIGHT = {"failed": 2, "passed": 1, "skipped": 0}


class EvidenceError(Exception):
    """A marker cannot be understood; the message names the test."""


@dataclass(frozen=True)
class Mark:
    """What one marker says: the rows, and the code of the error if the test shows a refusal."""

    rows: tuple[int, ...]
    refused: str = ""


def marks(folder: Path = TESTS, root: Path = ROOT) -> dict[str, tuple[Mark, ...]]:
    """The marks of each marked test below ``folder``, by ``file::function``, sorted."""
    found: dict[str, tuple[Mark, ...]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.row" not in text:
            continue
        name = path.relative_to(root).as_posix()
        tree = ast.parse(text)
        strange = sum(map(_is_marker, ast.walk(tree)))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                mine = tuple(_marks_of(node, f"{name}::{node.name}"))
                strange -= len(mine)
                if mine:
                    found[f"{name}::{node.name}"] = mine
        if strange:
            raise EvidenceError(f"{name}: a row marker stands elsewhere than on a test function")
    return found


def _marks_of(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[Mark]:
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or not _is_marker(decorator.func):
            continue
        try:
            rows = tuple(ast.literal_eval(argument) for argument in decorator.args)
            options = {key.arg: ast.literal_eval(key.value) for key in decorator.keywords}
            mark = Mark(rows, **options)
        except (ValueError, TypeError):
            raise EvidenceError(
                f"{name}: a row marker takes numbers and refused='D2S...'"
            ) from None
        if not rows or not NUMBERS.issuperset(rows):
            raise EvidenceError(f"{name}: rows must be numbers from 1 to {LAST}, not {rows}")
        yield mark


def _is_marker(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.row"


def run(names: list[str], jobs: int = 1) -> dict[str, str]:
    """Run these tests and say how each ended: passed, failed, skipped or missing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "corpus.evidence"]
        command += ["-n", str(jobs)] if jobs > 1 else []
        environment = {**os.environ, "CORPUS_OUTCOMES": str(file)}
        subprocess.run([*command, *names], cwd=ROOT, env=environment, check=False)
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: found.get(name, "missing") for name in names}


# -- the plugin ----------------------------------------------------------------------------------

_outcomes: dict[str, str] = {}


def note(outcomes: dict[str, str], report: Any) -> None:
    """Take one report of pytest into account: of a phase of a test with one set of parameters."""
    if report.when != "call" and report.outcome == "passed":
        return
    name = report.nodeid.split("[")[0]
    known = outcomes.setdefault(name, report.outcome)
    outcomes[name] = max(known, report.outcome, key=_WEIGHT.__getitem__)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    note(_outcomes, report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = os.environ.get("CORPUS_OUTCOMES")
    if file and not hasattr(session.config, "workerinput"):
        Path(file).write_text(json.dumps(_outcomes), encoding="utf-8")
