"""Find the cases of the corpus, load them, and say what is wrong with one that does not load."""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from corpus.rows import LAST, NUMBERS

PROGRAMS = Path(__file__).parent / "programs"


class CaseError(Exception):
    """A case file breaks the format; the message names the file."""


class UnknownCaseError(CaseError):
    """There is no case of that name."""


@dataclass(frozen=True)
class Case:
    """One program, its inputs, and how to compare it; ``corpus`` explains the settings."""

    name: str
    group: str
    path: Path
    summary: str
    exercises: tuple[str, ...]
    rows: tuple[int, ...]
    build: Callable[[], Any]
    inputs: Callable[[], Iterable[tuple[Any, ...]]]
    grad: bool = True
    modes: tuple[str, ...] = ("train",)
    state: tuple[str, ...] = ()
    rtol: float = 1e-5
    atol: float = 1e-6
    input_spec: Callable[[], list[Any]] | None = None
    stdout: bool = False
    raises: Mapping[int, type[BaseException]] = field(default_factory=dict)
    before: Callable[[int], None] = lambda index: None
    observed: Callable[[], object] = lambda: None


# Name of the setting in a case file -> field of Case.
_SETTINGS = {
    "GRAD": "grad",
    "MODES": "modes",
    "STATE": "state",
    "RTOL": "rtol",
    "ATOL": "atol",
    "INPUT_SPEC": "input_spec",
    "ASSERT_STDOUT": "stdout",
    "RAISES": "raises",
    "BEFORE": "before",
    "OBSERVED": "observed",
}


@functools.cache
def paths() -> Mapping[str, Path]:
    """The file of each case by the case's name, sorted by name."""
    found: dict[str, Path] = {}
    for path in sorted(PROGRAMS.glob("*/*.py"), key=lambda path: path.stem):
        if path.stem.startswith("_"):
            continue
        if path.stem in found:
            raise CaseError(f"{path}: {found[path.stem]} has the same name")
        found[path.stem] = path
    return found


def names() -> list[str]:
    """The names of all cases, sorted."""
    return list(paths())


def load(name: str) -> Case:
    """Import ``corpus.programs.<group>.<name>`` and check that it is a case."""
    path = paths().get(name)
    if path is None:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {close[0]}?" if close else "--list shows them all"
        raise UnknownCaseError(f"no case is called {name!r}; {hint}")
    return _load(path)


def load_all() -> list[Case]:
    """Every case of the corpus."""
    return [_load(path) for path in paths().values()]


def _load(path: Path) -> Case:
    # A normal import: inspect.getsource must find the text of the functions.
    name = path.stem
    return _from_module(name, importlib.import_module(f"corpus.programs.{path.parent.name}.{name}"))


def _from_module(name: str, module: ModuleType) -> Case:
    path = Path(module.__file__ or name)
    summary, exercises, rows = parse_docstring(module.__doc__, path)
    for function in ("build", "inputs"):
        if not callable(getattr(module, function, None)):
            raise CaseError(f"{path}: there is no function {function}()")
    settings = {
        key: getattr(module, text) for text, key in _SETTINGS.items() if hasattr(module, text)
    }
    strange = set(settings.get("modes", ())) - {"train", "eval"}
    if strange:
        raise CaseError(f"{path}: MODES knows 'train' and 'eval', not {sorted(strange)}")
    if isinstance(settings.get("state"), str):
        raise CaseError(f"{path}: STATE is a tuple of names, not one string")
    return Case(
        name,
        path.parent.name,
        path,
        summary,
        exercises,
        rows,
        module.build,
        module.inputs,
        **settings,
    )


def parse_docstring(text: str | None, path: Path) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Take the sentence, the constructs and the rows out of a case's docstring.

    >>> parse_docstring('''Roots by Newton.
    ...
    ... exercises: while on a tensor; compound condition
    ... rows: 10, 17
    ... ''', Path("newton.py"))
    ('Roots by Newton.', ('while on a tensor', 'compound condition'), (10, 17))
    """
    if not text or not text.strip():
        raise CaseError(f"{path}: a docstring has to say what the program is")
    summary = " ".join(text.strip().split("\n\n")[0].split())
    exercises = tuple(
        part.strip() for part in _line("exercises", text, path).split(";") if part.strip()
    )
    numbers = [part.strip() for part in _line("rows", text, path).split(",")]
    strange = [part for part in numbers if not part.isdecimal() or int(part) not in NUMBERS]
    if strange:
        raise CaseError(f"{path}: rows must be numbers from 1 to {LAST}, not {strange[0]!r}")
    return summary, exercises, tuple(int(part) for part in numbers)


def _line(key: str, text: str, path: Path) -> str:
    """The rest of the line that starts with ``key:``, with indented lines that follow it."""
    found = re.findall(rf"^{key}:[ \t]*(\S.*(?:\n[ \t]+\S.*)*)$", text, re.MULTILINE)
    if len(found) != 1:
        raise CaseError(f"{path}: the docstring needs one line '{key}: ...', it has {len(found)}")
    return " ".join(found[0].split())
