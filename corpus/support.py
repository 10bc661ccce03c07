"""``python -m corpus.support``: run everything that proves a row, and write the support table.

The table is one page, ``docs/guide/support.md``; what shows each row, and what became of each
program, is another one, ``support-programs.md``.

d2s runs every case each time. Paddle's converters run the cases that are new or have changed, and
all of them under another Paddle or Python: what else could change their verdict is not ours.

Ends with 0 if d2s gets every case right or refuses it and every marked test passes, with 1 if
not, with 2 when a case or a name is bad.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

# Paddle's C++ side reports each interpreter that it starts; read when the library is loaded.
os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import collections
import html
import platform
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated

warnings.filterwarnings("ignore")

import paddle
import typer

from corpus import evidence, record
from corpus.case import Case, CaseError, load, load_all
from corpus.converters import LEAVES, run_all_apart
from corpus.evidence import EvidenceError
from corpus.language import Language, Text, same, section
from corpus.language import table as _table
from corpus.language import write as write_page
from corpus.record import CONVERTERS, Outcomes, Record, Verdict
from corpus.rows import ROWS, Row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "support.md"
PROGRAMS = "support-programs.md"  # beside it
KINDS = ("right", "refused", "WRONG", "failed", "no answer")
BAD = ("WRONG", "failed", "no answer")
D2S_TIMEOUT = 120.0
PEER_TIMEOUT = 20.0

PEERS = tuple(same(title) for title in CONVERTERS.values())
COUNTED = (
    Text("programs", "程序数"),
    same("right"),
    Text("of these leave the graph", "其中离开图"),
    *(same(kind) for kind in KINDS[1:]),
)
"""The heads of a table that counts verdicts."""


@dataclass(frozen=True)
class Program:
    """What the page says of a case besides its verdicts."""

    name: str
    group: str
    summary: str
    rows: tuple[int, ...]

    @classmethod
    def of(cls, case: Case) -> Program:
        return cls(case.name, case.group, case.summary, case.rows)


# -- cells ---------------------------------------------------------------------------------------


COMMA = Text(", ", "，")
NOT_RUN = Text("not run", "未运行")
NO_TEST = Text("no test yet", "尚无测试")
LEAVING = Text(LEAVES, "离开图")


def cell(verdicts: Sequence[Verdict], language: Language) -> str:
    """The verdicts on the programs of a row, in few words.

    >>> cell([Verdict("", "right"), Verdict("", "right", LEAVES)], "en")
    'right 2/2, 1 leaves the graph'
    >>> found = [Verdict("", "right"), Verdict("", "refused D2S205"), Verdict("", "WRONG value")]
    >>> cell(found, "en")
    'right 1, refused 1 (D2S205), **WRONG 1**'
    """
    found = collections.Counter(verdict.kind for verdict in verdicts)
    parts = []
    for kind in KINDS:
        if not found[kind]:
            continue
        text = f"{kind} {found[kind]}" + (f"/{len(verdicts)}" if len(found) == 1 else "")
        if kind == "refused":
            text += f" ({', '.join(sorted({each.code for each in verdicts if each.code}))})"
        if kind == "WRONG":
            text = f"**{text}**"
        if kind == "right":
            text += _leaving([each.remark for each in verdicts if each.kind == "right"], language)
        parts.append(text)
    return COMMA[language].join(parts)


def _leaving(remarks: Sequence[str], language: Language) -> str:
    count = remarks.count(LEAVES)
    if not count:
        return ""
    if count == len(remarks):
        return COMMA[language] + LEAVING[language]
    leave = "leaves" if count == 1 else "leave"
    return COMMA[language] + Text(f"{count} {leave} the graph", f"{count} 个离开图")[language]


_OUTCOMES: Mapping[str, Callable[[int, str], Text]] = {
    "passed": lambda n, _: Text(f"{n} test{'s pass' if n > 1 else ' passes'}", f"{n} 个测试通过"),
    "refused": lambda n, codes: Text(
        f"refused in {n} test{'s' * (n > 1)} ({codes})", f"{n} 个测试中被拒绝（{codes}）"
    ),
    "skipped": lambda n, _: Text(f"{n} test{'s' * (n > 1)} skipped", f"{n} 个测试跳过"),
    "failed": lambda n, _: Text(
        f"**{n} test{'s fail' if n > 1 else ' fails'}**", f"**{n} 个测试失败**"
    ),
    "missing": lambda n, _: Text(f"**{n} test{'s' * (n > 1)} missing**", f"**缺少 {n} 个测试**"),
}


def outcome_cell(row: int, tests: Outcomes, language: Language) -> str:
    """How the tests of a row ended.

    >>> from corpus.evidence import Mark
    >>> marks = {"a": (Mark((1,)),), "b": (Mark((1, 2)),)}
    >>> outcome_cell(1, Outcomes("", "", marks, {"a": "passed", "b": "failed"}), "en")
    '1 test passes, **1 test fails**'
    """
    found: collections.Counter[str] = collections.Counter()
    codes = set()
    for name, marks in tests.marks.items():
        for mark in marks:
            if row not in mark.rows:
                continue
            outcome = tests.outcomes[name]
            if outcome == "passed" and mark.refused:
                outcome = "refused"
                codes.add(mark.refused)
            found[outcome] += 1
    said = ", ".join(sorted(codes))
    return COMMA[language].join(
        word(found[kind], said)[language] for kind, word in _OUTCOMES.items() if found[kind]
    )


def cells(
    row: Row,
    programs: Sequence[Program],
    records: Mapping[str, Record],
    tests: Outcomes,
    language: Language,
) -> list[str]:
    """The cells of a row: d2s first, then the peers."""
    mine = [program for program in programs if row.number in program.rows]
    out = []
    for converter in CONVERTERS:
        known = records[converter].cases
        text = cell([known[each.name] for each in mine if each.name in known], language)
        missing = sum(each.name not in known for each in mine)
        not_run = f"{NOT_RUN[language]} {missing}" * bool(missing)
        out.append(_joined((text, not_run), language))
    out[0] = _joined((out[0], outcome_cell(row.number, tests, language)), language)
    if row.measured:
        measured = Text(f"measured: `{row.measured}`", f"由 `{row.measured}` 测量")[language]
        return [measured for _ in out]
    if not out[0]:
        return [NO_TEST[language], *("-" for _ in out[1:])]
    return [text or "-" for text in out]


def _joined(parts: Iterable[str], language: Language) -> str:
    return COMMA[language].join(part for part in parts if part)


def said(verdict: Verdict, language: Language) -> str:
    """A verdict with its remark, as words in a cell."""
    remark = LEAVING[language] if verdict.remark == LEAVES else verdict.remark
    return escape(_joined((verdict.verdict, remark), language))


# -- the page ------------------------------------------------------------------------------------

_INTRO = Text(
    """\
