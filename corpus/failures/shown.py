"""Run one failing program with one converter, and note what its user is shown."""

from __future__ import annotations

import contextlib
import io
import re
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import paddle

from corpus.converters import Convert, converter
from corpus.failures.failure import PROGRAMS, Failure
from corpus.runner import SEED

ROOT = Path(__file__).resolve().parents[2]
_FRAME = re.compile(r'^ *File "(.+?)", line (\d+)(?:, in (\S+))?', re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """One place that the text names as a frame, in a traceback or in a message."""

    file: str
    line: int
    function: str

    @property
    def is_users(self) -> bool:
        """Whether it is code of a program, and not of a library."""
        return self.file.startswith(_short(f"{PROGRAMS}/"))


@dataclass(frozen=True)
class Shown:
    """What the user of a converter sees of a program that fails.

    Attributes:
        name: of the program.
        type: module and name of the exception's class; empty if the program ran through.
        message: what ``str`` makes of the exception.
        code: the code of an error of d2s.
        line: the line of the program that an error of d2s is about, or that is named last.
        calls: the frames of the native traceback that are the program's own, outermost first.
        text: all that Python prints, paths made relative.
    """

    name: str
    type: str = ""
    message: str = ""
    code: str = ""
    line: int | None = None
    calls: tuple[Frame, ...] = ()
    text: str = ""

    @property
    def frames(self) -> list[Frame]:
        """Every frame that the text shows."""
        return [Frame(file, int(line), name) for file, line, name in _FRAME.findall(self.text)]

    @property
    def users(self) -> int:
        """How many frames of the user's are shown."""
        return sum(frame.is_users for frame in self.frames)

    @property
    def library(self) -> int:
        """How many frames are shown that are not the user's."""
        return len(self.frames) - self.users

    @property
    def lines(self) -> int:
        """How many lines are printed, blank ones at the end left out."""
        return len(self.text.rstrip().splitlines())


def show(failure: Failure, to_static: Convert) -> Shown:
    """Run a program in this process."""
    paddle.seed(SEED)  # weights are part of what is shown
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            failure.main(to_static)
    except BaseException as error:  # a program may raise whatever Python knows
        return _shown(failure, error.with_traceback(_below(error.__traceback__, failure.path)))
    return Shown(failure.name)


def show_apart(send: Connection, failure: Failure, name: str) -> None:
    """Run a program with the converter of that name in a process made for it."""
    # The converter is fetched here, because d2s repairs parts of Paddle when it is imported.
    send.send(show(failure, converter(name)))


def _shown(failure: Failure, error: BaseException) -> Shown:
    text = _short("".join(traceback.format_exception(error)))
    file = _short(str(failure.path))
    kind = type(error)
    calls = [
        Frame(_short(frame.filename), frame.lineno or 0, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    code = getattr(error, "code", None)
    code = code if isinstance(code, str) and code.startswith("D2S") else ""
    return Shown(
        failure.name,
        kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}",
        _short(str(error)),
        code,
        _own_line(error, failure.path) or _last_line(text, file),
        tuple(frame for frame in calls if frame.is_users),
        text,
    )


def _own_line(error: BaseException, path: Path) -> int | None:
    """The line of the program that an error of d2s is about by its own word."""
    if str(getattr(error, "file", "")) != str(path):
        return None
    line = getattr(error, "line", None)
    return line if isinstance(line, int) else None


def _last_line(text: str, file: str) -> int | None:
    """The line of ``file`` that ``text`` names last, as a frame or as ``file:line``."""
    found = re.findall(rf'{re.escape(file)}(?:", line |:)(\d+)', text)
    return int(found[-1]) if found else None


def _below(trace: TracebackType | None, path: Path) -> TracebackType | None:
    """The traceback from the first frame of the program on: the caller is no part of it."""
    while trace is not None and Path(trace.tb_frame.f_code.co_filename) != path:
        trace = trace.tb_next
    return trace


def _short(text: str) -> str:
    """``text`` without paths, addresses and names of tensors, which differ between two runs."""
    text = re.sub(r'[^"\s]*/site-packages/', "site-packages/", text)
    text = re.sub(r'[^"\s]*/lib/python3\.\d+/', "python/", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = re.sub(
        r"(?<=Tensor of grad_tensor )\[ \w+ \]|(?<=mismatch Tensor )\[ \w+ \]", "[...]", text
    )
    return text.replace(f"{ROOT}/", "")
