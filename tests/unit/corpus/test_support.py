"""The support table: what a cell says, what makes a record stale, and that ours is not."""

from __future__ import annotations

import dataclasses
import json
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from corpus import evidence, language, record, support
from corpus.case import load, load_all, paths
from corpus.converters import LEAVES, NO_ANSWER, Frame, leaves, run_all_apart
from corpus.evidence import EvidenceError, Mark
from corpus.language import LANGUAGES, Language, page_in
from corpus.record import CONVERTERS, Outcomes, Record, Verdict, tidy
from corpus.rows import LAST, NUMBERS, ROWS
from corpus.runner import Result
from corpus.support import Program, cell, cells, due, outcome_cell, render, render_programs

HOW = "run `make support`, and read the diff"


# -- ours ----------------------------------------------------------------------------------------


def ours() -> tuple[list[Program], dict[str, Record], Outcomes]:
    records = {converter: record.read(converter) for converter in CONVERTERS}
    return [Program.of(case) for case in load_all()], records, record.read_tests()


@pytest.mark.parametrize("converter", CONVERTERS)
def test_each_case_has_its_verdict(converter: str) -> None:
    problems = record.stale(record.read(converter), paths())
    assert not problems, f"{HOW}: {'; '.join(problems[:5])} ({len(problems)} in all)"


def test_each_marked_test_has_its_outcome() -> None:
    assert record.read_tests().marks == evidence.marks(), HOW


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_pages_are_what_the_results_say(language: Language) -> None:
    made = {support.PAGE: render, support.PAGE.with_name(support.PROGRAMS): render_programs}
    for page, text in made.items():
        found = page_in(language, page).read_text(encoding="utf-8")
        assert found == text(*ours(), language), HOW


def test_d2s_is_nowhere_wrong() -> None:
    verdicts = record.read("d2s").cases
    assert {name: each.verdict for name, each in verdicts.items() if each.kind in support.BAD} == {}
    assert set(record.read_tests().outcomes.values()) <= {"passed", "skipped"}


def test_rows_are_numbered_without_a_gap() -> None:
    assert [row.number for row in ROWS] == [*range(1, LAST + 1)]
    assert len(NUMBERS) == LAST >= 114
    assert len({row.feature.en for row in ROWS}) == LAST
    assert len({row.feature.zh for row in ROWS}) == LAST


# -- cells ---------------------------------------------------------------------------------------


def verdicts(*texts: str) -> list[Verdict]:
    """``text+`` is a right result that leaves the graph."""
    return [
        Verdict("", text.removesuffix("+"), LEAVES if text.endswith("+") else "") for text in texts
    ]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([], ""),
        (["right"] * 4, "right 4/4"),
        (["right", "right", "right", "refused D2S205"], "right 3, refused 1 (D2S205)"),
        (["refused D2S304", "refused D2S205", "refused D2S304"], "refused 3/3 (D2S205, D2S304)"),
        (["WRONG result is 1", "right", "WRONG printed ''"], "right 1, **WRONG 2**"),
        (["WRONG result is 1"], "**WRONG 1/1**"),
        (["failed KeyError: 'k' (conversion)"] * 3, "failed 3/3"),
        ([f"{NO_ANSWER} in 20 s", "right"], "right 1, no answer 1"),
        ([f"{NO_ANSWER} in 20 s"], "no answer 1/1"),
        (["failed x", "WRONG y", f"{NO_ANSWER} in 9 s"], "**WRONG 1**, failed 1, no answer 1"),
        (["right+", "right+"], "right 2/2, leaves the graph"),
        (["right+", "right"], "right 2/2, 1 leaves the graph"),
        (["right+", "right+", "right", "failed x"], "right 3, 2 leave the graph, failed 1"),
    ],
)
def test_a_cell(texts: list[str], says: str) -> None:
    assert cell(verdicts(*texts), "en") == says


def ended(**outcomes: str) -> Outcomes:
    """Outcomes of row 104; one whose name begins with ``no`` shows a refusal."""
    marks = {name: (Mark((104,), "D2S401" if name.startswith("no") else ""),) for name in outcomes}
    return Outcomes("1", "3", marks, outcomes)


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ({"a": "passed"}, "1 test passes"),
        ({"a": "passed", "b": "passed"}, "2 tests pass"),
        ({"a": "passed", "no": "passed"}, "1 test passes, refused in 1 test (D2S401)"),
        ({"no": "failed"}, "**1 test fails**"),
        ({"a": "failed", "b": "failed", "c": "skipped"}, "1 test skipped, **2 tests fail**"),
        ({"a": "missing"}, "**1 test missing**"),
    ],
)
def test_a_cell_of_tests(outcomes: dict[str, str], says: str) -> None:
    assert outcome_cell(104, ended(**outcomes), "en") == says
    assert outcome_cell(105, ended(**outcomes), "en") == ""


