"""``d2s report`` and ``d2s explain TARGET``: what becomes of a function, line by line."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from d2s.cli.bench import Request, parse_input
from d2s.cli.targets.find import Found, find
from d2s.cli.terminal.files import write
from d2s.cli.terminal.progress import working
from d2s.debug.facts.explanation import Explanation
from d2s.debug.facts.text import lines_of


def show(
    target: str,
    *,
    inputs: Sequence[str],
    html: Path | None,
    as_json: bool,
    output: Path | None,
    work: Callable[..., Explanation],
) -> None:
    """What both commands do; ``d2s.cli.commands`` says what their options mean.

    Args:
        target, inputs, html, as_json, output: the options.
        work: ``explain`` or ``report``, which are called with the function and the inputs.
    """
    found = find(target, layers=True)
    explanation = _explained(found, inputs, work)
    if html is not None:
        write(html, explanation.html())
    if as_json:
        text = json.dumps(explanation.as_dict(), indent=2) + "\n"
    elif html is not None:
        text = f"{explanation.name} ({explanation.place}): {', '.join(explanation.summary)}\n"
    else:
        text = explanation.text()
    if output is not None:
        write(output, text)
    elif as_json or html is not None or not sys.stdout.isatty():
        typer.echo(text, nl=False)
    else:
        _print(explanation)
    if not explanation.programs and explanation.refused is None and not inputs:
        typer.echo("nothing was called; --input x:float32[8,64] shows what is captured", err=True)
    if not explanation.ok:
        raise typer.Exit(1)


def _explained(
    found: Found, inputs: Sequence[str], work: Callable[..., Explanation]
) -> Explanation:
    """The facts; what user code prints does not belong to them."""
    given = tuple(parse_input(text) for text in inputs)
    found = found.bound() if given or isinstance(found.function, type) else found
    with (
        working(f"capturing {found.name}"),
        found.importable(),
        contextlib.redirect_stdout(sys.stderr),
    ):
        if not given:
            return work(found.function)
        call = Request(found.name, given, "inference").bound(found.name, found.function)
        return work(found.function, *call.args, **call.kwargs)


def _print(explanation: Explanation) -> None:
    console = Console(highlight=False)
    for text, style in lines_of(explanation):
        console.print(Text(text, style=style), soft_wrap=True)
