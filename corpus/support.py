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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from corpus.record import CONVERTERS, Outcomes, Record, Verdict
from corpus.rows import ROWS, Row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "support.md"
PROGRAMS = "support-programs.md"  # beside it
KINDS = ("right", "refused", "WRONG", "failed", "no answer")
BAD = ("WRONG", "failed", "no answer")
D2S_TIMEOUT = 120.0
PEER_TIMEOUT = 20.0


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


def cell(verdicts: Sequence[Verdict]) -> str:
    """The verdicts on the programs of a row, in few words.

    >>> cell([Verdict("", "right"), Verdict("", "right", LEAVES)])
    'right 2/2, 1 leaves the graph'
    >>> cell([Verdict("", "right"), Verdict("", "refused D2S205"), Verdict("", "WRONG value")])
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
            text += _leaving([each.remark for each in verdicts if each.kind == "right"])
        parts.append(text)
    return ", ".join(parts)


def _leaving(remarks: Sequence[str]) -> str:
    count = remarks.count(LEAVES)
    if not count:
        return ""
    if count == len(remarks):
        return f", {LEAVES}"
    return f", {count} leave{'s' if count == 1 else ''} the graph"


def outcome_cell(row: int, tests: Outcomes) -> str:
    """How the tests of a row ended.

    >>> from corpus.evidence import Mark
    >>> outcome_cell(1, Outcomes("", "", {"a": (Mark((1,)),), "b": (Mark((1, 2)),)},
    ...                     {"a": "passed", "b": "failed"}))
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
    words = {
        "passed": lambda n: f"{n} test{'s pass' if n > 1 else ' passes'}",
        "refused": lambda n: f"refused in {n} test{'s' * (n > 1)} ({', '.join(sorted(codes))})",
        "skipped": lambda n: f"{n} test{'s' * (n > 1)} skipped",
        "failed": lambda n: f"**{n} test{'s fail' if n > 1 else ' fails'}**",
        "missing": lambda n: f"**{n} test{'s' * (n > 1)} missing**",
    }
    return ", ".join(word(found[kind]) for kind, word in words.items() if found[kind])


def cells(
    row: Row, programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes
) -> list[str]:
    """The cells of a row: d2s first, then the peers."""
    mine = [program for program in programs if row.number in program.rows]
    out = []
    for converter in CONVERTERS:
        known = records[converter].cases
        text = cell([known[each.name] for each in mine if each.name in known])
        missing = sum(each.name not in known for each in mine)
        out.append(", ".join(part for part in (text, f"not run {missing}" * bool(missing)) if part))
    shown = outcome_cell(row.number, tests)
    out[0] = ", ".join(part for part in (out[0], shown) if part)
    if row.measured:
        return [f"measured: `{row.measured}`" for _ in out]
    if not out[0]:
        return ["no test yet", *("-" for _ in out[1:])]
    return [text or "-" for text in out]


# -- the page ------------------------------------------------------------------------------------

_INTRO = """\
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
"""


def render(programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes) -> str:
    """The text of the page."""
    parts = [_INTRO.format(versions=_versions(records), timeout=PEER_TIMEOUT)]
    parts.append("## In total\n\n" + _totals(programs, records, tests))
    parts.append("## By subject\n\n" + _subjects(programs, records))
    for title, group in groupby(ROWS, key=lambda row: row.section):
        lines = _table("#", "feature", *CONVERTERS.values())
        for row in group:
            feature = row.feature + "".join(f" ({thread})" for thread in row.threads)
            lines.append(_line(str(row.number), feature, *cells(row, programs, records, tests)))
        parts.append(f"## {title}\n\n" + _folded(f"{len(lines) - 2} features", "\n".join(lines)))
    return "\n".join(parts)


_SHOWN = """\
# The programs of the support table

What shows each row of [What is supported](support.md), and what became of each program in dygraph
style with d2s and with Paddle's own converters; the words are those of that page. `make support`
writes both.
"""


def render_programs(
    programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes
) -> str:
    """The text of the page that has each program."""
    parts = [
        _SHOWN,
        "## What shows each row\n\n" + _evidence(programs, tests),
        "## Every program\n\n" + _programs(programs, records),
    ]
    return "\n".join(parts)


def write_pages(
    programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes
) -> None:
    """Write both pages."""
    for page, text in ((PAGE, render), (PAGE.with_name(PROGRAMS), render_programs)):
        page.write_text(text(programs, records, tests), encoding="utf-8")


def _versions(records: Mapping[str, Record]) -> str:
    found = {(each.paddle, each.python) for each in records.values() if each.cases}
    if len(found) == 1:
        ((paddle_, python),) = found
        return f"Made with paddlepaddle {paddle_} and Python {python}, on the CPU."
    each = "; ".join(
        f"{CONVERTERS[name]} with paddlepaddle {known.paddle} and Python {known.python}"
        for name, known in records.items()
        if known.cases
    )
    return f"Made on the CPU: {each}." if each else "Nothing has been run yet."


def _totals(programs: Sequence[Program], records: Mapping[str, Record], tests: Outcomes) -> str:
    lines = _table("", "programs", "right", "of these leave the graph", *KINDS[1:], "right in %")
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
    open_ = [
        str(row.number) for row in ROWS if cells(row, programs, records, tests)[0] == "no test yet"
    ]
    text = f"\nTests of d2s that show rows beside the programs: {shown or 'none yet'}.\n"
    text += f"Rows without any test: {', '.join(open_) or 'none'}.\n"
    return "\n".join(lines) + "\n" + text


def _subjects(programs: Sequence[Program], records: Mapping[str, Record]) -> str:
    """For each section how many programs show it, and how many each converter gets right."""
    lines = _table(
        "subject", "features", "programs", *(f"{each}: right" for each in CONVERTERS.values())
    )
    for title, group in groupby(ROWS, key=lambda row: row.section):
        rows = {row.number for row in group}
        mine = [each.name for each in programs if rows & {*each.rows}]
        right = [_share(mine, records[converter]) for converter in CONVERTERS]
        lines.append(_line(title, str(len(rows)), str(len(mine)), *right))
    note = "\nThe features of each subject unfold below, and the programs are "
    note += "[a page of their own](support-programs.md).\n"
    return "\n".join(lines) + "\n" + note


def _share(names: Sequence[str], known: Record) -> str:
    """How many of some programs are right, and how many of these leave the graph."""
    found = [known.cases[name] for name in names if name in known.cases]
    if not found:
        return "-"
    right = [each for each in found if each.kind == "right"]
    leaving = sum(each.remark == LEAVES for each in right)
    verb = "leaves" if leaving == 1 else "leave"
    return f"{len(right)}" + (f" ({leaving} {verb} the graph)" if leaving else "")


def _evidence(programs: Sequence[Program], tests: Outcomes) -> str:
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
            lines.append(f"- {row.number}: {', '.join(mine) or 'no test yet'}")
        parts.append(_folded(title, "\n".join(lines)))
    return "\n".join(parts)


def _programs(programs: Sequence[Program], records: Mapping[str, Record]) -> str:
    parts = []
    ordered = sorted(programs, key=lambda each: (each.group, each.name))
    for group, members in groupby(ordered, key=lambda each: each.group):
        lines = _table("program", "what it is", *CONVERTERS.values())
        for each in members:
            texts = []
            for converter in CONVERTERS:
                verdict = records[converter].cases.get(each.name, Verdict("", "not run"))
                said = ", ".join(part for part in (verdict.verdict, verdict.remark) if part)
                texts.append(escape(said))
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


def _table(*titles: str) -> list[str]:
    return [_line(*titles), "|" + "---|" * len(titles)]


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
