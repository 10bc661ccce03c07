"""The programs of every suite, each with that suite's own comparison with dygraph."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corpus import case
from corpus.failures import failure, shown
from corpus.realistic import run as realistic
from corpus.realistic import verdicts
from corpus.record import RESULTS
from corpus.runner import run_case
from d2s import errors

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "strangers"
STRANGERS = Path(os.environ.get("STRANGERS", BESIDE))
"""Programs by authors who have never seen d2s; they lie beside the repository, or are absent."""

D2S, SOT = "d2s", "sot"
_CONVERTERS: dict[str, tuple[str, dict[str, Any]]] = {
    D2S: ("d2s:to_static", {"full_graph": None}),
    SOT: ("paddle.jit:to_static", {"full_graph": False, "backend": None}),
}


@dataclass(frozen=True)
class Chosen:
    """A program of a suite.

    Attributes:
        suite: one of ``SUITES``.
        name: of the program.
        path: the file that it stands in.
    """

    suite: str
    name: str
    path: Path

    @property
    def key(self) -> str:
        """The name under which results are kept."""
        return f"{self.suite}/{self.name}"

    def judged(self, converter: str) -> tuple[str, str]:
        """The verdict of its suite, and what it rests on."""
        return _JUDGES[self.suite](self, *_CONVERTERS[converter])


Judge = Callable[[Chosen, str, dict[str, Any]], tuple[str, str]]


def _convert(name: str, options: Mapping[str, Any]) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return functools.partial(found, **options)


def _programs(chosen: Chosen, converter: str, options: dict[str, Any]) -> tuple[str, str]:
    result = run_case(case.load(chosen.name), _convert(converter, options))
    return result.kind, "" if result.kind == "right" else result.verdict


def _realistic(chosen: Chosen, converter: str, options: dict[str, Any]) -> tuple[str, str]:
    item = realistic.Item(chosen.name, chosen.path)
    found = realistic.judge(item, lambda: realistic.converter(converter, options))
    return found.verdict, found.detail


def _strangers(chosen: Chosen, converter: str, options: dict[str, Any]) -> tuple[str, str]:
    found = strangers().one(chosen.path, chosen.name, converter, options)
    return found["verdict"], found["detail"]


def _failures(chosen: Chosen, converter: str, options: dict[str, Any]) -> tuple[str, str]:
    """Type, text and line are those of dygraph; Paddle's texts name other operators at times.

    An error of d2s on the same line is like dygraph's if its class is one of that class.
    """
    failing = failure.load(chosen.name)
    want = shown.show(failing, lambda built, **_: built)
    got = shown.show(failing, _convert(converter, options))
    if got.code:
        alike = got.line == want.line and _is_one_of(got.type, want.type)
        return ("right", "") if alike else ("refused", got.message)
    for what in ("type", "line", "message"):
        right, mine = getattr(want, what), getattr(got, what)
        if right != mine and not (what == "message" and _same_text(right, mine)):
            return "WRONG", f"{what} is {mine!r}, should be {right!r}"
    return "right", ""


def _is_one_of(name: str, other: str) -> bool:
    """Whether an error of d2s is an exception of another class as well."""
    found = getattr(errors, name.rpartition(".")[2], object)
    return other.rpartition(".")[2] in [kind.__name__ for kind in found.__mro__]


_OF_TO_STATIC: Final = ("D2S102", "D2S302")
"""Codes of mistakes in the arguments of ``to_static``, which dygraph does not see."""


def _same_text(want: str, got: str) -> bool:
    from corpus.failures.report import OTHER, message_kept

    return message_kept(got, want) != OTHER


_JUDGES: dict[str, Judge] = {
    "programs": _programs,
    "realistic": _realistic,
    "failures": _failures,
    "strangers": _strangers,
}
SUITES = (*_JUDGES,)


@functools.cache
def strangers() -> Any:
    """The module that runs the strangers' programs."""
    sys.path.insert(0, str(STRANGERS))
    spec = importlib.util.spec_from_file_location("strangers_run", STRANGERS / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def everything(suite: str) -> Iterator[Chosen]:
    """All programs of a suite."""
    if suite == "programs":
        for name, path in case.paths().items():
            yield Chosen(suite, name, path)
    elif suite == "realistic":
        for item in realistic.items():
            yield Chosen(suite, item.name, item.path)
    elif suite == "failures":
        for name, path in failure.paths().items():
            if failure.load(name).code not in _OF_TO_STATIC:
                yield Chosen(suite, name, path)
    else:
        pattern = re.compile(r"^@program\n(?:@.*\n)*def (\w+)\(", re.MULTILINE)
        for path in sorted((STRANGERS / "programs").glob("*.py")):
            for name in pattern.findall(path.read_text(encoding="utf-8")):
                yield Chosen(suite, name, path)


def refused(suite: str) -> frozenset[str] | None:
    """The names of the programs that are not right as one; ``None`` where nothing says it."""
    if suite == "programs":
        cases = json.loads((RESULTS / "d2s.json").read_text(encoding="utf-8"))["cases"]
        return frozenset(name for name, each in cases.items() if each["verdict"] != "right")
    if suite == "realistic":
        known = verdicts.read(verdicts.NOW)
        return frozenset(name for name, each in known.items() if each.verdict != "right")
    if suite == "failures":
        loaded = failure.load_all()
        return frozenset(each.name for each in loaded if each.code)
    return None
