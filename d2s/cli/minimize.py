"""``d2s minimize``: the smallest program that still shows what is wrong with a function.

How a program is made smaller is in ``d2s.testing.minimize``.  Here the function is found, its
inputs are taken as ``d2s bench`` takes them or made up as ``d2s test`` does, and the file is
written.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import paddle
import typer
from rich.console import Console
from rich.markup import escape

from d2s.cli.bench import Request, parse_input, undecorated
from d2s.cli.targets.find import Found, find
from d2s.cli.targets.specs import parse_input_spec
from d2s.cli.terminal.files import write
from d2s.errors import ArgumentsError, BenchInputError, TargetError
from d2s.testing.minimize import Minimized, Subject, Wanted, literal
from d2s.testing.minimize import minimize as smallest

_CODE: Final = re.compile(r"(?:D2S)?(\d{3})", re.IGNORECASE)


def minimize(
    target: str,
    *,
    inputs: Sequence[str],
    input_spec: Sequence[str],
    wanted: Wanted,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if inputs and input_spec:
        raise typer.BadParameter("choose one of --input and --input-spec")
    specs = [parse_input_spec(text).to_paddle() for text in input_spec]
    found = find(target, layers=True)
    made = isinstance(found.function, type)  # a class of layers: an object of it
    if made:
        found = found.bound()
    if found.owner is not None:
        raise TargetError(
            f"{found.name!r} cannot be called without an instance",
            cure="create the object in the file, and name it: FILE.py:net or FILE.py:net.method",
        )
    subject = replace(_subject(target, found, grad=wanted.grad), made=made)
    calls = _calls(target, found, inputs, grad=wanted.grad) if inputs else None
    os.environ.setdefault("GLOG_minloglevel", "2")
    console = Console(stderr=True)
    with console.status(escape(f"running {found.name}")) as status:
        smaller = smallest(
            subject,
            calls,
            wanted,
            specs=[(list(each.shape), _name(each.dtype), each.name) for each in specs],
            told=lambda text: status.update(escape(text)),
        )
    if smaller is None:
        what = wanted.symptom or "nothing that is wrong"
        verb = "does not show" if wanted.symptom else "shows"
        typer.echo(f"{found.name} {verb} {what}", err=True)
        raise typer.Exit(1)
    _give(smaller, as_json=as_json, output=output)
    if smaller.interrupted:
        raise KeyboardInterrupt
    if not smaller.complete:
        typer.echo("ended before it was done: a smaller program may show the same", err=True)


def code_of(text: str | None) -> str:
    """A symptom as it was typed: a code in any of its spellings, or the text of another one."""
    match = _CODE.fullmatch(text or "")
    return f"D2S{match[1]}" if match else text or ""


def _give(made: Minimized, *, as_json: bool, output: Path | None) -> None:
    text = json.dumps(asdict(made), indent=2) + "\n" if as_json else made.text
    if output is None:
        typer.echo(text, nl=False)
    else:
        write(output, text)
    tried = f"{made.tried} programs tried"
    typer.echo(f"{made.symptom}: {made.before} lines, now {made.after}; {tried}", err=True)


def _subject(target: str, found: Found, *, grad: bool) -> Subject:
    """The file of the function, and where it stands."""
    place = target.rpartition(":")[0]
    module = sys.modules.get(place)
    file = getattr(module, "__file__", None) or place
    path = Path(file).resolve()
    if path.suffix != ".py":
        raise TargetError(f"{place} is not a Python file, so there is no source to make smaller")
    return Subject(
        path.read_text(encoding=_encoding(path)),
        found.name,
        str(found.folder),
        getattr(module, "__package__", None) or "",
        grad,
    )


def _encoding(path: Path) -> str:
    """The encoding that a file declares."""
    with path.open("rb") as file:
        return tokenize.detect_encoding(file.readline)[0]


def _calls(target: str, found: Found, inputs: Sequence[str], *, grad: bool) -> str:
    """Python's text for the call that the options say."""
    request = Request(target, tuple(map(parse_input, inputs)), "gradient" if grad else "inference")
    paddle.seed(0)
    with found.importable():
        bound = request.bound(found.name, undecorated(found.function))
    kinds = {parameter.kind for parameter in bound.signature.parameters.values()}
    call: Any = dict(bound.arguments)
    if inspect.Parameter.VAR_KEYWORD in kinds and bound.kwargs:
        call = {**call, **bound.kwargs}
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        call = bound.args
    try:
        return f"[{literal(call)}]"
    except ArgumentsError as error:
        raise BenchInputError(error.cause, cure=error.cure) from error


def _name(dtype: Any) -> str:
    return str(dtype).rsplit(".", 1)[-1].lower()