def row(number: int) -> Any:
    (found,) = (row for row in ROWS if row.number == number)
    return found


def records_of(**by_case: tuple[str, str, str]) -> dict[str, Record]:
    """The verdicts of d2s, Paddle AST and Paddle SOT on each case."""
    return {
        converter: Record(
            converter, "3.3.1", "3.11.7",
            {name: verdicts(texts[place])[0] for name, texts in by_case.items() if texts[place]},
        )
        for place, converter in enumerate(CONVERTERS)
    }  # fmt: skip


PROGRAMS = [
    Program("newton", "loops", "Roots | by Newton.", (10, 17)),
    Program("gcd", "loops", "The greatest *divisor*.", (17,)),
    Program("net", "models", "A net.", (104,)),
]
RECORDS = records_of(
    newton=("right", "WRONG result is <1>", "right+"),
    gcd=("refused D2S205", f"{NO_ANSWER} in 20 s", "right"),
    net=("right", "right", "failed the process ended with -11"),
)
TESTS = ended(**{"tests/a.py::test_a": "passed"})


def test_the_cells_of_a_row() -> None:
    of = lambda number: cells(row(number), PROGRAMS, RECORDS, TESTS, "en")
    assert of(10) == ["right 1/1", "**WRONG 1/1**", "right 1/1, leaves the graph"]
    assert of(17) == [
        "right 1, refused 1 (D2S205)",
        "**WRONG 1**, no answer 1",
        "right 2/2, 1 leaves the graph",
    ]
    assert of(104) == ["right 1/1, 1 test passes", "right 1/1", "failed 1/1"]
    assert of(18) == ["no test yet", "-", "-"]
    assert of(114) == ["measured: `make bench`"] * 3


def test_a_row_that_only_tests_show_says_nothing_of_the_peers() -> None:
    assert cells(row(104), PROGRAMS[:2], RECORDS, TESTS, "en") == ["1 test passes", "-", "-"]


def test_a_case_without_a_verdict_is_seen() -> None:
    records = records_of(newton=("right", "", "right"))
    assert cells(row(10), PROGRAMS[:1], records, TESTS, "en")[1] == "not run 1"
    assert cells(row(17), PROGRAMS[:2], records, TESTS, "en")[0] == "right 1/1, not run 1"


# -- the page ------------------------------------------------------------------------------------


def test_the_page() -> None:
    page = render(PROGRAMS, RECORDS, TESTS, "en")
    lines = page.splitlines()
    assert "| Paddle AST | 3 | 1 | 0 | 0 | 1 | 0 | 1 | 33.3 |" in lines
    assert "| d2s | 3 | 2 | 0 | 1 | 0 | 0 | 0 | 66.6 |" in lines  # rounded down
    assert "| Paddle SOT | 3 | 2 | 1 | 0 | 0 | 1 | 0 | 66.6 |" in lines
    assert "Made with paddlepaddle 3.3.1 and Python 3.11.7, on the CPU." in lines
    assert "Tests of d2s that show rows beside the programs: 1 passed." in lines
    assert "| 18 | `else` of a `while` loop | no test yet | - | - |" in lines
    assert "`make support`" in page
    assert all(f"| {each.number} | {each.feature.en}" in page for each in ROWS)


def test_the_page_in_chinese() -> None:
    lines = render(PROGRAMS, RECORDS, TESTS, "zh").splitlines()
    assert "| 18 | `while` 循环的 `else` | 尚无测试 | - | - |" in lines
    (found,) = (line for line in lines if line.startswith("| 17 |"))
    assert found.endswith(
        "| right 1，refused 1 (D2S205) | **WRONG 1**，no answer 1 | right 2/2，1 个离开图 |"
    )
    (found,) = (line for line in lines if line.startswith("| 104 |"))
    assert "| right 1/1，1 个测试通过 | right 1/1 | failed 1/1 |" in found


def test_the_page_of_programs() -> None:
    page = render_programs(PROGRAMS, RECORDS, TESTS, "en")
    lines = page.splitlines()
    assert "- 104: `net`, `tests/a.py::test_a`" in lines
    assert "- 18: no test yet" in lines
    (program,) = (line for line in lines if line.startswith("| `newton` |"))
    assert program.count("|") == 6
    assert "Roots &#124; by Newton." in program
    assert "WRONG result is &lt;1&gt;" in program
    assert f"right, {LEAVES}" in program


def test_what_the_subjects_come_to() -> None:
    lines = render(PROGRAMS, RECORDS, TESTS, "en").splitlines()
    assert "| Branches and logic | 16 | 1 | 1 | 0 | 1 (1 leaves the graph) |" in lines
    assert "| Loops | 24 | 2 | 1 | 0 | 2 (1 leaves the graph) |" in lines
    assert "| Return | 6 | 0 | - | - | - |" in lines


