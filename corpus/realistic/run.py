"""Run a program in dygraph and converted, in a process of its own, and give a verdict."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import random
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from corpus import realistic
from corpus.converters import NO_ANSWER, run_all_apart
from corpus.facts import Fact
from corpus.realistic import Convert, Program, seen
from corpus.runner import Result, captured_stdout

FOLDER = Path(__file__).parent / "programs"
SEED = 7
D2S = "d2s:to_static"
"""Asked for one program, unless the options say something else."""

NONE = "none"
"""The name of the converter that leaves a program as it is."""

VERDICTS = ("right", "gradient flag", "refused", "WRONG", "failed", "crash", "hang", "invalid")
BAD = frozenset(VERDICTS[3:])
"""What harms a user; a refusal has a code and says what to do. ``invalid``: fails in dygraph."""


@dataclass(frozen=True)
class Item:
    """A program by its name, and the file that it stands in."""

    name: str
    path: Path


@dataclass(frozen=True)
class Judged:
    """What became of one program.

    Attributes:
        verdict: one of ``VERDICTS``.
        detail: the first thing that differs, or the error.
        records: how many values the program yields in dygraph.
        dygraph_s, converted_s: how long the two runs took.
        trace: the traceback of an error that left the program.
    """

    name: str
    verdict: str
    detail: str = ""
    records: int = 0
    dygraph_s: float = 0.0
    converted_s: float = 0.0
    trace: str = ""

    @property
    def bad(self) -> bool:
        return self.verdict in BAD


class UnknownConverterError(Exception):
    """There is no such converter; the message says what was looked for."""


def items(folder: Path = FOLDER) -> list[Item]:
    """All programs, by file and then in the order of the file; nothing is imported.

    Raises:
        ValueError: two of them have one name.
    """
    found: dict[str, Item] = {}
    for path in sorted(folder.glob("[!_]*.py")):
        for name in _names_in(path.read_text(encoding="utf-8")):
            if name in found:
                files = f"{found[name].path.name} and {path.name}"
                raise ValueError(f"two programs are called {name}, in {files}")
            found[name] = Item(name, path)
    return list(found.values())


@functools.cache
def _names_in(text: str) -> list[str]:
    """The names of the programs in the text of a file."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if any(map(_is_marker, node.decorator_list))]


def _is_marker(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "program"


def converter(name: str, options: Mapping[str, Any]) -> Convert:
    """The function ``module:attribute`` with these options; ``none`` converts nothing."""
    if name == NONE:
        return lambda function, **_: function
    module, _, attribute = name.partition(":")
    try:
        convert: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        text = f"{name!r} is no converter (module:function): {error}"
        raise UnknownConverterError(text) from None
    if name == D2S:
        options = {"full_graph": True, **options}
    return lambda function, **own: convert(function, **{**options, **own})


def run_all(
    todo: Sequence[Item], name: str, options: Mapping[str, Any], limit: float, jobs: int
) -> Iterator[Judged]:
    """Run each program in a process of its own; the results come as they end."""
    child = functools.partial(_child, options=options)
    for result in run_all_apart(todo, name, limit, jobs, child):
        if isinstance(result, Judged):
            yield result
        elif isinstance(result, Result) and result.verdict.startswith(NO_ANSWER):
            yield Judged(result.name, "hang", result.verdict.removeprefix("failed "))
        else:
            yield Judged(result.name, "crash", result.verdict.removeprefix("failed "))


def _child(send: Connection, item: Item, name: str, *, options: Mapping[str, Any]) -> None:
    send.send(judge(item, lambda: converter(name, options)))


def judge(item: Item, make_convert: Callable[[], Convert]) -> Judged:
    """Run a program twice, in dygraph first, and compare what it yields and prints.

    The converter is asked for when dygraph has run: its import may change Paddle.
    """
    want = observe(load(item), lambda function, **_: function)
    if want.error is not None:
        return Judged(item.name, "invalid", said(want.error), trace=trace(want.error))
    got = observe(load(item), make_convert())
    verdict, detail = compare(want, got)
    return Judged(
        item.name,
        verdict,
        detail,
        len(want.records),
        round(want.seconds, 3),
        round(got.seconds, 3),
        trace(got.error) if got.error is not None else "",
    )


def load(item: Item) -> Program:
    """The program, from a module that is made anew: the last run may have changed its globals."""
    realistic.PROGRAMS.clear()
    name = f"realistic_{item.path.stem}"
    spec = importlib.util.spec_from_file_location(name, item.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return realistic.PROGRAMS[item.name]


@dataclass(frozen=True)
class Run:
    """What one run of a program shows."""

    records: list[list[Fact]]
    text: str
    error: Exception | None
    seconds: float


def observe(make: Program, convert: Convert) -> Run:
    """Run a program to its end, or to the error that leaves it."""
    paddle.seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    records: list[list[Fact]] = []
    problem = None
    start = time.perf_counter()
    with captured_stdout() as text:
        try:
            for value in make(convert):
                records.append(seen.seen(f"record {len(records)}", value))
        except Exception as error:
            problem = error
    return Run(records, text(), problem, time.perf_counter() - start)


def compare(want: Run, got: Run) -> tuple[str, str]:
    """The verdict on ``got``, and what it rests on."""
    flags: list[str] = []
    for mine, right in zip(got.records, want.records, strict=False):
        found = seen.difference(right, mine, flags)
        if found is not None:
            return ("refused" if found.code else "WRONG"), found.text
    if got.error is not None:
        code = re.search(r"D2S\d{3}", str(got.error))
        return ("refused" if code else "failed"), f"record {len(got.records)}: {said(got.error)}"
    if len(want.records) != len(got.records):
        return "WRONG", f"yields {len(got.records)} values, should yield {len(want.records)}"
    text = seen.text_difference(want.text, got.text)
    if text:
        return "WRONG", text
    return ("gradient flag", flags[0]) if flags else ("right", "")


def said(error: Exception) -> str:
    """The type and the text of an error, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))
