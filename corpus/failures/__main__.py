"""``python -m corpus.failures``: run the programs that fail, and write ``docs/guide/failures.md``.

Dygraph and d2s run every program each time; Paddle's converter runs the new and the changed ones,
and all of them under another Paddle or Python. Ends with 1 if d2s names a wrong line or raises a
wrong type, with 2 when a program or a name is bad.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

os.environ.setdefault("GLOG_minloglevel", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import functools
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Annotated

warnings.filterwarnings("ignore")

import typer

from corpus import record
from corpus.case import CaseError
from corpus.converters import converter as imported
from corpus.converters import run_all_apart
from corpus.failures import report
from corpus.failures.failure import Failure, load, load_all, paths
from corpus.failures.report import AST, CONVERTERS, D2S, DYGRAPH, Notes, Told
from corpus.failures.shown import Shown, show_apart
from corpus.language import write

TIMEOUT = 60.0


def main(
    name: Annotated[
        list[str] | None,
        typer.Argument(help="Run only these programs, and print what is shown of them."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Run Paddle's converter on unchanged programs too.")
    ] = False,
    render_: Annotated[
        bool, typer.Option("--render", help="Run nothing, only write the page again.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
) -> None:
    """Run the failing programs with each converter, note what is shown, write the page."""
    try:
        failures = load_all()
        chosen = [load(each) for each in name or ()]
    except CaseError as error:
        print(f"corpus.failures: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    if chosen:
        _print(chosen, jobs)
        raise typer.Exit(0)
    notes = {converter: report.read(converter) for converter in CONVERTERS}
    if not render_:
        _update(notes, failures, everything=all_, jobs=jobs)
    write(report.PAGE, functools.partial(report.render, failures, notes))
    judged = report.judge(failures, notes, D2S)
    bad = [each for each in judged if not (each.type and each.line)]
    for each in bad:
        print(f"{each.failure.name}: {each.told.type or 'no error'} at line {each.told.line}")
    raise typer.Exit(1 if bad else 0)


def _print(failures: Sequence[Failure], jobs: int) -> None:
    """Print what each converter shows."""
    for converter, title in CONVERTERS.items():
        for shown in _run(failures, converter, jobs):
            text = shown.text if isinstance(shown, Shown) else str(shown.verdict)
            print(f"--- {shown.name}, {title}\n{text or 'no error'}")


def _run(failures: Iterable[Failure], converter: str, jobs: int) -> list[Shown]:
    if converter == D2S:
        imported(D2S)  # once, and not in each process; d2s comes last, for it repairs Paddle
    return list(run_all_apart(failures, converter, TIMEOUT, jobs, show_apart))


def _update(
    notes: dict[str, Notes], failures: Sequence[Failure], *, everything: bool, jobs: int
) -> None:
    """Run what has to be run, and write it down."""
    where = paths()
    dygraph = {shown.name: shown for shown in _run(failures, DYGRAPH, jobs)}
    for converter, known in notes.items():
        known.told = {name: told for name, told in known.told.items() if name in where}
        todo = [
            each
            for each in failures
            if everything
            or converter != AST
            or not known.current
            or each.name not in known.told
            or known.told[each.name].hash != record.digest(each.path)
        ]
        results = dygraph.values() if converter == DYGRAPH else _run(todo, converter, jobs)
        for result in results:
            hash_ = record.digest(where[result.name])
            known.note(
                result.name,
                Told.of(result, hash_, dygraph[result.name])
                if isinstance(result, Shown)
                else Told(hash_, lost=result.verdict),
            )
        report.write(known)


if __name__ == "__main__":
    typer.run(main)
