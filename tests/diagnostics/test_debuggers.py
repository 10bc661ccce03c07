"""Real tools on converted code: pdb in a terminal, coverage.py, cProfile, warnings and logging.

Each runs a small program as a script of its own, without d2s and with it, and must speak of the
same places of the user's file (decision 0001; rule F2).
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paddle
import pexpect
import pytest

import d2s
from tests.helpers import tensor
from tests.processes import python

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """\
import sys

import paddle

import d2s


def scaled(x, factor):
    if x > 0:
        y = x * factor
        y = y + 1
    else:
        y = x - 1
    return y


def model(x):
    total = x
    for step in range(2):
        total = scaled(total, step + 1)
    return total


PYTHON = sys.argv[1].startswith("python")
CONVERT = {"convert": d2s.convert, "static": d2s.to_static}
f = CONVERT.get(sys.argv[1].split("-")[-1], lambda function: function)(model)


print(float(f(3.0 if PYTHON else paddle.ones([]))))
"""
BRANCH, LAST, TURN = 10, 14, 20  # y = x * factor; return y; total = scaled(...)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def environment() -> dict[str, str]:
    quiet = {
        "GLOG_minloglevel": "3",
        "OMP_NUM_THREADS": "1",
        "TERM": "dumb",
        "PYTHONPATH": str(ROOT),
    }
    return {**os.environ, **quiet, "PYTHONWARNINGS": "ignore"}


def run(*command: str, cwd: Path) -> str:
    done = python(*command, cwd=cwd, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- pdb -----------------------------------------------------------------------------------------


class Debugger:
    """pdb in a terminal; each command gives back what is shown until the next prompt."""

    def __init__(self, *command: str, cwd: Path) -> None:
        self.terminal = pexpect.spawn(
            sys.executable, list(command), cwd=str(cwd), env=environment(),
            encoding="utf-8", timeout=240, dimensions=(50, 200), echo=False,
        )  # fmt: skip
        self.shown = self._until_prompt()

    def _until_prompt(self) -> str:
        self.terminal.expect_exact("(Pdb) ")
        return str(self.terminal.before).replace("\r\n", "\n")

    def __call__(self, command: str) -> str:
        self.terminal.sendline(command)
        self.shown = self._until_prompt()
        return self.shown

    def place(self) -> tuple[int, str, str]:
        """Line, function and text of the place in ``net.py`` at which it stands."""
        found = re.findall(r"^> \S*net\.py\((\d+)\)(\w+)\(\).*\n-> (.*)$", self.shown, re.MULTILINE)
        assert found, self.shown
        line, function, text = found[-1]
        return int(line), function, text


@pytest.fixture
def pdb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    started: list[Debugger] = []

    def start(*command: str) -> Debugger:
        started.append(Debugger(*command, cwd=tmp_path))
        return started[-1]

    yield start
    for each in started:
        each.terminal.close(force=True)


@pytest.mark.parametrize("how", ["none", "static"])
def test_a_breakpoint_in_a_branch_is_come_to(script: Path, pdb: Any, how: str) -> None:
    """F2: set by line in the original file, while a program is captured; names and steps work."""
    debugger = pdb("-m", "pdb", str(script), how)
    assert f"Breakpoint 1 at {script}:{BRANCH}" in debugger(f"b {BRANCH}")
    debugger("c")
    assert debugger.place() == (BRANCH, "scaled", "y = x * factor")
    assert debugger("p factor").strip() == "1"
    debugger("n")
    assert debugger.place() == (BRANCH + 1, "scaled", "y = y + 1")
    debugger("c")
    assert debugger.place() == (BRANCH, "scaled", "y = x * factor")
    assert debugger("p factor").strip() == "2"


def test_places_and_texts_are_the_users(script: Path, pdb: Any) -> None:
    """B1, F2: capture comes to both sides; "list" and "where" show the user's file and frames."""
    debugger = pdb("-m", "pdb", str(script), "static")
    for line in (BRANCH, 13, LAST):
        debugger(f"b {line}")
    debugger("c")
    assert debugger.place() == (BRANCH, "scaled", "y = x * factor")
    shown = debugger("l 8, 14")
    assert [line for line in PROGRAM.splitlines()[7:14] if line not in shown] == []
    debugger("c")
    assert debugger.place() == (13, "scaled", "y = x - 1")
    debugger("c")
    assert debugger.place() == (LAST, "scaled", "return y")
    frames = re.findall(r"^. \S*net\.py\((\d+)\)(\w+|<module>)\(\)\n-> (.*)$", debugger("w"), re.M)
    assert ("20", "model", "total = scaled(total, step + 1)") in frames
    assert frames[-1] == ("14", "scaled", "return y")
    assert frames[0][1] == "<module>"


def test_a_call_of_breakpoint_stops_in_the_users_line(tmp_path: Path, pdb: Any) -> None:
    """F2: ``breakpoint()`` in converted code, in a branch, at capture."""
    path = tmp_path / "net.py"
    text = PROGRAM.replace("        y = y + 1\n", "        breakpoint()\n        y = y + 1\n")
    path.write_text(text, encoding="utf-8")
    debugger = pdb(str(path), "static")
    stops_before = sys.version_info >= (3, 13)  # and stopped behind the call in earlier versions
    places = {True: (11, "scaled", "breakpoint()"), False: (12, "scaled", "y = y + 1")}
    assert debugger.place() == places[stops_before]
    assert debugger("p factor").strip() == "1"
    assert debugger("p sorted(name for name in locals() if name in 'xy')").strip() == "['x', 'y']"