def test_rows_without_a_test_are_counted_up() -> None:
    page = render(PROGRAMS, RECORDS, TESTS, "en")
    (line,) = (line for line in page.splitlines() if line.startswith("Rows without any test: "))
    numbers = line.removeprefix("Rows without any test: ").removesuffix(".").split(", ")
    assert {int(number) for number in numbers} == NUMBERS - {10, 17, 104, 114}


def test_versions_that_differ_are_told_apart() -> None:
    records = {**RECORDS, "d2s": dataclasses.replace(RECORDS["d2s"], python="3.13.0")}
    text = render(PROGRAMS, records, TESTS, "en")
    assert "d2s with paddlepaddle 3.3.1 and Python 3.13.0; Paddle AST with" in text


# -- records -------------------------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    for known in RECORDS.values():
        record.write(known, tmp_path)
        assert record.read(known.converter, tmp_path) == known
    record.write_tests(TESTS, tmp_path)
    assert record.read_tests(tmp_path) == TESTS
    assert record.read("none", tmp_path) == Record("none")


def test_a_record_has_a_line_for_each_case_in_order(tmp_path: Path) -> None:
    record.write(RECORDS["paddle-sot"], tmp_path)
    text = (tmp_path / "paddle-sot.json").read_text(encoding="utf-8")
    lines = [line.split(":")[0].strip() for line in text.splitlines() if line.startswith("  ")]
    assert lines == ['"gcd"', '"net"', '"newton"']
    assert json.loads(text)["cases"]["newton"] == {
        "hash": "", "verdict": "right", "remark": LEAVES
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("failed KeyError: <f at 0x7f01ab>", "failed KeyError: <f at 0x...>"),
        ("failed in /home/me/net.py, line 3", "failed in net.py, line 3"),
        ("failed /tmp/tmpab12cd34/x.py", "failed x.py"),
        ("WRONG result is 0.0645129442", "WRONG result is 0.06451"),
        ("WRONG result is 1.2345678e-05", "WRONG result is 1.235e-05"),
        ("WRONG result is 0.5, should be 2", "WRONG result is 0.5, should be 2"),
        ("failed a\n  b", "failed a b"),
        ("failed x / y and/or z", "failed x / y and/or z"),
        ("failed '#forward_af1a0'", "failed '#forward_...'"),
        ("refused D2S205", "refused D2S205"),
        ("x" * 200, "x" * 157 + "..."),
    ],
)
def test_a_verdict_is_kept_without_what_changes_by_itself(text: str, says: str) -> None:
    assert tidy(text) == says


def test_what_makes_a_record_stale(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.py" for name in ("a", "b", "c")}
    for path in files.values():
        path.write_text("1")
    known = Record("d2s", "1", "3")
    for name in ("a", "b"):
        known.note(Result(name, "right"), record.digest(files[name]))
    known.cases["gone"] = Verdict("", "right")
    files["b"].write_text("2")
    assert record.stale(known, files) == [
        "b: changed since d2s ran it",
        "c: no result of d2s",
        "gone: there is no such case",
    ]


def test_which_cases_are_due(tmp_path: Path) -> None:
    cases = []
    for name in ("a", "b", "c"):
        path = tmp_path / f"{name}.py"
        path.write_text(name)
        cases.append(SimpleNamespace(name=name, path=path))
    for converter in ("d2s", "paddle-ast"):
        known = Record(converter)
        assert due(cases, known, everything=False) == cases
        known.note(Result("a", "right"), record.digest(cases[0].path))
        known.note(Result("b", "right"), "another")
        todo = [case.name for case in due(cases, known, everything=False)]
        assert todo == (["a", "b", "c"] if converter == "d2s" else ["b", "c"])
        assert due(cases, known, everything=True) == cases
        known.paddle = "2.6.0"
        assert due(cases, known, everything=False) == cases
        known.paddle = support.paddle.__version__
        known.python = "3.1.0"
        assert due(cases, known, everything=False) == cases


# -- marks ---------------------------------------------------------------------------------------


def marks_in(folder: Path, text: str) -> Any:
    (folder / "test_it.py").write_text(textwrap.dedent(text))
    return evidence.marks(folder, folder)


def test_marks_that_are_text_are_no_marks(tmp_path: Path) -> None:
    assert marks_in(tmp_path, "TEXT = '@pytest.mark.row(1)'") == {}


def test_marks_are_read_from_the_text(tmp_path: Path) -> None:
    found = marks_in(
        tmp_path,
        """
        @pytest.mark.parametrize("x", [1])
        @pytest.mark.row(104, 106)
        @pytest.mark.row(105, refused="D2S401")
        def test_a(x): pass

        def test_b(): pass
        """,
    )
    assert found == {"test_it.py::test_a": (Mark((104, 106)), Mark((105,), "D2S401"))}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@pytest.mark.row(999)\ndef test_a(): pass", "test_a: rows must be numbers from 1 to"),
        ("@pytest.mark.row()\ndef test_a(): pass", "test_a: rows must be"),
        ("@pytest.mark.row(N)\ndef test_a(): pass", "takes numbers"),
        ("@pytest.mark.row(1, wrong='x')\ndef test_a(): pass", "takes numbers"),
        ("class A:\n    @pytest.mark.row(1)\n    def test_a(self): pass", "stands elsewhere"),
        ("pytestmark = pytest.mark.row(1)", "stands elsewhere"),
    ],
)
def test_a_bad_mark_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        marks_in(tmp_path, text)


