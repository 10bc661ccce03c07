"""Tests on other versions: ``python -m tests.matrix`` makes an environment for each and runs them.

    python -m tests.matrix                            samples, and a share of the suite
    python -m tests.matrix --paddle 3.2.2 --python 3.11 --part suite --take 20

The suite is cut in ``--shares``, and each pair begins with another one; each has a process of its
own, in which a worker may die of a test and the next ones are run all the same.

Results go to ``tests/matrix/results.json``, and from there to ``docs/guide/versions.md``.  A test
that d2s refuses because this Paddle lacks an operation counts as refused, not as failed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import tomllib

from tests.matrix.page import RESULTS, ROOT, results, write_page

PADDLES = ("3.1.1", "3.2.0", "3.2.1", "3.2.2", "3.3.0", "3.3.1")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
SUITE = ("tests/semantics", "tests/unit/runtime", "tests/unit/program", "tests/integration")
NOTEBOOK = "tests/integration/test_notebook.py"  # asks for a kernel, whichever Paddle it has
PARTS = {
    "suite": (*SUITE, "-p", "tests.matrix.share", "-m", "not slow", f"--ignore={NOTEBOOK}"),
    "samples": ("tests/samples/test_samples.py",),
    "gradients": ("tests/semantics/test_gradients.py",),
    "at home": ("tests/integration",),
}
REFUSED = re.compile(
    r"Python's code is to run in|joined inside of a program here, and Paddle"
    r"|D2S205|of Paddle 3\.[0-2]\S* fails while the program is captured"
)
"""How d2s says that this Paddle lacks what a program would need; pytest cuts long ones."""


def _shares(paddle: str, python: str, asked: argparse.Namespace) -> list[tuple[str, ...]]:
    """The shares of the suite that a pair runs, as options of pytest; another first for each."""
    first = PADDLES.index(paddle) * len(PYTHONS) + PYTHONS.index(python)
    count = min(asked.take, asked.shares)
    return [(f"--share={(first + each) % asked.shares}/{asked.shares}",) for each in range(count)]


def _interpreter(version: str) -> str:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return str(found[-1]) if found else str(shutil.which(f"python{version}"))


def _environment(home: Path, paddle: str, python: str) -> Path:
    """The interpreter of an environment with this pair; made where there is none."""
    folder = home / f"v{paddle}-{python}"
    found = folder / "bin" / "python"
    if found.exists():
        return found
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = project["optional-dependencies"]["dev"]
    tools = ("pytest", "hypothesis", "hypothesmith", "pexpect")  # pytest-xdist among them
    wanted = [*project["dependencies"], *(each for each in extra if each.startswith(tools))]
    subprocess.run([_interpreter(python), "-m", "venv", str(folder)], check=True)
    others = (f"paddlepaddle=={paddle}", "setuptools", "pyyaml")
    command = [str(found), "-m", "pip", "install", "-q", *others]
    subprocess.run([*command, *wanted], check=True)
    return found


def _run(interpreter: Path, tests: tuple[str, ...], limit: int) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    tried = subprocess.run(
        [str(interpreter), "-W", "ignore", "-c", "import d2s"],
        capture_output=True, text=True, cwd=ROOT, env=environment, check=False,
    )  # fmt: skip
    if tried.returncode:
        code = re.search(r"D2S\d+", tried.stderr)
        said = f"refused at import ({code[0]})" if code else "`import d2s` fails"
        return {"passed": 0, "refused": 0, "failed": [], "note": said}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [str(interpreter), "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
        command += ["-n", "1", f"--junitxml={report}", *tests]
        try:
            subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"passed": 0, "refused": 0, "failed": [], "note": f"not done in {limit} s"}
        if not report.exists():
            return {"passed": 0, "refused": 0, "failed": ["pytest"], "note": "the process ended"}
        return _counted(ElementTree.parse(report))


def _counted(report: Any) -> dict[str, Any]:
    passed, refused, failed = 0, 0, []
    for case in report.iter("testcase"):
        wrong = [each for each in case if each.tag in ("failure", "error")]
        if not wrong:
            passed += case.find("skipped") is None
        elif any(REFUSED.search(f"{each.get('message')} {each.text}") for each in wrong):
            refused += 1
        else:
            failed.append(str(case.get("name")))
    return {"passed": passed, "refused": refused, "failed": failed, "note": ""}


def _summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    """What several processes have found."""
    return {
        "passed": sum(each["passed"] for each in found),
        "refused": sum(each["refused"] for each in found),
        "failed": [name for each in found for name in each["failed"]],
        "note": "; ".join(dict.fromkeys(each["note"] for each in found if each["note"])),
    }


def _note(result: dict[str, Any]) -> None:
    key = ("paddle", "python", "part")
    kept = [each for each in results() if any(each[name] != result[name] for name in key)]
    RESULTS.write_text(json.dumps([*kept, result], indent=1) + "\n")
    write_page()


def main(arguments: list[str]) -> int:
    """Run what is asked for; 1 where a test has failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--paddle", nargs="*", default=PADDLES)
    parser.add_argument("--python", nargs="*", default=PYTHONS)
    parser.add_argument("--part", nargs="*", default=["samples", "suite"], choices=PARTS)
    parser.add_argument("--shares", type=int, default=20, help="in how many the suite is cut")
    parser.add_argument("--take", type=int, default=1, help="how many of them each pair runs")
    parser.add_argument("--home", type=Path, default=ROOT / ".cache" / "matrix")
    parser.add_argument("--limit", type=int, default=3600, help="seconds for one process")
    asked = parser.parse_args(arguments)
    failed = False
    for paddle in asked.paddle:
        for python in asked.python:
            interpreter = _environment(asked.home, paddle, python)
            for part in asked.part:
                runs = _shares(paddle, python, asked) if part == "suite" else [()]
                found = _summed(
                    [_run(interpreter, (*PARTS[part], *each), asked.limit) for each in runs]
                )
                on = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
                pair = {"paddle": paddle, "python": python, "part": part}
                count = f"{len(runs)} of {asked.shares} shares"
                of = ("whole" if len(runs) == asked.shares else count) if part == "suite" else ""
                _note({**pair, "of": of, **found, "date": on})
                print(paddle, python, part, found)
                failed = failed or bool(found["failed"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
