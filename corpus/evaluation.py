"""``python -m corpus.evaluation``: write the figures of the evaluation again, in both languages.

The words of ``docs/evaluation.md`` are written by hand; what stands between two marks,
``<!-- figures: NAME -->`` and ``<!-- end of figures -->``, is made here of recorded results, with
the command that makes them.  Nothing is run.  A test fails when the page is not what they say.
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from corpus import record
from corpus.case import load_all
from corpus.converters import LEAVES
from corpus.failures import failure, report
from corpus.islands.record import read as read_islands
from corpus.realistic import verdicts as realistic
from corpus.record import CONVERTERS, Outcomes, Record
from corpus.rows import ROWS
from corpus.support import KINDS, Program, outcome_cell
from corpus.zoo.page import RESULTS as ZOO

_DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
PAGES: Final = {_DOCS / "evaluation.md": "", _DOCS / "zh" / "evaluation.md": "../"}
"""Each page, and the way from it to the pages that figures link to."""

_PART: Final = re.compile(
    r"(?P<begin><!-- figures: (?P<name>[\w ,-]+) -->\n).*?(?P<end><!-- end of figures -->\n)", re.S
)


@dataclass(frozen=True)
class Results:
    """What has been recorded, read when it is asked for."""

    @cached_property
    def programs(self) -> list[Program]:
        return [Program.of(case) for case in load_all()]

    @cached_property
    def records(self) -> dict[str, Record]:
        return {converter: record.read(converter) for converter in CONVERTERS}

    @cached_property
    def tests(self) -> Outcomes:
        return record.read_tests()


def numbers_in(text: str) -> set[int]:
    """The rows that a mark names.

    >>> sorted(numbers_in("1-3, 7"))
    [1, 2, 3, 7]
    """
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table.

    >>> print(table(["", "n"], [["a", 1]]), end="")
    |  | n |
    |---|---|
    | a | 1 |
    """
    head = list(titles)
    lines = [head, *([str(cell) for cell in row] for row in rows)]
    text = [f"| {' | '.join(line)} |\n" for line in lines]
    return "".join([text[0], "|" + "---|" * len(head) + "\n", *text[1:]])


def _of_rows(text: str, results: Results) -> str:
    """What the converters make of the programs that show some rows of the support table."""
    rows = numbers_in(text)
    names = [each.name for each in results.programs if rows & {*each.rows}]
    lines = []
    for converter, title in CONVERTERS.items():
        known = results.records[converter].cases
        found = [known[name] for name in names if name in known]
        kinds = collections.Counter(each.kind for each in found)
        leaving = sum(each.remark == LEAVES for each in found)
        counts = [kinds["right"], leaving, *(kinds[kind] for kind in KINDS[1:])]
        lines.append([title, len(found), *counts])
    outcomes = [outcome_cell(row.number, results.tests) for row in ROWS if row.number in rows]
    passed = sum(
        int(found) for each in outcomes for found in re.findall(r"(\d+) tests? pass", each)
    )
    tests = f"{passed} test{'s' * (passed > 1)} of d2s, all passed" if passed else ""
    where = f"`make support`: rows {text} of [What is supported](guide/support.md)"
    if not names:
        return f"{where}: {tests}. Paddle's converters are not run there.\n"
    shown = table(["", "programs", "right", "of these leave the graph", *KINDS[1:]], lines)
    return f"{shown}\n{where}{', and ' * bool(tests)}{tests}.\n"


def _failures(_: str, __: Results) -> str:
    """What is shown of programs that fail in dygraph."""
    failures = [each for each in failure.load_all() if not each.code]
    notes = {converter: report.read(converter) for converter in report.CONVERTERS}
    lines = []
    for converter, title in report.CONVERTERS.items():
        judged = report.judge(failures, notes, converter)
        middle = sorted(each.told.library for each in judged if each.fails)
        lines.append(
            [
                title,
                len(judged),
                sum(each.type for each in judged),
                sum(each.message for each in judged),
                sum(each.line for each in judged),
                middle[len(middle) // 2],
            ]
        )
    titles = ["", "programs", "type kept", "message kept", "line named", "library frames, median"]
    return table(titles, lines) + "\n`make failures`: [When a program fails](guide/failures.md).\n"


def _realistic(_: str, __: Results) -> str:
    """First and present verdicts on programs by authors who did not know d2s."""
    tables = {"first": realistic.read(realistic.FIRST), "now": realistic.read(realistic.NOW)}
    kinds = ("right", "gradient flag", "refused", "WRONG", "failed", "crash", "hang")
    lines = []
    for title, verdicts in tables.items():
        count = collections.Counter(each.verdict for each in verdicts.values())
        lines.append([f"d2s, {title}", len(verdicts), *(count[kind] for kind in kinds)])
    text = table(["", "programs", *kinds], lines)
    return f"{text}\n`python -m corpus.realistic`: [Realistic programs](guide/realistic.md).\n"


def _islands(_: str, __: Results) -> str:
    """Programs that cannot be one program, under the defaults of d2s and SOT."""
    ours = list(read_islands().values())
    theirs = [each for each in ours if each.sot]
    right = sum(each.verdict == "right" for each in ours)
    sot_right = sum(each.sot == "right" for each in theirs)
    lines = [
        ["d2s", len(ours), right, sum(each.breaks for each in ours)],
        ["Paddle SOT", len(theirs), sot_right, sum(each.sot_pieces for each in theirs)],
    ]
    text = table(["", "programs", "right", "cuts"], lines)
    page = "[Functions that are not one program](guide/islands.md)"
    return f"{text}\n`python -m corpus.islands`: {page}.\n"


def _zoo(_: str, __: Results) -> str:
    """Models of published packages."""
    found: dict[str, Any] = json.loads(ZOO.read_text(encoding="utf-8"))["packages"]
    titles = {"d2s": "d2s", "ast": "Paddle AST", "sot": "Paddle SOT"}
    kinds = ("right", "refused", "failed", "WRONG", "crash", "hang")
    lines = []
    for converter, title in titles.items():
        verdicts = [
            model[converter]["verdict"]
            for models in found.values()
            for model in models.values()
            if converter in model
        ]
        ran = [each for each in verdicts if not each.startswith("left")]
        counts = [sum(each.startswith(kind) for each in ran) for kind in kinds]
        lines.append([title, len(ran), *counts])
    text = table(["", "models", *kinds], lines)
    page = "[Models of other people](guide/zoo.md), which says what was run of each"
    return f"{text}\n`make zoo`: {page}.\n"


FIGURES: Final[dict[str, Callable[[str, Results], str]]] = {
    "rows": _of_rows,
    "failures": _failures,
    "realistic": _realistic,
    "islands": _islands,
    "zoo": _zoo,
}
"""By the first word of a mark."""


def render(text: str, up: str = "") -> str:
    """The page with its figures as the results are; ``up`` leads from it to ``docs``."""
    results = Results()

    def part(found: re.Match[str]) -> str:
        name, _, rest = found["name"].partition(" ")
        shown = FIGURES[name](rest, results).replace("](guide/", f"]({up}guide/")
        return f"{found['begin']}\n{shown}\n{found['end']}"

    return _PART.sub(part, text)


if __name__ == "__main__":
    for page, up in PAGES.items():
        page.write_text(render(page.read_text(encoding="utf-8"), up), encoding="utf-8")