LINES = {
    "python": [18, 19, 20, 8, 9, 10, 11, 14, 19, 20, 8],
    "python-convert": [18, 19, 20, 8, 9, 10, 11, 14, 20, 19, 20, 8],
    "static": [18, 19, 20, 8, 9, 10, 11, 9, 13, 14, 20, 19, 20, 8],
}
"""What "step" comes to.  The body of a converted loop is left on its last line, and a program
captures both sides of the branch on line 9."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", LINES)
@pytest.mark.parametrize("start", ["-m pdb", "breakpoint"])
def test_stepping_goes_over_d2s(tmp_path: Path, pdb: Any, start: str, how: str) -> None:
    """F2: "step" stops in the user's lines alone, one after the other, into helpers and out."""
    path = tmp_path / "net.py"
    path.write_text(PROGRAM, encoding="utf-8")
    command = ["-m", "pdb"]
    if start == "breakpoint":
        path.write_text(PROGRAM.replace("    total = x\n", "    breakpoint(); total = x\n"))
        command = []
    debugger = pdb(*command, str(path), how)
    if command:
        debugger("b 18")
        debugger("c")
    found = [debugger.place()[0]]
    wanted = LINES[how][LINES[how].index(found[0]) :]  # breakpoint() stops behind itself until 3.12
    while len(found) < len(wanted):
        stop = re.search(r"^> .*/net\.py\((\d+)\)", debugger("s"), re.MULTILINE)
        assert stop is not None, debugger.shown
        line = int(stop[1])
        if line != found[-1]:  # a call, and the return of one, are stops of their own
            found.append(line)
    assert found == wanted


# -- coverage ------------------------------------------------------------------------------------


def covered(script: Path, how: str) -> set[int]:
    """The lines of the program that coverage.py counts as run."""
    folder = script.parent
    run("-m", "coverage", "run", "--include=net.py", script.name, how, cwd=folder)
    run("-m", "coverage", "json", "-q", "-o", "out.json", cwd=folder)
    found = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    (file,) = found["files"].values()
    return set(file["executed_lines"])


def test_coverage_of_python_values_is_the_same(script: Path) -> None:
    """F2, A1: on Python values exactly the lines that run without d2s are counted."""
    plain = covered(script, "python")
    assert covered(script, "python-convert") == plain
    assert {10, 11} <= plain
    assert 13 not in plain


def test_coverage_of_a_program_counts_both_sides(script: Path) -> None:
    """F2, B1: at capture every line that may run is counted, and no other line."""
    plain = covered(script, "none")
    captured = covered(script, "static")
    assert captured == plain | {13}


# -- profilers -----------------------------------------------------------------------------------


def profiled(script: Path, how: str) -> dict[tuple[int, str], int]:
    """How often cProfile counts each function of the program."""
    code = (
        "import cProfile, json, pstats, runpy, sys; sys.argv = [sys.argv[1], sys.argv[2]]; "
        "profile = cProfile.Profile(); "
        "profile.runcall(runpy.run_path, sys.argv[0]); "
        "print(json.dumps([[*key, value[1]] for key, value in pstats.Stats(profile).stats.items() "
        "if key[0].endswith('net.py')]))"
    )
    rows = json.loads(run("-c", code, str(script), how, cwd=script.parent).splitlines()[-1])
    return {(line, name): calls for _, line, name, calls in rows}


def test_a_profiler_counts_the_users_functions(script: Path) -> None:
    """F2: by the name and the first line that they have in the user's file."""
    plain = profiled(script, "python")
    converted = profiled(script, "python-convert")
    mine = {key: calls for key, calls in plain.items() if key[1] in ("scaled", "model")}
    assert mine == {(8, "scaled"): 2, (17, "model"): 1}
    assert {key: converted.get(key) for key in mine} == mine


# -- warnings and logging ------------------------------------------------------------------------


def warned_at(function: Any) -> list[tuple[str, int]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(tensor(1.0))
    return [(item.filename, item.lineno) for item in caught if "careful" in str(item.message)]


def test_warnings_name_the_line() -> None:
    """F2: also with a stack level, out of branches, loops, comprehensions and helpers."""

    def helper(level):
        warnings.warn("careful", stacklevel=level)

    def f(x):
        if x.sum() > 0:
            warnings.warn("careful", stacklevel=1)
            helper(2)
        for _ in range(2):
            helper(1)
        [helper(2) for _ in (x,)]
        return x

    # What no tensor decides is warned of at capture, and so before what one decides.
    assert sorted(warned_at(d2s.to_static(f))) == sorted(warned_at(f))
    assert len(warned_at(f)) == 5


def test_logging_names_the_line(caplog: pytest.LogCaptureFixture) -> None:
    """F1, F2: file, line and function of a record, whose text is made on the run."""
    logger = logging.getLogger("net")

    def f(x):
        if x.sum() > 0:
            logger.warning(
                "the sum is %s",
                x.sum(),
            )
        logger.warning("plain")
        return x

    places = []
    for function in (f, d2s.to_static(f)):
        caplog.clear()
        function(tensor(1.0))
        places.append([(item.pathname, item.lineno, item.funcName) for item in caplog.records])
    assert places[0] == places[1]
    assert len(places[0]) == 2


def test_the_program_is_the_one_that_the_lines_are_of() -> None:
    """The numbers in this file speak of the program above."""
    lines = PROGRAM.splitlines()
    assert lines[BRANCH - 1].strip() == "y = x * factor"
    assert lines[LAST - 1].strip() == "return y"
    assert lines[TURN - 1].strip() == "total = scaled(total, step + 1)"
    assert textwrap.dedent(lines[12]) == "y = x - 1"
    assert paddle.in_dynamic_mode()
