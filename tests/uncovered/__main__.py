"""``python -m tests.uncovered FILE``: what no test runs, and has no reason in ``left.json``.

``FILE`` is what ``coverage`` has written, ``.coverage`` unless given.  A function is left out when
``left.json`` says why some of its lines or branches are run by no test.  Printed is what is left
without a reason, and which reasons nothing needs any more: the function is run whole by now.

Exit status: 0 when everything has a reason and at least ``--at-least`` percent of lines and
branches are run, 1 when not, 2 for a wrong argument.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.uncovered.left import Left

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.uncovered")
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / ".coverage")
    parser.add_argument("--at-least", type=float, default=95.0, metavar="PERCENT")
    given = parser.parse_args(arguments)
    if not given.file.is_file():
        parser.error(f"there is no file {given.file}: run `make coverage` first")
    return report(_measured(given.file.resolve()), Left.read(), given.at_least)


def _measured(file: Path) -> dict[str, Any]:
    """What ``coverage json`` says of a file of measurements."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "-q"]
        subprocess.run([*command, f"--data-file={file}", "-o", str(made)], check=True, cwd=ROOT)
        found: dict[str, Any] = json.loads(made.read_text(encoding="utf-8"))
    return found


def report(measured: dict[str, Any], left: Left, at_least: float) -> int:
    """Print what is left; the exit status."""
    missed = dict(missed_in(measured))
    bare = [name for name in missed if name not in left.reasons]
    for name in bare:
        print(f"no reason: {name}: {missed[name]}")
    for name in sorted(left.reasons.keys() - missed.keys()):
        print(f"not needed: {name}")
    percent = measured["totals"]["percent_covered"]
    print(
        f"{percent:.1f} % of lines and branches are run; {len(missed)} functions not whole, "
        f"{len(missed) - len(bare)} of them with a reason"
    )
    return 0 if percent >= at_least and not bare else 1


def missed_in(measured: dict[str, Any]) -> list[tuple[str, str]]:
    """The functions that are not run whole, ``module:name``, with the lines in words."""
    found = []
    for file, of_file in sorted(measured["files"].items()):
        module = ".".join(Path(file).with_suffix("").parts).removesuffix(".__init__")
        for name, part in of_file["functions"].items():
            lines = part["missing_lines"]
            ways = [f"{a}->{b}" for a, b in part["missing_branches"] if b not in lines]
            if lines or ways:
                words = ", ".join([*map(str, lines), *ways])
                found.append((f"{module}:{name or '<module>'}", words))
    return found


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
