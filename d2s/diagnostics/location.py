"""Where in the user's code we are: the innermost frame that is neither ours nor Paddle's."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import NamedTuple


class Location(NamedTuple):
    """A place in the user's code."""

    file: str
    line: int
    function: str


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
    global _roots
    if len(_roots) < 4:
        _roots = _hidden_roots()
    return file.startswith(_roots)


def here() -> Location | None:
    """The innermost user frame of the calling thread, or ``None``."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename) and not code.co_filename.startswith("<frozen"):
            return Location(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return None


def user_line(stack: list[str]) -> tuple[str | None, int | None]:
    """File and line of the innermost user frame in the call stack that an operation keeps."""
    for text in reversed(stack):
        match = re.search(r'File "(.+?)", line (\d+)', text)
        if match and not is_ours(match[1]):
            return match[1], int(match[2])
    return None, None
