"""``python -m benchmarks``: measure, compare two files, write the page; see ``benchmarks``."""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

# Paddle's C++ side reports each interpreter that it starts; read when the library is loaded.
os.environ.setdefault("GLOG_minloglevel", "3")
# Set before Paddle would: the figures say with how many threads they were made.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# First calls are timed as they are without what another process has left.
os.environ.setdefault("D2S_CACHE_DIR", "0")

import dataclasses
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

# Paddle and its converters warn into the table otherwise.
warnings.filterwarnings("ignore")

import typer
from rich.console import Console
from rich.markup import escape

from benchmarks import memory, page, tables
from benchmarks.growth import CURVES
from benchmarks.scenarios import SCENARIOS
from d2s.bench.environment import SAME, environment, in_one_line
from d2s.bench.peers import NoReferenceError
from d2s.bench.rounds import Settings

FULL = Settings(rounds=15, round_s=0.05, limit_s=60.0)
QUICK = Settings(rounds=3, round_s=0.01, limit_s=30.0)
CURVE_ROUNDS, CURVE_LIMIT_S = 5, 30.0
"""A curve has many points, and shows an order of growth."""

NAMES = (*SCENARIOS, *CURVES, "memory")

Progress = Callable[[str], None]


def run(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only this; see --list. Repeatable."),
    ] = None,
    json_: Annotated[
        Path | None, typer.Option("--json", help="Also write the figures to this file.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few short rounds: a look, not a result.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of each peer.")] = None,
    limit: Annotated[
        float | None, typer.Option(help="Seconds before a peer that does not answer fails.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List what can be measured.")] = False,
) -> None:
    """Time d2s beside dygraph, Paddle's own converters and programs written by hand."""
    console = _console()
    if list_:
        for name, each in (*SCENARIOS.items(), *CURVES.items()):
            console.print(f"{name:<18} {escape(each.summary)}", highlight=False)
        console.print(f"{'memory':<18} {memory.SUMMARY}", highlight=False)
        return
    unknown = [each for each in only or () if each not in NAMES]
    if unknown:
        print(f"benchmarks: nothing is called {unknown[0]!r}; see --list", file=sys.stderr)
        raise typer.Exit(2)
    settings = QUICK if quick else FULL
    if rounds is not None:
        settings = dataclasses.replace(settings, rounds=rounds)
    if limit is not None:
        settings = dataclasses.replace(settings, limit_s=limit)
    with Console(stderr=True).status("...") as status:
        for report in measured(only or NAMES, settings, status.update, quick=quick):
            if json_:  # as far as it has come: a run that is stopped has not been for nothing
                json_.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    show(report, console)


def measured(
    names: Sequence[str], settings: Settings, progress: Progress, *, quick: bool = False
) -> Iterator[dict[str, Any]]:
    """What a file of results holds, after each thing that is measured.

    Args:
        names: what to measure, some of ``NAMES``.
        settings: how long.
        progress: is told what happens.
        quick: leave out the largest sizes.
    """
    report: dict[str, Any] = {
        "environment": environment(),
        "settings": {"command": command_for(names, quick=quick), "quick": quick, **vars(settings)},
        "scenarios": {},
        "growth": {},
        "memory": [],
    }
    points = dataclasses.replace(
        settings,
        rounds=min(settings.rounds, CURVE_ROUNDS),
        limit_s=min(settings.limit_s, CURVE_LIMIT_S),
    )
    for name in names:
        try:
            if name in SCENARIOS:
                report["scenarios"][name] = SCENARIOS[name].run(settings, progress)
            elif name in CURVES:
                report["growth"][name] = CURVES[name].run(points, progress, quick=quick)
            else:
                report["memory"] = memory.run(progress, quick=quick)
        except NoReferenceError as error:
            # One that is broken must not cost the figures of the others.
            print(f"benchmarks: {name} is left out: {error}", file=sys.stderr)
        yield report


def command_for(names: Sequence[str], *, quick: bool) -> str:
    """What to type for the same figures, but for the rounds and limits, which stand beside it."""
    only = [] if set(names) == set(NAMES) else [f"--only {name}" for name in names]
    return " ".join(["python -m benchmarks", *(["--quick"] if quick else []), *only])


def show(report: dict[str, Any], console: Console) -> None:
    """Print all tables of a file of results."""
    for sheet in tables.sheets(report):
        console.print(sheet.rich())
        for note in sheet.notes:
            console.print(f"  {escape(note)}", highlight=False, soft_wrap=True)
    console.print(escape(tables.summary(report)), highlight=False)
    console.print(escape(in_one_line(report["environment"])), highlight=False)
    if report["settings"]["quick"]:
        console.print("[yellow]A quick look: the rounds are few and short.[/]")


def compare(
    old: Annotated[Path, typer.Argument(help="JSON file of the earlier run.")],
    new: Annotated[Path, typer.Argument(help="JSON file of the later run.")],
) -> None:
    """Show what changed between two files: new time over old time, best rounds."""
    console = _console()
    before, after = _read(old), _read(new)
    console.print(tables.changes(before, after).rich())
    for title, report in (("old", before), ("new", after)):
        line = f"{title}: {in_one_line(report['environment'])}"
        console.print(escape(line), highlight=False)
    places = [[report["environment"][key] for key in SAME] for report in (before, after)]
    if places[0] != places[1]:
        console.print("[yellow]The environments differ: the ratios say little.[/]")


def docs(
    results: Annotated[Path, typer.Argument(help="JSON file of a run.")],
    folder: Annotated[Path, typer.Option(help="The documentation.")] = page.FOLDER,
) -> None:
    """Write the tables and plots of docs/performance.md."""
    for path in page.write(_read(results), folder):
        print(path)


def _read(path: Path) -> dict[str, Any]:
    """The figures in a file; whoever named another file is told so, and nothing is written."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise typer.BadParameter(f"{path} is no JSON file; --json of a run writes one") from None
    if not isinstance(report, dict) or not report.keys() >= _KEYS:
        raise typer.BadParameter(f"{path} is not what --json of a run writes") from None
    return report


_KEYS: Final = frozenset(("environment", "settings", "scenarios", "growth", "memory"))


def _console() -> Console:
    # A log is wider than the 80 columns that rich takes when nobody tells it.
    return Console(width=None if sys.stdout.isatty() else 180)


COMMANDS = {"compare": compare, "docs": docs}


def main() -> None:
    """Choose the command by its name, so that a run needs none."""
    name, *arguments = sys.argv[1:] or [""]
    command = COMMANDS.get(name)
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command(epilog="Also: python -m benchmarks compare | docs")(command or run)
    app(args=arguments if command else sys.argv[1:], prog_name="python -m benchmarks")


if __name__ == "__main__":
    main()
