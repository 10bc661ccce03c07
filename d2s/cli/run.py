"""``d2s run``: a program of the user's, every ``to_static`` in it served by d2s."""

from __future__ import annotations

import json
import os
import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import typer

from d2s.cli.terminal.files import write
from d2s.debug.watch import Watch
from d2s.errors import TargetError
from d2s.patch import patch_paddle

_OURS = str(Path(__file__).resolve().parents[1]) + os.sep


def run(
    program: str,
    arguments: Sequence[str],
    *,
    module: bool,
    all_layers: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if not module:
        _check(program)
    output = None if output is None else output.absolute()  # the program may go elsewhere
    sys.argv = [program, *arguments]
    watch = Watch(layers=all_layers)
    status: int | str | None = 0
    with patch_paddle() as patch, watch:
        try:
            _start(program, module=module)
        except SystemExit as end:
            status = end.code
        except Exception as error:
            status = 1
            _show(error)
    if as_json:
        text = json.dumps({**watch.as_dict(), "left_out": patch.left_out}, indent=2) + "\n"
    else:
        left_out = ", ".join(f"{name} ({count})" for name, count in patch.left_out.items())
        text = watch.text() + (f"  options left out: {left_out}\n" if left_out else "")
    if output is not None:
        write(output, text)
    else:
        sys.stdout.flush()
        typer.echo(text, nl=False, err=True)
    if isinstance(status, str):
        typer.echo(status, err=True)
        status = 1
    raise typer.Exit(status or 0)


def _check(program: str) -> None:
    path = Path(program)
    if path.is_dir():
        raise TargetError(f"{program} is a directory", cure="name a file in it")
    if not path.exists():
        raise TargetError(
            f"there is no file {program}", cure="name a file, or a module with d2s run -m"
        )


def _start(program: str, *, module: bool) -> None:
    """Run it as ``python`` does."""
    if module:
        sys.path.insert(0, str(Path.cwd()))
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    path = Path(program).resolve()
    sys.path.insert(0, str(path.parent))
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=str(path), __builtins__=__builtins__)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _show(error: BaseException) -> None:
    """The traceback, as Python shows it: without the frames that run and watch the program."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        if not _is_ours(trace.tb_frame.f_code.co_filename):
            frames.append(trace)
        trace = trace.tb_next
    for one in reversed(frames):
        trace = types.TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, "<frozen runpy>")) or file == runpy.__file__
