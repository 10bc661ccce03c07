"""What the converters made of the cases, as files under ``corpus/results``.

One file for each converter, and one for the tests that prove a row. Nothing in them changes from
run to run by itself: no timings, no addresses, no paths, numbers with few digits.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paddle

from corpus.converters import NO_ANSWER
from corpus.evidence import Mark
from corpus.runner import Result

RESULTS = Path(__file__).parent / "results"
CONVERTERS = {"d2s": "d2s", "paddle-ast": "Paddle AST", "paddle-sot": "Paddle SOT"}
LONGEST = 160  # characters of a verdict


@dataclass(frozen=True)
class Verdict:
    """What became of one case, whose file had this hash."""

    hash: str
    verdict: str
    remark: str = ""

    @property
    def kind(self) -> str:
        """right, refused, WRONG, failed or no answer."""
        if self.verdict.startswith(NO_ANSWER):
            return "no answer"
        return self.verdict.split(maxsplit=1)[0]

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return self.verdict.split()[1] if self.kind == "refused" else ""


@dataclass
class Record:
    """The verdicts of one converter, by the name of the case."""

    converter: str
    paddle: str = ""
    python: str = ""
    cases: dict[str, Verdict] = field(default_factory=dict)

    @property
    def current(self) -> bool:
        """Whether it was made with the Paddle and the Python that run now."""
        python = platform.python_version_tuple()
        return self.paddle == paddle.__version__ and self.python.split(".")[:2] == [*python[:2]]

    def note(self, result: Result, hash_: str) -> None:
        """Take a new result of the case whose file has this hash."""
        self.paddle, self.python = paddle.__version__, platform.python_version()
        self.cases[result.name] = Verdict(hash_, tidy(result.verdict), result.remark)


@dataclass
class Outcomes:
    """How the marked tests ended, by ``file::function``."""

    paddle: str = ""
    python: str = ""
    marks: dict[str, tuple[Mark, ...]] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)


def digest(path: Path) -> str:
    """The hash of a case's file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def tidy(verdict: str) -> str:
    """``verdict`` without what differs between two runs or two machines.

    >>> tidy("failed KeyError: <f at 0x7f01> in /tmp/a1/net.py:3 is 0.123456789")
    'failed KeyError: <f at 0x...> in net.py:3 is 0.1235'
    """
    text = re.sub(r"0x[0-9a-f]+", "0x...", " ".join(verdict.split()))
    text = re.sub(r"(?<![\w./])/(?:[^\s/'\":,]+/)+", "", text)
    text = re.sub(r"(?<=_)[0-9a-f]{5}(?=\b|_)|(?<=tmp)\w{8}\b", "...", text)
    text = re.sub(r"\d+\.\d{5,}(?:e[+-]?\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 3].rstrip() + "..."


def read(converter: str, folder: Path = RESULTS) -> Record:
    """The record of a converter; an empty one where there is none."""
    data = load(folder / f"{converter}.json")
    cases = {name: Verdict(**verdict) for name, verdict in data.pop("cases", {}).items()}
    return Record(**{"converter": converter, **data}, cases=cases)


def write(record: Record, folder: Path = RESULTS) -> None:
    """Write the record of a converter, cases sorted by name."""
    head = {"converter": record.converter, "paddle": record.paddle, "python": record.python}
    cases = {
        name: {key: value for key, value in vars(verdict).items() if value or key != "remark"}
        for name, verdict in record.cases.items()
    }
    dump(folder / f"{record.converter}.json", head, "cases", cases)


def read_tests(folder: Path = RESULTS) -> Outcomes:
    """The record of the marked tests."""
    data = load(folder / "tests.json")
    tests = data.pop("tests", {})
    found = Outcomes(**data)
    for name, entry in tests.items():
        found.outcomes[name] = entry["outcome"]
        found.marks[name] = tuple(
            Mark(tuple(mark["rows"]), mark.get("refused", "")) for mark in entry["marks"]
        )
    return found


def write_tests(tests: Outcomes, folder: Path = RESULTS) -> None:
    """Write the record of the marked tests."""
    entries = {
        name: {
            "outcome": tests.outcomes[name],
            "marks": [{key: value for key, value in vars(mark).items() if value} for mark in marks],
        }
        for name, marks in tests.marks.items()
    }
    dump(folder / "tests.json", {"paddle": tests.paddle, "python": tests.python}, "tests", entries)


def load(path: Path) -> dict[str, Any]:
    """What a file of results holds; nothing where there is none."""
    if not path.exists():
        return {}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def dump(path: Path, head: Mapping[str, str], key: str, entries: Mapping[str, object]) -> None:
    """Write a file of results: one line for each entry, so that a diff shows entries."""
    line = functools.partial(json.dumps, ensure_ascii=False)
    lines = [f" {line(name)}: {line(value)}," for name, value in head.items()]
    body = ",\n".join(f"  {line(name)}: {line(entries[name])}" for name in sorted(entries))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "{\n" + "\n".join(lines) + f"\n {line(key)}: {{\n{body}\n }}\n}}\n", encoding="utf-8"
    )


def stale(record: Record, paths: Mapping[str, Path]) -> list[str]:
    """Why a record does not speak about the cases as they are; empty when it does."""
    problems = []
    for name, path in paths.items():
        if name not in record.cases:
            problems.append(f"{name}: no result of {record.converter}")
        elif record.cases[name].hash != digest(path):
            problems.append(f"{name}: changed since {record.converter} ran it")
    problems += [f"{name}: there is no such case" for name in record.cases if name not in paths]
    return problems