# What is supported

One line for each thing that a program may contain or ask for, and what d2s and Paddle's own two
converters make of it. Nobody typed in the cells: they are what came out when the programs of
`corpus/` ran in dygraph and converted, on the same inputs, call by call. `make support` runs them
and writes this page.

{versions}

- **right**: every result, dtype, shape, gradient, exception, printed text and changed argument is
  what dygraph gives.
- **leaves the graph**: right, but not as one program: SOT ran parts of the function as Python, or
  all of it.
- **refused**: an error with a code, the line and a cure, in place of a result; [Limits](limits.md)
  says what to write instead.
- **WRONG**: something differs from dygraph, and no error says so.
- **failed**: an error that dygraph does not raise, or a crash.
- **no answer**: the process had to be stopped after {timeout:g} s.
- **test**: a test of d2s shows it; Paddle's converters are not run there, and have a "-".
- **no test yet**: nothing shows it; it may work or not.

A program counts as right only if all of its calls are: both sides of each branch, none, one and
many trips of each loop, train and eval where a layer has them, everything twice. So one program can
be wrong for a reason that belongs to another of its rows.
""",
    """\
# 支持情况

程序可能包含或要求的每一件事占一行，并给出 d2s 和飞桨自带的两种转换方式的结果。没有一格是手工填写
的：`corpus/` 的程序以动态图运行，再转换后运行，输入相同，逐次调用比较，单元格就是得到的结
果。`make support` 运行这些程序并生成本页。

