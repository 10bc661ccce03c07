"""The two tables of verdicts, and the page ``docs/guide/realistic.md`` that shows their counts.

``first_verdicts.json`` says what d2s made of each program when it saw it for the first time; a row
is never written again. ``verdicts.json`` says what it makes of them now; the tests hold it to that.
Both are written by ``python -m corpus.realistic``, never by hand.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.language import Language, Text
from corpus.realistic.run import VERDICTS, Item, Judged
from corpus.record import tidy

HERE = Path(__file__).parent
FIRST = HERE / "first_verdicts.json"
NOW = HERE / "verdicts.json"
PAGE = HERE.parents[1] / "docs" / "guide" / "realistic.md"
BEGIN, END = "<!-- counts: begin -->\n", "<!-- counts: end -->\n"


@dataclass(frozen=True)
class Verdict:
    """A verdict without what changes from run to run."""

    verdict: str
    detail: str = ""

    @classmethod
    def of(cls, judged: Judged) -> Verdict:
        return cls(judged.verdict, tidy(judged.detail))


Verdicts = dict[str, Verdict]


def read(path: Path) -> Verdicts:
    """A table of verdicts by name; empty where there is no file."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {name: Verdict(*row) for name, row in data.items()}


def write(path: Path, verdicts: Mapping[str, Verdict]) -> None:
    """One line for each program, sorted by name."""
    lines = [
        f" {json.dumps(name)}: {json.dumps([verdict.verdict, verdict.detail])}"
        for name, verdict in sorted(verdicts.items())
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def first(known: Mapping[str, Verdict], judged: Iterable[Judged]) -> Verdicts:
    """``known`` with the verdicts on programs that had none."""
    return {**{each.name: Verdict.of(each) for each in judged}, **known}


def now(known: Mapping[str, Verdict], judged: Iterable[Judged], items: Sequence[Item]) -> Verdicts:
    """``known`` with these verdicts, without those on programs that are gone."""
    found = {**known, **{each.name: Verdict.of(each) for each in judged}}
    return {item.name: found[item.name] for item in items if item.name in found}


def counts(
    items: Sequence[Item],
    before: Mapping[str, Verdict],
    now: Mapping[str, Verdict],
    language: Language,
) -> str:
    """The table of counts: each file, first verdicts and those of today."""
    shown = VERDICTS[:-1]
    titles = [Text("programs", "程序")[language], Text("number", "数目")[language], *shown]
    rows = [titles, ["---"] + ["---:"] * (len(shown) + 1)]
    files: dict[str, list[Item]] = collections.defaultdict(list)
    for item in items:
        files[item.path.stem].append(item)
    all_ = Text("all", "全部")[language]
    for title, group in [*((f"`{name}`", group) for name, group in files.items()), (all_, items)]:
        names = [item.name for item in group]
        rows.append([title, str(len(names)), *(_cell(v, names, before, now) for v in shown)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(
    verdict: str, names: Iterable[str], before: Mapping[str, Verdict], now: Mapping[str, Verdict]
) -> str:
    was, is_ = (
        sum(name in table and table[name].verdict == verdict for name in names)
        for table in (before, now)
    )
    return f"{was} → {is_}" if was or is_ else ""


def page(text: str, table: str) -> str:
    """The page ``text`` with this table between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table}\n{END}{tail}"
