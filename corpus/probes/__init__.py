"""Small experiments beside the corpus: what no comparison of single calls can show.

A probe is one file, ``corpus/probes/<name>.py``. Its docstring says in one sentence what is tried;
``probe(convert)`` tries it and returns a verdict in the words of the corpus, ``right``, ``failed
...`` or ``WRONG ...``. Each runs in a process of its own, because it may crash or hang; and each is
run without any converter as well, where it has to be right.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from corpus.converters import NO_ANSWER

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


def paths() -> dict[str, Path]:
    """The file of each probe by its name, sorted."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py")) if path.stem[0] != "_"}


def summary(name: str) -> str:
    """The sentence that says what a probe tries."""
    text = ast.get_docstring(ast.parse(paths()[name].read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def run(name: str, converter: str, timeout: float) -> str:
    """The verdict of a probe on a converter; ``none`` leaves the function as it is."""
    command = [sys.executable, "-m", "corpus.probes", name, converter]
    environment = {**os.environ, "GLOG_minloglevel": "2", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=timeout, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"{NO_ANSWER} in {timeout:.0f} s"
    found = [line for line in done.stdout.splitlines() if line.startswith("verdict: ")]
    if done.returncode or not found:
        return f"failed the process ended with {done.returncode}"
    return found[-1].removeprefix("verdict: ")
