"""``d2s run``: a program of the user's, every ``to_static`` in it served by d2s."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from d2s.cli.terminal.files import write
from d2s.cli.terminal.progress import INTERRUPTED, working
from d2s.debug.watch import Watch
from d2s.errors import TargetError
from d2s.markup.flow import counted
from d2s.patch import patch_paddle

_OURS = str(Path(__file__).resolve().parents[1]) + os.sep


def run(
    program: str,
    arguments: Sequence[str],
    *,
    module: bool,
    all_layers: bool,
    beside_paddle: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if not module:
        _check(program)
    output = None if output is None else output.absolute()  # the program may go elsewhere
    folder = Path.cwd()
    sys.argv = [program, *arguments]
    watch = Watch(layers=all_layers)
    status: int | str | None = 0
    with patch_paddle() as patch, watch:
        try:
            _start(program, module=module)
        except SystemExit as end:
            status = end.code
        except (Exception, KeyboardInterrupt) as error:
            status = INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
            _show(error)
    theirs = None
    if beside_paddle and status != INTERRUPTED:
        theirs = _by_paddle(folder, program, arguments, module=module)
    if as_json:
        facts = {**watch.as_dict(), "left_out": patch.left_out, "by_paddle": theirs}
        text = json.dumps(facts, indent=2) + "\n"
    else:
        left_out = ", ".join(f"{name} ({count})" for name, count in patch.left_out.items())
        text = watch.text() + (f"  options left out: {left_out}\n" if left_out else "")
        text += "" if theirs is None else _in_words(theirs)
    if output is not None:
        write(output, text)
    else:
        sys.stdout.flush()
        typer.echo(text, nl=False, err=True)
    if isinstance(status, str):
        typer.echo(status, err=True)
        status = 1
    raise typer.Exit(status or 0)


def _by_paddle(
    folder: Path, program: str, arguments: Sequence[str], *, module: bool
) -> dict[str, Any]:
    """The same program in a new process, converted by Paddle: its times, and how it ended."""
    with tempfile.TemporaryDirectory(prefix="d2s-run-") as place:
        file = Path(place) / "times.json"
        request = json.dumps([str(file), program, list(arguments), module])
        with working("running it with Paddle's own converter"):
            done = subprocess.run(
                [sys.executable, "-c", "from d2s.cli.run import timed; timed()", request],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                check=False,
            )
        times = json.loads(file.read_text()) if file.exists() else {}
    raised = "Traceback (most recent call last)" in done.stderr
    error = done.stderr.strip().splitlines()[-1] if raised and done.returncode else ""
    return {**times, "status": done.returncode, "error": error}


def _in_words(theirs: dict[str, Any]) -> str:
    error = f": {theirs['error']}" if theirs["error"] else ""
    ended = f"; it ended with status {theirs['status']}{error}" if theirs["status"] else ""
    if "seconds" not in theirs:
        return f"Paddle's own converter: the program did not start{ended}\n"
    calls = counted(theirs["calls"], "call")
    return (
        f"Paddle's own converter: {calls}; of {theirs['seconds']:.2f} s, "
        f"{theirs['first_s']:.2f} s first calls, {theirs['later_s']:.2f} s later ones{ended}\n"
    )


def timed() -> None:
    """What the other process does: run the program, and time calls of what Paddle converts."""
    import paddle

    file, program, arguments, module = json.loads(sys.argv[1])
    sys.argv = [program, *arguments]
    times = {"calls": 0, "first_s": 0.0, "later_s": 0.0}
    seen: dict[int, Any] = {}
    going = threading.local()
    kind: Any = type(paddle.jit.to_static(lambda: None)).__mro__[1]  # of both of its converters
    original = kind.__call__

    def call(this: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(going, "on", False):
            return original(this, *args, **kwargs)
        going.on, start = True, time.perf_counter()
        try:
            return original(this, *args, **kwargs)
        finally:
            going.on = False
            times["calls"] += 1
            times["later_s" if id(this) in seen else "first_s"] += time.perf_counter() - start
            seen[id(this)] = this

    kind.__call__ = call
    start = time.perf_counter()
    try:
        _start(program, module=module)
    finally:
        times["seconds"] = time.perf_counter() - start
        Path(file).write_text(json.dumps(times))


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
