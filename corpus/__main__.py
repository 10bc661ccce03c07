"""``python -m corpus``: run cases through a converter and print a table of verdicts.

Ends with 0 if every case is right or refused, 1 if one is WRONG or failed, 2 on an unknown name.
"""

from __future__ import annotations

import collections
import dataclasses
import faulthandler
import gc
import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from corpus.case import Case, CaseError, load, load_all
from corpus.converters import NAMES, converter, run_apart
from corpus.runner import Result, run_case

COLOURS = {"right": "green", "refused": "yellow", "WRONG": "bold red", "failed": "red"}


def main(
    name: Annotated[
        list[str] | None, typer.Argument(help="Cases to run; all of them if none is given.")
    ] = None,
    converter_: Annotated[
        str, typer.Option("--converter", help=f"One of {', '.join(NAMES)}.")
    ] = "d2s",
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write the verdicts to this file.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the cases and what they exercise.")
    ] = False,
    here: Annotated[
        bool, typer.Option("--here", help="Run in this process, for a debugger.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option("--together", help="Run all in one process: faster, and one may end it."),
    ] = False,
    timeout: Annotated[float, typer.Option(help="Seconds before a case counts as failed.")] = 120.0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the traceback of each exception.")
    ] = False,
) -> None:
    """Run the programs of the corpus in dygraph and converted, and compare."""
    console = Console(width=None if sys.stdout.isatty() else 160)  # a log is wider than 80 columns
    try:
        cases = [load(each) for each in name] if name else load_all()
        if list_:
            console.print(listing(cases))
            return
        convert = converter(converter_)
    except (CaseError, ValueError, ImportError) as error:
        print(f"corpus: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    results = []
    gc.freeze()  # a collection in the process of a case would copy what it shares with this one
    for case in cases:
        if together:
            faulthandler.dump_traceback_later(timeout, exit=True)
        one = here or together
        result = run_case(case, convert) if one else run_apart(case, converter_, timeout)
        results.append(result)
        if verbose and result.trace:
            console.print(f"[bold]{case.name}[/]\n{escape(result.trace)}")
    faulthandler.cancel_dump_traceback_later()
    console.print(table(cases, results, converter_))
    if json_:
        rows = [
            {"rows": c.rows, **dataclasses.asdict(r)} for c, r in zip(cases, results, strict=True)
        ]
        json_.write_text(
            json.dumps({"converter": converter_, "results": rows}, indent=1) + "\n",
            encoding="utf-8",
        )
    raise typer.Exit(1 if any(result.bad for result in results) else 0)


def listing(cases: list[Case]) -> Table:
    """What there is."""
    out = Table("case", "what it is", "exercises", "rows")
    for case in cases:
        out.add_row(
            case.name,
            escape(case.summary),
            escape("; ".join(case.exercises)),
            ", ".join(map(str, case.rows)),
        )
    return out


def table(cases: list[Case], results: list[Result], name: str) -> Table:
    """What came out."""
    count = collections.Counter(result.kind for result in results)
    out = Table("case", "verdict", "calls", "seconds", "rows")
    out.title = f"{name}: " + ", ".join(f"{count[kind]} {kind}" for kind in COLOURS if count[kind])
    for case, result in zip(cases, results, strict=True):
        text = f"{result.verdict}, {result.remark}" if result.remark else result.verdict
        verdict = f"[{COLOURS[result.kind]}]{escape(text)}[/]"
        out.add_row(
            case.name,
            verdict,
            str(result.calls),
            f"{result.seconds:.1f}",
            ", ".join(map(str, case.rows)),
        )
    return out


if __name__ == "__main__":
    typer.run(main)
