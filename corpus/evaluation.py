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
from typing import Any, Final

from corpus import record
from corpus.case import load_all
from corpus.converters import LEAVES
from corpus.failures import failure, report
from corpus.islands.record import read as read_islands
from corpus.language import DOCS, Language, Text, page_in, same, table, write
from corpus.realistic import verdicts as realistic
from corpus.record import CONVERTERS, Outcomes, Record
from corpus.rows import ROWS
from corpus.support import COUNTED, KINDS, Program, outcome_cell
from corpus.zoo.page import MODELS
from corpus.zoo.page import RESULTS as ZOO

PAGE: Final = DOCS / "evaluation.md"

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


STOP: Final = Text(".", "。")
PROGRAMS: Final = Text("programs", "程序数")


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


def filled(titles: Iterable[Text], rows: Iterable[Iterable[object]], language: Language) -> str:
    """A Markdown table.

    >>> print(filled([same(""), Text("number", "数目")], [["a", 1]], "en"), end="")
    |  | number |
    |---|---|
    | a | 1 |
    """
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([*table(tuple(titles), language), *lines, ""])


def _of_rows(text: str, results: Results, language: Language) -> str:
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
    outcomes = [outcome_cell(row.number, results.tests, "en") for row in ROWS if row.number in rows]
    passed = sum(
        int(found) for each in outcomes for found in re.findall(r"(\d+) tests? pass", each)
    )
    where = Text(
        f"`make support`: rows {text} of [What is supported](guide/support.md)",
        f"`make support`：[支持情况](guide/support.md)的第 {text} 行",
    )[language]
    tests = Text(
        f"{passed} test{'s' * (passed > 1)} of d2s, all passed", f"d2s 的 {passed} 个测试，全部通过"
    )[language]
    if not names:
        return Text(
            f"{where}: {tests}. Paddle's converters are not run there.\n",
            f"{where}：{tests}。飞桨的转换方式不在那里运行。\n",
        )[language]
    shown = filled([same(""), *COUNTED], lines, language)
    more = Text(f", and {tests}", f"，以及 {tests}")[language] * bool(passed)
    return f"{shown}\n{where}{more}{STOP[language]}\n"


def _from(command: str, page: Text, language: Language) -> str:
    """Where a table comes from."""
    return f"\n`{command}`{Text(': ', '：')[language]}{page[language]}{STOP[language]}\n"


def _failures(_: str, __: Results, language: Language) -> str:
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
    titles = [*report.TOTALS[:5], Text("library frames, median", "库的栈帧，中位数")]
    page = Text("[When a program fails](guide/failures.md)", "[程序出错时](guide/failures.md)")
    return filled(titles, lines, language) + _from("make failures", page, language)


def _realistic(_: str, __: Results, language: Language) -> str:
    """First and present verdicts on programs by authors who did not know d2s."""
    tables = {
        Text("d2s, first", "d2s，最初"): realistic.read(realistic.FIRST),
        Text("d2s, now", "d2s，现在"): realistic.read(realistic.NOW),
    }
    kinds = ("right", "gradient flag", "refused", "WRONG", "failed", "crash", "hang")
    lines = []
    for title, verdicts in tables.items():
        count = collections.Counter(each.verdict for each in verdicts.values())
        lines.append([title[language], len(verdicts), *(count[kind] for kind in kinds)])
    text = filled([same(""), PROGRAMS, *map(same, kinds)], lines, language)
    page = Text("[Realistic programs](guide/realistic.md)", "[真实程序](guide/realistic.md)")
    return text + _from("python -m corpus.realistic", page, language)


def _islands(_: str, __: Results, language: Language) -> str:
    """Programs that cannot be one program, under the defaults of d2s and SOT."""
    ours = list(read_islands().values())
    theirs = [each for each in ours if each.sot]
    right = sum(each.verdict == "right" for each in ours)
    sot_right = sum(each.sot == "right" for each in theirs)
    lines = [
        ["d2s", len(ours), right, sum(each.breaks for each in ours)],
        ["Paddle SOT", len(theirs), sot_right, sum(each.sot_pieces for each in theirs)],
    ]
    titles = [same(""), PROGRAMS, same("right"), Text("cuts", "切开的次数")]
    page = Text(
        "[Functions that are not one program](guide/islands.md)",
        "[不能成为一个 Program 的函数](guide/islands.md)",
    )
    return filled(titles, lines, language) + _from("python -m corpus.islands", page, language)


def _zoo(_: str, __: Results, language: Language) -> str:
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
    titles = [same(""), MODELS, *map(same, kinds)]
    page = Text(
        "[Models of other people](guide/zoo.md), which says what was run of each",
        "[他人的模型](guide/zoo.md)，其中说明每个模型运行了什么",
    )
    return filled(titles, lines, language) + _from("make zoo", page, language)


FIGURES: Final[dict[str, Callable[[str, Results, Language], str]]] = {
    "rows": _of_rows,
    "failures": _failures,
    "realistic": _realistic,
    "islands": _islands,
    "zoo": _zoo,
}
"""By the first word of a mark."""


def render(text: str, language: Language) -> str:
    """The page with its figures as the results are."""
    results = Results()

    def part(found: re.Match[str]) -> str:
        name, _, rest = found["name"].partition(" ")
        return f"{found['begin']}\n{FIGURES[name](rest, results, language)}\n{found['end']}"

    return _PART.sub(part, text)


if __name__ == "__main__":
    write(PAGE, lambda each: render(page_in(each, PAGE).read_text(encoding="utf-8"), each))