def test_outcomes_of_phases_and_parameters_are_put_together() -> None:
    found: dict[str, str] = {}
    for name, when, outcome in [
        ("f::a[1]", "setup", "passed"), ("f::a[1]", "call", "passed"),
        ("f::a[2]", "setup", "skipped"),
        ("f::b", "call", "passed"), ("f::b", "teardown", "failed"),
        ("f::c[1]", "call", "failed"), ("f::c[2]", "call", "passed"),
        ("f::d", "setup", "skipped"),
        ("f::e", "setup", "passed"),
    ]:  # fmt: skip
        report = SimpleNamespace(nodeid=name, when=when, outcome=outcome)
        evidence.note(found, report)
    assert found == {"f::a": "passed", "f::b": "failed", "f::c": "failed", "f::d": "skipped"}


def test_marked_tests_are_run() -> None:
    name = "tests/semantics/test_ecosystem.py::test_a_function_whose_text_is_registered"
    assert evidence.run([name]) == {name: "passed"}


# -- SOT, processes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "out"),
    [
        ([("f", True)], False),
        ([("f", False), ("f", True)], False),  # the first call of a layer
        ([("f", True), ("f", False)], True),
        ([("f", True), ("g", False)], True),
        ([("f", True), ("$resume_0@f_29480", True)], True),
        ([], True),
    ],
)
def test_what_leaves_the_graph(frames: list[tuple[str, bool]], out: bool) -> None:
    other = Frame("h", "other.py", 1, replaced=False)
    assert leaves([other, *(Frame(name, "f.py", 1, done) for name, done in frames)], "f.py") == out


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="SOT knows no newer Python")
def test_sot_is_watched() -> None:
    found = {
        result.name: result.remark
        for result in run_all_apart(
            [load("newton"), load("two_input_linear")], "paddle-sot", 120.0, jobs=2
        )
    }
    assert found == {"newton": LEAVES, "two_input_linear": ""}


def test_a_process_that_does_not_answer_is_stopped() -> None:
    of = lambda name, build: dataclasses.replace(load("newton"), name=name, build=build)

    def sleep() -> None:
        import time

        time.sleep(60)

    def crash() -> None:
        import os

        os._exit(3)

    cases = [of("sleeps", sleep), of("crashes", crash)]
    found = {each.name: each.verdict for each in run_all_apart(cases, "none", 5.0, jobs=2)}
    assert found == {
        "sleeps": f"{NO_ANSWER} in 5 s",
        "crashes": "failed the process ended with 3",
    }


# -- the command ---------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is new is run and recorded; a wrong case ends it with 1."""
    app = support.typer.Typer()
    app.command()(support.main)
    monkeypatch.setattr(support, "PAGE", tmp_path / "support.md")
    monkeypatch.setattr(language, "DOCS", tmp_path)
    monkeypatch.setattr(language, "CHINESE", tmp_path / "zh")
    monkeypatch.setattr(support.record, "RESULTS", tmp_path)
    for function in ("read", "read_tests"):
        original = getattr(record, function)
        monkeypatch.setattr(
            support.record,
            function,
            lambda *args, original=original: original(*args, folder=tmp_path),
        )
    monkeypatch.setattr(
        support,
        "run_all_apart",
        lambda cases, name, timeout, jobs: [
            Result(case.name, "right" if name == "d2s" else "WRONG x") for case in cases
        ],
    )
    done = CliRunner().invoke(app, ["newton"])
    assert done.exit_code == 0, done.output
    assert record.read("d2s").cases["newton"].verdict == "right"
    assert "| 17 |" in support.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(
        support, "run_all_apart", lambda *_: [Result("newton", "WRONG result is 1")]
    )
    done = CliRunner().invoke(app, ["newton"])
    assert done.exit_code == 1
    assert "newton: WRONG result is 1" in done.output
    assert CliRunner().invoke(app, ["newtn"]).exit_code == 2
