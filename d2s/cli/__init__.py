"""The command ``d2s``: one file per command, and one place that turns errors into exit status 2.

A ``D2SError`` is a message to the user on stderr, laid out on a terminal.  Anything else that
leaves a command is a defect of d2s, and keeps its traceback.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from d2s import __version__, config
from d2s.cli import bench, dump, explain, test
from d2s.diagnostics import render
from d2s.errors import D2SError

app = typer.Typer(
    name="d2s",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: paragraphs are filled, and it can be piped
    pretty_exceptions_enable=False,  # a traceback is for a bug report: plain text, in full
)
app.command()(bench.bench)
app.command()(dump.dump)
app.command()(explain.explain)
app.command("test")(test.compare)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"d2s {__version__}")
        raise typer.Exit


@app.callback()
def d2s(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Turn PaddlePaddle dygraph functions into static programs."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: The arguments; those of the process when None.

    Returns:
        2 after an error of d2s. Otherwise the exit status leaves as ``SystemExit``.

    Raises:
        D2SError: An error of d2s, with the option ``full_traceback``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character gets an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        app(args, prog_name="d2s")
    except D2SError as error:
        if config.get().full_traceback:
            raise
        render.show(error, sys.stderr)
        return 2
    return 0
