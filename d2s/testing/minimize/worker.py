"""The process in which programs are tried: it has imported Paddle, and forks for each of them.

Reads one JSON object a line from the standard input, and writes one for each to the standard
output that it was started with.  A program that hangs is ended when its time is over, and one that
crashes takes its fork with it, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import signal
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import paddle

from d2s.api import to_static as _to_static  # noqa: F401  - all of d2s is imported before the fork
from d2s.errors import CheckError, D2SError
from d2s.testing import inputs_of
from d2s.testing.equivalence import arguments_of, assert_equivalent
from d2s.testing.minimize.literals import literal

CALLS: Final = "d2s_calls"

_VARYING: Final = re.compile(r"(?:'[^']*'|\d[\d.]*)(?:, (?:'[^']*'|\d[\d.]*))*")
"""What of a cause is of the names, numbers and places of one program."""

Say = Callable[[str], None]


def _module(request: dict[str, Any]) -> types.ModuleType:
    """The program, as a module of its own."""
    path = Path(request["file"])
    path.write_text(request["text"], encoding="utf-8")
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    module.__package__ = request["package"]
    sys.modules[path.stem] = module
    sys.path.insert(0, request["folder"])
    code = compile(request["text"], str(path), "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _target(module: types.ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value() if isinstance(value, type) else value


def _calls(module: types.ModuleType) -> list[Any]:
    """The calls to make: a list, as a reader of the file expects."""
    found = getattr(module, CALLS)()
    if not isinstance(found, list):
        raise TypeError(f"{CALLS}() gives {type(found).__name__}")
    return found


def in_dygraph(request: dict[str, Any], say: Say) -> None:
    """Make the calls in dygraph: the type of the first exception, or nothing."""
    paddle.jit.enable_to_static(False)
    module = _module(request)
    target = _target(module, request["name"])
    for call in _calls(module):
        args, kwargs = arguments_of(target, call)
        try:
            target(*args, **kwargs)
        except Exception as error:
            say(f"raises {type(error).__name__}")
            return
    say("agrees")


def as_program(request: dict[str, Any], say: Say) -> None:
    """Make the calls as a program beside dygraph: in what they differ, or the code of an error."""
    module = _module(request)
    target = _target(module, request["name"])
    say(verdict(target, _calls(module), grad=request["grad"]))


def verdict(target: Any, calls: list[Any], *, grad: bool) -> str:
    """What the calls show: ``agrees``, ``differs in result``, ``raises TypeError``, or a code.

    Behind a code, in a second line, stands the cause without its names and numbers: another cause
    has another cure.
    """
    try:
        assert_equivalent(target, calls, grad)
    except CheckError as error:
        report: Any = error.report
        return f"differs in {report.differences[0].kind}"
    except D2SError as error:
        return f"{error.code}\n{_VARYING.sub('_', error.cause)}"
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "agrees"


def calls_that_show(request: dict[str, Any], say: Say) -> None:
    """Make up calls until some of them show something; says each before it is tried.

    Raises:
        MissingPackageError: (D2S603) hypothesis is not installed.
        NoInputsError: (D2S604) nothing says what a parameter takes.
    """
    module = _module(request)
    target = _target(module, request["name"])
    specs = [paddle.static.InputSpec(*each) for each in request["specs"]] or None
    inputs = inputs_of(target, specs)
    from hypothesis import errors, find, settings, strategies

    def shows(group: list[dict[str, Any]]) -> bool:
        say(f"try {literal(group)}")
        found = verdict(target, group, grad=request["grad"])
        wanted = request["wanted"]
        return found.partition("\n")[0] == wanted if wanted else found != "agrees"

    groups = strategies.lists(inputs, min_size=1, max_size=2)
    options = settings(max_examples=request["examples"], database=None, deadline=None)
    with contextlib.suppress(errors.NoSuchExample):
        found = find(groups, shows, settings=options, random=random.Random(request["seed"]))
        say(f"found {literal(found)}")


_WORK: Final[dict[str, Callable[[dict[str, Any], Say], None]]] = {
    "dygraph": in_dygraph,
    "program": as_program,
    "search": calls_that_show,
}


def tried(request: dict[str, Any]) -> dict[str, Any]:
    """Do what a request asks for, in a fork, for as long as it may take."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setsid()
        _in_fork(request, writer)
    os.close(writer)
    said, on_time = _read(reader, request["limit"])
    if not on_time:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    end = ""
    if not on_time:
        end = "hangs"
    elif os.WIFSIGNALED(status):
        end = f"crashes with {signal.Signals(os.WTERMSIG(status)).name}"
    return {"said": said, "end": end}


def _in_fork(request: dict[str, Any], writer: int) -> None:
    """Work, and end the process, whatever happens."""
    with os.fdopen(writer, "w", encoding="utf-8") as out:

        def say(text: str) -> None:
            out.write(json.dumps(text) + "\n")
            out.flush()

        try:
            _WORK[request["what"]](request, say)
        except D2SError as error:
            say(f"error {error.code} {error.cause}\n{error.cure}")
        except BaseException as error:
            say(f"invalid {type(error).__name__}: {error}")
    os._exit(0)


def _read(reader: int, limit: float) -> tuple[list[str], bool]:
    """The lines that a fork has written, and whether it was done on time."""
    end = _now() + limit
    pieces: list[bytes] = []
    on_time = False
    while (left := end - _now()) > 0:
        if not select.select([reader], [], [], left)[0]:
            break
        piece = os.read(reader, 1 << 16)
        if not piece:
            on_time = True
            break
        pieces.append(piece)
    os.close(reader)
    lines = b"".join(pieces).decode("utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]], on_time


def _now() -> float:
    return os.times().elapsed


def main() -> None:
    """Answer until there is nothing more to read."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)  # what programs print is no answer
        os.dup2(null, 2)
        out.write("ready\n")
        out.flush()
        for line in sys.stdin:
            out.write(json.dumps(tried(json.loads(line))) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
