"""``python -m benchmarks [NAME ...]`` and ``python -m benchmarks compare OLD.json NEW.json``."""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

# Paddle's C++ side reports each interpreter that it starts; read when the library is loaded.
os.environ.setdefault("GLOG_minloglevel", "2")

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

# Paddle and its converters warn into the table otherwise.
warnings.filterwarnings("ignore")

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.protocol import (
    PEERS,
    Scenario,
    Settings,
    environment,
    environment_line,
    run_scenario,
)
from benchmarks.scenarios import SCENARIOS

QUICK = Settings(rounds=5, round_s=0.02, limit_s=20.0)
TITLES = {
    "dygraph": "dygraph",
    "paddle-ast": "Paddle AST",
    "paddle-sot": "Paddle SOT",
    "d2s": "d2s",
    "by-hand": "by hand",
}


def run(
    name: Annotated[
        list[str] | None, typer.Argument(help="Scenarios to run; all of them if none is given.")
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
    list_: Annotated[bool, typer.Option("--list", help="List the scenarios.")] = False,
) -> None:
    """Time d2s beside dygraph, Paddle's own converters and programs written by hand.

    ``python -m benchmarks compare OLD.json NEW.json`` shows what changed between two files.
    """
    console = _console()
    if list_:
        for scenario in SCENARIOS.values():
            console.print(f"{scenario.name:<18} {escape(scenario.summary)}", highlight=False)
        return
    unknown = [each for each in name or () if each not in SCENARIOS]
    if unknown:
        print(
            f"benchmarks: no scenario is called {unknown[0]!r}; --list shows them all",
            file=sys.stderr,
        )
        raise typer.Exit(2)
    base = QUICK if quick else Settings()
    settings = Settings(
        rounds or base.rounds, base.round_s, base.limit_s if limit is None else limit
    )
    report: dict[str, Any] = {
        "environment": environment(),
        "settings": {"quick": quick, **vars(settings)},
        "scenarios": {},
    }
    for each in name or SCENARIOS:
        with console.status(f"{each} ..."):
            report["scenarios"][each] = measure(SCENARIOS[each], settings)
    console.print(table(report))
    for line in notes(report):
        console.print(f"  {escape(line)}", highlight=False, soft_wrap=True)
    console.print(escape(environment_line(report["environment"])), highlight=False)
    if json_:
        json_.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def measure(scenario: Scenario, settings: Settings, converters: Any = None) -> dict[str, Any]:
    """One scenario as it stands in the JSON file."""
    results = run_scenario(scenario, settings, converters)
    return {
        "summary": scenario.summary,
        "unit": scenario.unit,
        "baseline": scenario.baseline,
        "peers": {peer: result.as_json() for peer, result in results.items()},
    }


def table(report: Mapping[str, Any]) -> Table:
    """Each peer's best time, as a multiple of the baseline's own, which stands as a time."""
    out = Table("scenario", caption="x the baseline's best round; ± is the spread of the rounds")
    for title in TITLES.values():
        out.add_column(title, justify="right")
    for found in report["scenarios"].values():
        peers = found["peers"]
        base = peers.get(found["baseline"], {})
        cells = [_cell(found, peers.get(peer), base, peer) for peer in TITLES]
        out.add_row(escape(found["summary"]), *cells)
    return out


def _cell(found: Mapping[str, Any], mine: Any, base: Mapping[str, Any], peer: str) -> str:
    if mine is None or mine["status"] == "absent":
        return "[dim]-[/]"
    if mine["status"] == "wrong":
        return "[bold red]wrong[/]"
    if mine["status"] == "fails":
        return f"[red]fails: {escape(mine['detail'].partition(':')[0])}[/]"
    noise = f"[dim]±{mine['spread']:.0%}[/]"
    if peer == found["baseline"] or base.get("status") != "timed":
        return f"{duration(mine['best_s'])} {noise}"
    ratio = mine["best_s"] / base["best_s"]
    colour = "green" if ratio <= 1 else "default"
    return f"[{colour}]{ratio:.2f}x[/] {noise}"


def notes(report: Mapping[str, Any]) -> list[str]:
    """Why peers fail or are wrong."""
    return [
        f"{name}, {TITLES.get(peer, peer)} {mine['status']}: {mine['detail']}"
        for name, found in report["scenarios"].items()
        for peer, mine in found["peers"].items()
        if mine["status"] in ("fails", "wrong")
    ]


def duration(seconds: float) -> str:
    """A time with its unit.

    >>> duration(0.0000123), duration(0.0123), duration(1.23)
    ('12.3 µs', '12.3 ms', '1.23 s')
    """
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def compare(
    old: Annotated[Path, typer.Argument(help="JSON file of the earlier run.")],
    new: Annotated[Path, typer.Argument(help="JSON file of the later run.")],
) -> None:
    """Show what changed between two files: new time over old time, best rounds."""
    console = _console()
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in (old, new)]
    out = Table("scenario", caption="new time ÷ old time; ~ where the spread is as large")
    for title in TITLES.values():
        out.add_column(title, justify="right")
    before, after = (report["scenarios"] for report in reports)
    for name in before | after:
        if name not in before or name not in after:
            missing = "old" if name not in before else "new"
            summary = (before | after)[name]["summary"]
            out.add_row(escape(summary), *[f"[dim]not in {missing}[/]"] * len(PEERS))
            continue
        pairs = [(before[name]["peers"].get(p), after[name]["peers"].get(p)) for p in TITLES]
        out.add_row(escape(after[name]["summary"]), *(_change(*pair) for pair in pairs))
    console.print(out)
    for title, report in zip(("old", "new"), reports, strict=True):
        line = f"{title}: {environment_line(report['environment'])}"
        console.print(escape(line), highlight=False)
    machine = [
        {k: r["environment"][k] for k in ("cpu", "cores", "python", "paddle")} for r in reports
    ]
    if machine[0] != machine[1]:
        console.print("[yellow]The environments differ: the ratios say little.[/]")


def _change(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    states = [each["status"] if each else "absent" for each in (old, new)]
    if old is None or new is None or states != ["timed", "timed"]:
        return "[dim]-[/]" if states[0] == states[1] == "absent" else " → ".join(states)
    ratio = new["best_s"] / old["best_s"]
    if abs(ratio - 1) <= max(old["spread"], new["spread"]):
        return f"[dim]~ {ratio:.2f}[/]"
    return f"[{'green' if ratio < 1 else 'red'}]{ratio:.2f}[/]"


def _console() -> Console:
    # A log is wider than the 80 columns that rich takes when nobody tells it.
    return Console(width=None if sys.stdout.isatty() else 140)


def main() -> None:
    """Choose the command by its name, so that a run needs none."""
    command, arguments = run, sys.argv[1:]
    if arguments[:1] == ["compare"]:
        command, arguments = compare, arguments[1:]
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(command)
    app(args=arguments, prog_name="python -m benchmarks")


if __name__ == "__main__":
    main()
