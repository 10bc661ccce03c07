"""Programs in processes of their own that do not wait for ``import paddle``.

``python("-m", "corpus", "newton")`` does what ``subprocess.run`` of this command does, but for the
time: the process is a fork of a server that has imported Paddle and nothing of d2s.  It is not the
same where a test is about the start of the interpreter, about signals, or about what has been
imported.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]

SLOW: Final = ("paddle", "numpy", "gast", "typer", "rich.console", "rich.table")
"""What programs of the tests import, and what does not depend on their environment."""

_server: list[subprocess.Popen[str]] = []


def python(
    *arguments: str, cwd: str | Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS`` and wait for its end.

    Args:
        *arguments: ``-c TEXT``, ``-m MODULE`` or a file, perhaps behind ``-W ACTION``; then what
            the program is given.
        cwd: the folder that it runs in.
        env: its environment; that of the tests unless given.
    """
    if not _server or _server[0].poll() is not None:
        _server[:] = [_started()]
    server = _server[0]
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        wanted = {
            "arguments": arguments,
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "out": str(out),
            "err": str(err),
        }
        server.stdin.write(json.dumps(wanted) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        texts = [path.read_text("utf-8", errors="replace") for path in (out, err)]
    return subprocess.CompletedProcess([sys.executable, *arguments], code, *texts)


def _started() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from tests.processes import serve; serve()"]
    quiet = {**os.environ, "GLOG_minloglevel": "3", "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=quiet)
    atexit.register(server.kill)
    return server


# -- in the server ---------------------------------------------------------------------------------


def serve() -> None:
    """Fork a process for each line that comes in; in such a process, run the program."""
    for name in SLOW:
        importlib.import_module(name)
    early = [name for name in sys.modules if name.split(".")[0] == "d2s"]
    assert not early, f"{early} would not have the environment of the test"
    gc.freeze()  # a collection in a fork would copy what they share
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(wanted: Mapping[str, Any]) -> None:
    """Be the process that is wanted."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = [os.open(os.devnull, os.O_RDONLY)]
    files += [os.open(wanted[name], flags, 0o600) for name in ("out", "err")]
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    kind, *rest = wanted["arguments"]
    if kind == "-W":
        warnings.simplefilter(rest[0])
        sys.warnoptions.append(rest[0])
        kind, *rest = rest[1:]
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:1] = [*filter(None, paths)]
    if kind in ("-c", "-m"):
        sys.path.insert(0, "" if kind == "-c" else str(Path.cwd()))
        what, *rest = rest
    else:
        what = kind
    sys.argv = [kind, *rest]
    if "PYTHONIOENCODING" in os.environ:
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding=os.environ["PYTHONIOENCODING"])  # type: ignore[union-attr]
    try:
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        elif kind == "-c":
            main = type(sys)("__main__")
            sys.modules["__main__"] = main
            exec(compile(what, "<string>", "exec"), vars(main))
        else:
            sys.path.insert(0, str(Path(what).resolve().parent))
            runpy.run_path(what, run_name="__main__")
    except Exception as error:
        ours, trace = (__file__, runpy.run_path.__code__.co_filename), error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in ours:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)