{versions}

- **right**（正确）：每个结果、数据类型、形状、梯度、异常、打印的文本和被改变的实参都与动态图相同。
- **离开图**（leaves the graph）：正确，但不是一个 Program：SOT 把函数的一部分或全部作为 Python 运
行。
- **refused**（拒绝）：给出带错误码、代码行和修改建议的错误，而不是结果；
替代写法见[限制](limits.md)。
- **WRONG**（错误）：有与动态图不同之处，而没有任何报错。
- **failed**（失败）：动态图不会抛出的错误，或进程崩溃。
- **no answer**（没有回答）：进程在 {timeout:g} 秒之后被停止。
- **测试**：由 d2s 的测试展示；飞桨的转换方式不在那里运行，写作 “-”。
- **尚无测试**：没有任何东西展示它；它可能可用，也可能不可用。

一个程序的所有调用都正确，才算 right：每个分支的两侧；每个循环的零次、一次和多次迭代；
有 train 与 eval 之分的 Layer，两种模式都运行；全部各做两遍。因此，一个程序出错的原因可能属于它的另
一行。
""",
)


def render(
    programs: Sequence[Program],
    records: Mapping[str, Record],
    tests: Outcomes,
    language: Language,
) -> str:
    """The text of the page."""
    versions = _versions(records)[language]
    parts = [
        _INTRO[language].format(versions=versions, timeout=PEER_TIMEOUT),
        f"## {Text('In total', '合计')[language]}\n\n"
        + _totals(programs, records, tests, language),
        f"## {Text('By subject', '按主题')[language]}\n\n" + _subjects(programs, records, language),
    ]
    for title, group in groupby(ROWS, key=lambda row: row.section):
        lines = _table((same("#"), Text("feature", "功能"), *PEERS), language)
        for row in group:
            feature = row.feature[language] + "".join(f" ({thread})" for thread in row.threads)
            lines.append(
                _line(str(row.number), feature, *cells(row, programs, records, tests, language))
            )
        count = len(lines) - 2
        folded = _folded(Text(f"{count} features", f"{count} 项功能")[language], "\n".join(lines))
        parts.append(section(title, folded, language))
    return "\n".join(parts)


_SHOWN = Text(
    """\
# The programs of the support table

What shows each row of [What is supported](support.md), and what became of each program in dygraph
style with d2s and with Paddle's own converters; the words are those of that page. `make support`
writes both.
""",
    """\
# 支持情况表的程序

