"""A process for each package, and from it one for each loop, as for the models of the zoo.

``python -m corpus.generation.runner PACKAGE STAGES LIMIT NAME...`` is such a process; it prints one
line of JSON for each loop.  Without names it prints those of the package's loops.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from corpus.generation.judge import judge, summary
from corpus.generation.model import loops_of
from corpus.zoo.model import package
from corpus.zoo.runner import ENVIRONMENT, python_path, watched
from corpus.zoo.standins import ROOT, prepare


def run(name: str, *words: str) -> Iterator[Any]:
    """What the process of a package prints."""
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": python_path(package(name))}
    command = [sys.executable, "-m", "corpus.generation.runner", name, *words]
    place = ROOT / "logs"
    place.mkdir(parents=True, exist_ok=True)
    with (
        (place / f"generation-{name}.log").open("a") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        ) as process,
    ):
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)


def serve(name: str, stages: Sequence[str], limit: float, names: Sequence[str]) -> None:
    """Import the package and run its loops, each in a fork."""
    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no answer
    prepare(package(name))
    known = {loop.name: loop for loop in loops_of(name)}
    for each in names or known:
        answer: dict[str, Any] = {"name": each}
        if names:
            found = watched(lambda say, each=each: judge(known[each], say, stages), limit)
            answer |= summary(found)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve(sys.argv[1], sys.argv[2].split(","), float(sys.argv[3]), sys.argv[4:])
