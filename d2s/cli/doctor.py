"""``d2s doctor``: examine the installation, and print what was found."""

from __future__ import annotations

from pathlib import Path

import typer

from d2s.cli.terminal.files import write
from d2s.cli.terminal.progress import working
from d2s.debug.doctor import examine


def doctor(*, limit: float, as_json: bool, output: Path | None) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    with working("trying what works here"):
        found = examine(limit)
    text = found.json() if as_json else found.text()
    if output is not None:
        write(output, text)
    else:
        typer.echo(text, nl=False)
    if not found.healthy:
        raise typer.Exit(1)
