"""Where in the user's code we are: the innermost frame that is neither ours nor Paddle's."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Span(NamedTuple):
    """Where an expression ends, and its columns, counted in bytes as Python does."""

    end_line: int
    column: int
    end_column: int


class Location(NamedTuple):
    """A place in the user's code."""

    file: str
    line: int
    function: str
    span: Span | None = None


def _hidden_roots() -> tuple[str, ...]:
    folders = [Path(__file__).parents[1]]
    paddle = sys.modules.get("paddle")
    if paddle is not None and paddle.__file__:
        folders.append(Path(paddle.__file__).parent)
    # Code knows the path it was found under, which may lead through a link.
    return tuple(f"{path}/" for folder in folders for path in (folder, folder.resolve()))


_roots: tuple[str, ...] = ()


def is_ours(file: str) -> bool:
    """Whether ``file`` belongs to d2s or Paddle rather than to the user."""
    return _is_hidden_root(file) if len(_roots) >= 4 else _found_anew(file)


def _found_anew(file: str) -> bool:
    global _roots
    _roots = _hidden_roots()
    return file.startswith(_roots) and not is_converted(file)


@functools.lru_cache(maxsize=4096)
def _is_hidden_root(file: str) -> bool:  # asked for each frame of a deep stack, and each attribute
    return file.startswith(_roots) and not is_converted(file)


_CONVERTED = str(Path("d2s", "runtime", "builtins", "stepping.py"))


def is_converted(file: str) -> bool:
    """Whether ``file`` is one of d2s whose code is converted as a user's is."""
    return file.endswith(_CONVERTED)


_looked_at: frozenset[str] = frozenset()


@contextlib.contextmanager
def looking_at(file: str) -> Iterator[None]:
    """Let ``file`` count as the user's, whoever wrote it: somebody looks at a function in it."""
    global _looked_at
    before, _looked_at = _looked_at, _looked_at | {file}
    try:
        yield
    finally:
        _looked_at = before


def is_hidden(file: str) -> bool:
    """Whether frames of ``file`` say nothing to the user: ours, Paddle's, the import system's."""
    hidden = is_ours(file) or is_converted(file) or file.startswith("<frozen")
    return hidden and file not in _looked_at


_HELPERS = (contextlib.__file__, functools.__file__)


def is_helper(file: str) -> bool:
    """Whether ``file`` is of Python's own, and ours and Paddle's code goes through it."""
    return file in _HELPERS


_STANDARD = sysconfig.get_path("stdlib") + os.sep


def _is_standard(file: str) -> bool:
    return file.startswith(_STANDARD) and "-packages" + os.sep not in file


def here() -> Location | None:
    """The innermost user frame of the calling thread, or ``None``.

    A frame of the standard library, as of ``dataclasses.asdict``, if there is no other one.
    """
    frame: types.FrameType | None = sys._getframe(1)
    standard = None
    while frame is not None:
        code = frame.f_code
        if not is_hidden(code.co_filename):
            found = Location(code.co_filename, frame.f_lineno, code.co_name)
            if not _is_standard(code.co_filename):
                return found
            standard = standard or found
        frame = frame.f_back
    return standard


def user_level() -> int:
    """The ``stacklevel`` at which a warning of our caller's names the user's line."""
    frame: types.FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


_FRAME = re.compile(r'File "(.+?)", line (\d+)(?:, in (.+))?')


def user_line(stack: list[str]) -> tuple[str | None, int | None]:
    """File and line of the innermost user frame in the call stack that an operation keeps."""
    for text in reversed(stack):
        match = _FRAME.search(text)
        if match and not is_ours(match[1]):
            return match[1], int(match[2])
    return None, None
