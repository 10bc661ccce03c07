"""``python -m d2s.testing``: the nightly run over generated programs, with its summary."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from d2s.testing.campaign import Campaign, State
from d2s.testing.forms import constructs
from d2s.testing.properties import PROPERTIES


def main(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Where the state and the finds are kept; a run goes on there.",
            show_default=".cache/programs-SEED",
        ),
    ] = None,
    programs: Annotated[int, typer.Option(min=1, help="How many programs to try.")] = 20_000,
    seed: Annotated[int, typer.Option(help="What all programs depend on.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 2,
    limit: Annotated[float, typer.Option(help="Seconds that one program may take.")] = 60.0,
) -> None:
    """Hold generated programs to the properties; exit with 1 when one does not hold."""
    console = Console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("programs", total=programs)

        def progress(state: State) -> None:
            wrong = f", {len(state.finds)} wrong" if state.finds else ""
            bar.update(task, completed=state.programs, description=f"programs{wrong}")

        place = Path(f".cache/programs-{seed}") if folder is None else folder
        state = Campaign(place, seed, programs, jobs, limit).run(progress)
    summary(state, console)
    if state.finds:
        raise typer.Exit(1)


def summary(state: State, console: Console) -> None:
    """Print what came out, and which constructs and pairs of constructs were reached."""
    verdicts = Table("property", "rules", "programs", "right", "refused", "wrong")
    causes: Counter[str] = Counter()
    for what in PROPERTIES:
        kinds: Counter[str] = Counter()
        for key, count in state.verdicts.items():
            name, kind, cause = key.split(" | ")
            if name == what.name:
                kinds[kind] += count
                if kind != "right":
                    causes[f"{kind} | {cause}"] += count
        cells = [kinds.total(), kinds["right"], kinds["refused"], kinds["wrong"]]
        verdicts.add_row(what.name, what.rules, *map(str, cells))
    console.print(verdicts)
    if causes:
        table = Table("verdict", "code or cause", "programs")
        for key, count in causes.most_common():
            table.add_row(*key.split(" | "), str(count))
        console.print(table)
    known = constructs()
    pairs = [" + ".join(pair) for pair in itertools.combinations(sorted(known), 2)]
    reached = sum(pair in state.pairs for pair in pairs)
    console.print(
        f"{state.programs} programs; {sum(name in state.constructs for name in known)} of "
        f"{len(known)} constructs, {reached} of {len(pairs)} pairs of them reached"
    )
    missed = [name for name in known if name not in state.constructs]
    if missed:
        console.print(f"not reached: {', '.join(missed)}")
    rare = sorted(known, key=lambda name: state.constructs[name])[:5]
    console.print("rarest: " + ", ".join(f"{name} ({state.constructs[name]})" for name in rare))
    for find in state.finds:
        console.print(f"wrong: finds/{find['file']}: {find['cause']}", soft_wrap=True)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app()