[支持情况](support.md)的每一行由什么展示，以及每个动态图风格的程序在 d2s 和飞桨自带转换方式下的结
果；用词与该页相同。两页都由 `make support` 生成。“内容”一列是程序自己的文档字符串，只有英文。
""",
)


def render_programs(
    programs: Sequence[Program],
    records: Mapping[str, Record],
    tests: Outcomes,
    language: Language,
) -> str:
    """The text of the page that has each program."""
    shows = Text("What shows each row", "每一行由什么展示")
    parts = [
        _SHOWN[language],
        section(shows, _evidence(programs, tests, language), language),
        section(
            Text("Every program", "每个程序"), _programs(programs, records, language), language
        ),
    ]
    return "\n".join(parts)


def write_pages(
    programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes
) -> None:
    """Write both pages, in both languages."""
    for page, text in ((PAGE, render), (PAGE.with_name(PROGRAMS), render_programs)):
        write_page(page, partial(text, programs, records, tests))


def _versions(records: Mapping[str, Record]) -> Text:
    found = {(each.paddle, each.python) for each in records.values() if each.cases}
    if len(found) == 1:
        ((paddle_, python),) = found
        return Text(
            f"Made with paddlepaddle {paddle_} and Python {python}, on the CPU.",
            f"在 CPU 上用 paddlepaddle {paddle_} 和 Python {python} 得到。",
        )
    if not found:
        return Text("Nothing has been run yet.", "还没有运行过任何程序。")
    known = {CONVERTERS[name]: each for name, each in records.items() if each.cases}
    each_ = [
        Text(
            f"{title} with paddlepaddle {each.paddle} and Python {each.python}",
            f"{title} 用 paddlepaddle {each.paddle} 和 Python {each.python}",
        )
        for title, each in known.items()
    ]
    return Text(
        f"Made on the CPU: {'; '.join(each.en for each in each_)}.",
        f"在 CPU 上得到：{'；'.join(each.zh for each in each_)}。",
    )


def _totals(
    programs: Sequence[Program],
    records: Mapping[str, Record],
    tests: Outcomes,
    language: Language,
) -> str:
    lines = _table((same(""), *COUNTED, Text("right in %", "right 的百分比")), language)
    for converter, title in CONVERTERS.items():
        known = records[converter].cases
        mine = [known[each.name] for each in programs if each.name in known]
        found = collections.Counter(verdict.kind for verdict in mine)
        leaving = sum(verdict.remark == LEAVES for verdict in mine)
        share = f"{1000 * found['right'] // len(mine) / 10:.1f}" if mine else "-"
        lines.append(
            _line(
                title,
                *map(str, (len(mine), found["right"], leaving)),
                *(str(found[kind]) for kind in KINDS[1:]),
                share,
            )
        )
    ended = collections.Counter(tests.outcomes.values())
    shown = ", ".join(f"{count} {word}" for word, count in sorted(ended.items()))
    open_ = ", ".join(
        str(row.number)
        for row in ROWS
        if cells(row, programs, records, tests, language)[0] == NO_TEST[language]
    )
    text = Text(
        f"Tests of d2s that show rows beside the programs: {shown or 'none yet'}.\n"
        f"Rows without any test: {open_ or 'none'}.\n",
        f"除程序之外，展示各行的 d2s 测试：{shown or '还没有'}。没有任何测试的"
        f"行：{open_ or '无'}。\n",
    )
    return "\n".join(lines) + "\n\n" + text[language]


def _subjects(
    programs: Sequence[Program], records: Mapping[str, Record], language: Language
) -> str:
    """For each section how many programs show it, and how many each converter gets right."""
    titles = [Text("subject", "主题"), Text("features", "功能数"), Text("programs", "程序数")]
    titles += [Text(f"{each}: right", f"{each}：right") for each in CONVERTERS.values()]
    lines = _table(tuple(titles), language)
    for title, group in groupby(ROWS, key=lambda row: row.section):
        rows = {row.number for row in group}
        mine = [each.name for each in programs if rows & {*each.rows}]
        right = [_share(mine, records[converter], language) for converter in CONVERTERS]
        lines.append(_line(title[language], str(len(rows)), str(len(mine)), *right))
    note = Text(
        "The features of each subject unfold below, and the programs are "
        "[a page of their own](support-programs.md).",
        "各主题的功能在下面展开，程序另有[一页](support-programs.md)。",
    )
    return "\n".join(lines) + f"\n\n{note[language]}\n"


def _share(names: Sequence[str], known: Record, language: Language) -> str:
    """How many of some programs are right, and how many of these leave the graph."""
    found = [known.cases[name] for name in names if name in known.cases]
    if not found:
        return "-"
    right = [each for each in found if each.kind == "right"]
    leaving = sum(each.remark == LEAVES for each in right)
    verb = "leaves" if leaving == 1 else "leave"
    told = Text(f" ({leaving} {verb} the graph)", f"（{leaving} 个离开图）")[language]
    return f"{len(right)}" + told * bool(leaving)


def _evidence(programs: Sequence[Program], tests: Outcomes, language: Language) -> str:
    parts = []
    for title, group in groupby(ROWS, key=lambda row: row.section):
        lines = []
        for row in group:
            mine = [f"`{each.name}`" for each in programs if row.number in each.rows]
            mine += [
                f"`{name}`"
                for name, marks in tests.marks.items()
                if any(row.number in mark.rows for mark in marks)
            ]
            mine += [f"`{row.measured}`"] if row.measured else []
            lines.append(f"- {row.number}: {', '.join(mine) or NO_TEST[language]}")
        parts.append(_folded(title[language], "\n".join(lines)))
    return "\n".join(parts)


def _programs(
    programs: Sequence[Program], records: Mapping[str, Record], language: Language
) -> str:
    parts = []
    ordered = sorted(programs, key=lambda each: (each.group, each.name))
    for group, members in groupby(ordered, key=lambda each: each.group):
        titles = (Text("program", "程序"), Text("what it is", "内容"), *PEERS)
        lines = _table(titles, language)
        for each in members:
            texts = []
            for converter in CONVERTERS:
                unknown = Verdict("", NOT_RUN[language])
                texts.append(said(records[converter].cases.get(each.name, unknown), language))
            lines.append(_line(f"`{each.name}`", escape(each.summary), *texts))
        parts.append(_folded(f"corpus/programs/{group}", "\n".join(lines)))
    return "\n".join(parts)


def escape(text: str) -> str:
    """``text`` as words in a cell of a Markdown table.

    >>> escape("a|b *c* <d>")
    'a&#124;b &#42;c&#42; &lt;d&gt;'
    """
    return re.sub(
        r"[|*_`\\\[\]{}~^$]", lambda found: f"&#{ord(found[0])};", html.escape(text, quote=False)
    )


def _line(*texts: str) -> str:
    return "| " + " | ".join(texts) + " |"


def _folded(title: str, text: str) -> str:
    return f'<details markdown="1">\n<summary>{title}</summary>\n\n{text}\n\n</details>\n'


# -- running -------------------------------------------------------------------------------------


def due(cases: Iterable[Case], known: Record, *, everything: bool) -> list[Case]:
    """The cases that a converter has to run: all for d2s, the new and the changed for peers."""
    if everything or known.converter == "d2s" or not known.current:
        return list(cases)
    return [
        case
        for case in cases
        if case.name not in known.cases or known.cases[case.name].hash != record.digest(case.path)
    ]


def update(known: Record, cases: Sequence[Case], *, jobs: int, folder: Path) -> None:
    """Run ``cases``, one result a line on the terminal, and write the record."""
    ours = known.converter == "d2s"
    timeout = D2S_TIMEOUT if ours else PEER_TIMEOUT
    hashes = {case.name: record.digest(case.path) for case in cases}
    results = run_all_apart(cases, known.converter, timeout, jobs)
    for count, result in enumerate(results, start=1):
        known.note(result, hashes[result.name])
        record.write(known, folder)  # what has been run is kept when the run is interrupted
        if sys.stderr.isatty() or (ours and known.cases[result.name].kind in BAD):
            place = f"[{known.converter} {count}/{len(cases)}]"
            print(f"{place} {result.name}: {result.verdict}", file=sys.stderr)
    record.write(known, folder)


def main(
    name: Annotated[
        list[str] | None,
        typer.Argument(help="Run only these cases, and no tests. Everything if none is given."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Run Paddle's converters on unchanged cases too.")
    ] = False,
    render_: Annotated[
        bool, typer.Option("--render", help="Run nothing, only write the page again.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
) -> None:
    """Run the programs and the marked tests, record the verdicts, write the support table."""
    try:
        cases = load_all()
        chosen = [load(each) for each in name] if name else cases
        marks = evidence.marks()
    except (CaseError, EvidenceError) as error:
        print(f"corpus: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    records = {converter: record.read(converter) for converter in CONVERTERS}
    tests = record.read_tests()
    if not render_:
        existing = {case.name for case in cases}
        for known in records.values():
            for gone in known.cases.keys() - existing:
                del known.cases[gone]
            todo = due(chosen, known, everything=all_ or bool(name))
            update(known, todo, jobs=jobs, folder=record.RESULTS)
        if not name:
            outcomes = evidence.run(list(marks), jobs)
            tests = Outcomes(paddle.__version__, platform.python_version(), marks, outcomes)
            record.write_tests(tests)
    write_pages([Program.of(case) for case in cases], records, tests)
    bad = [f"{case}: {each.verdict}" for case, each in records["d2s"].cases.items()
           if each.kind in BAD]  # fmt: skip
    bad += [f"{test}: {word}" for test, word in tests.outcomes.items() if word not in
            ("passed", "skipped")]  # fmt: skip
    for problem in bad:
        print(problem)
    raise typer.Exit(1 if bad else 0)


if __name__ == "__main__":
    typer.run(main)
