"""``d2s dump``: show what d2s makes of one function.

Three steps, each with errors of its own: find the function that TARGET names (its file or module
is imported), render it, write the text.  The rendering is in ``d2s.debug.dump``; colours are added
here, and only for a terminal.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import paddle
import typer
from rich.console import Console
from rich.syntax import Syntax

from d2s.api import to_static, trace
from d2s.cli.bench import Request, parse_input, undecorated
from d2s.cli.targets.find import Found, find
from d2s.cli.targets.specs import InputSpecText, parse_input_spec
from d2s.cli.terminal.files import write
from d2s.cli.terminal.progress import working
from d2s.debug.dump import render_passes, render_program, render_side_by_side
from d2s.debug.show import code_text
from d2s.debug.show import source_map as map_of
from d2s.errors import (
    BreakWarning,
    InputSpecTextError,
    NotCapturedError,
)


def dump(
    target: str,
    *,
    side_by_side: bool,
    passes: bool,
    program: bool,
    exact: bool,
    input_spec: Sequence[str],
    inputs: Sequence[str],
    source_map: Path | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if as_json and source_map is not None:
        raise typer.BadParameter("choose one of --json and --source-map")
    if side_by_side + passes + program + (source_map is not None) > 1:
        raise typer.BadParameter(
            "choose one of --side-by-side, --passes, --program and --source-map"
        )
    if input_spec and not program:
        raise typer.BadParameter("--input-spec is for --program")
    if inputs and (side_by_side or passes or program or source_map is not None):
        raise typer.BadParameter("--input is for the generated code alone")
    specs = [parse_input_spec(text) for text in input_spec]
    found = find(target, layers=program)
    # What user code prints does not belong into the dump.
    with (
        working(f"converting {found.name}"),
        found.importable(),
        contextlib.redirect_stdout(sys.stderr),
    ):
        lexer = "python"
        if program:
            text, lexer = render_program(_capture(found, specs)), "text"
        elif passes:
            text, lexer = render_passes(trace(found.function)), "diff"
        elif side_by_side:
            text = render_side_by_side(trace(found.function), exact=exact)
        elif source_map is not None:
            made = map_of(found.function)
            text = made.text
            write(
                source_map, made.to_json(None if output is None else output.name, indent=2) + "\n"
            )
        else:
            called = _called(found, inputs) if inputs else found.function
            text = code_text(called, exact=exact)
    if as_json:
        text = _json(found, lexer, text)
    if output is not None:
        write(output, text)
    elif as_json:
        typer.echo(text, nl=False)
    elif sys.stdout.isatty():
        coloured = Syntax("", lexer, theme="ansi_dark").highlight(text)
        Console().print(coloured, end="", soft_wrap=True)
    else:
        typer.echo(text, nl=False)


def _json(found: Found, lexer: str, text: str) -> str:
    """A dump for other programs: of what, from where, in which language."""
    source = trace(found.function, keep_steps=False).source
    place = {"file": source.file, "line": source.first_line}
    return (
        json.dumps({"name": found.name, **place, "language": lexer, "text": text}, indent=2) + "\n"
    )


_SETTLING: Final = 12
"""So many calls may find a break more each."""


def _called(found: Found, inputs: Sequence[str]) -> Any:
    """The function, converted and called until no more breaks are found in it."""
    found = found.bound("called")
    given = tuple(map(parse_input, inputs))
    call = Request(found.name, given, "inference").bound(found.name, found.function)
    converted: Any = to_static(undecorated(found.function), full_graph=False)
    static = getattr(converted, "forward", converted)
    known = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BreakWarning)  # the dump shows them
        for _ in range(_SETTLING):
            if known == len(static.breaks):
                break
            known = len(static.breaks)
            converted(*call.args, **call.kwargs)
    return converted


def _capture(found: Found, specs: list[InputSpecText]) -> object:
    found = found.bound("captured")
    input_spec = [spec.to_paddle() for spec in specs]
    converted: Any = to_static(found.function, input_spec=input_spec or None)
    if isinstance(converted, paddle.nn.Layer):  # converted in place: its forward is the program
        converted = converted.forward
    try:
        return converted.main_program
    except NotCapturedError as error:
        raise InputSpecTextError(
            f"--program needs to know the arguments of {found.name!r}",
            cure="add --input-spec x:float32[None,8], one for each argument",
        ) from error
