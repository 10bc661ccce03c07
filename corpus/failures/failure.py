"""Find the programs that fail, load them, and say what is wrong with one that does not load."""

from __future__ import annotations

import functools
import importlib
import re
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from corpus.case import CaseError
from corpus.language import Text

PROGRAMS = Path(__file__).parent / "programs"
MARK = "# <- fails"

GROUPS = {
    "capture": Text("Errors while the program is captured", "捕获 Program 时的错误"),
    "run": Text("Errors that only the run can meet", "只有运行时才会遇到的错误"),
    "effects": Text("`assert` and `raise`", "`assert` 和 `raise`"),
    "python": Text("Errors of plain Python on the way", "途中普通 Python 的错误"),
    "rules": Text("What no static program can do", "任何静态图 Program 都做不到的事"),
    "calls": Text(
        "Calls, arguments, training steps, saved programs", "调用、实参、训练步、保存的 Program"
    ),
    "sources": Text("Files and lines of every kind", "各种文件和代码行"),
}


@dataclass(frozen=True)
class Failure:
    """A program that fails.

    Attributes:
        name, group, path: the file.
        summary: what goes wrong, in a sentence.
        line: the line that an error has to name.
        main: the script; it is given the function that converts.
        code: the code of the error of d2s, where dygraph does not fail.
    """

    name: str
    group: str
    path: Path
    summary: str
    line: int
    main: Callable[[Any], None]
    code: str = ""


@functools.cache
def paths() -> Mapping[str, Path]:
    """The file of each program by its name, in the order of the groups."""
    found: dict[str, Path] = {}
    for group in GROUPS:
        for path in sorted((PROGRAMS / group).glob("*.py")):
            if path.stem.startswith("_"):
                continue
            if path.stem in found:
                raise CaseError(f"{path}: {found[path.stem]} has the same name")
            found[path.stem] = path
    return found


def load(name: str) -> Failure:
    """Import the program of that name."""
    known = paths()
    if name not in known:
        raise CaseError(f"no failing program is called {name!r}")
    path = known[name]
    # A normal import: inspect.getsource must find the text of the functions.
    module = importlib.import_module(f"corpus.failures.programs.{path.parent.name}.{name}")
    return _from_module(module, path)


def load_all() -> list[Failure]:
    """Every program."""
    return [load(name) for name in paths()]


def _from_module(module: ModuleType, path: Path) -> Failure:
    summary = " ".join((module.__doc__ or "").split())
    if not summary:
        raise CaseError(f"{path}: a docstring has to say what goes wrong")
    if not callable(getattr(module, "main", None)):
        raise CaseError(f"{path}: there is no function main()")
    code = getattr(module, "CODE", "")
    if not re.fullmatch(r"(D2S\d{3})?", code):
        raise CaseError(f"{path}: CODE is the code of an error, not {code!r}")
    return Failure(
        path.stem,
        path.parent.name,
        path,
        summary,
        marked_line(path),
        module.main,
        code,
    )


def marked_line(path: Path) -> int:
    """The number of the one line with the mark, whatever the encoding of the file."""
    with tokenize.open(path) as file:
        lines = [number for number, text in enumerate(file, 1) if text.rstrip().endswith(MARK)]
    if len(lines) != 1:
        raise CaseError(f"{path}: one line has to end with {MARK!r}, not {len(lines)}")
    return lines[0]
