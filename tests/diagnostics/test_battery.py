"""The programs of ``corpus/failures``: what d2s shows of each is what dygraph shows.

``pytest tests/diagnostics/test_battery.py --update-golden`` writes the expected texts again; they
are those of Python 3.11, because each version marks the failing part of a line in its own way.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from corpus.case import CaseError
from corpus.converters import converter
from corpus.failures import report
from corpus.failures.__main__ import main
from corpus.failures.failure import GROUPS, Failure, load, load_all, marked_line, paths
from corpus.failures.report import CONVERTERS, D2S, DYGRAPH, Notes, Told, message_kept
from corpus.failures.shown import Shown, show
from corpus.language import LANGUAGES, Language, page_in

GOLDEN = Path(__file__).parent / "golden"
MADE_ON = (3, 11)
HOW = "run `make failures`, and read the diff"
NAMES = list(paths())
PLAIN = [name for name in NAMES if not load(name).code]
RULED = [name for name in NAMES if load(name).code]

notes = functools.cache(report.read)
"""What was noted of a converter, read once."""


@functools.cache
def shown(name: str, by: str) -> Shown:
    """What a converter shows of a program; each runs once for all tests."""
    return show(load(name), converter(by))


# -- d2s against dygraph -------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLAIN)
def test_it_fails_as_in_dygraph(name: str, update_golden: bool) -> None:
    """A1, F1: line, type, message and user frames are those of dygraph, outermost first.

    There are no frames of d2s or Paddle, but for those that dygraph shows above the user's code;
    and the whole text is the expected one.  A set or dict comprehension is made of a list, whose
    frame has the name of one; Python 3.12 has no such frames.
    """
    want, got = shown(name, DYGRAPH), shown(name, D2S)
    check_text(name, update_golden)
    assert want.line == load(name).line, "the mark is not where dygraph fails"
    calls = re.sub("<(set|dict)comp>", "<listcomp>", str(want.calls))
    assert (got.type, got.line, str(got.calls)) == (want.type, want.line, calls)
    kept = message_kept(got.message, want.message)
    from_paddle = re.match(r"\(\w+\) ", want.message)
    assert kept == "same" or (from_paddle and kept == "within"), got.message
    seen = {re.sub("<(set|dict)comp>", "<listcomp>", str(frame)) for frame in want.frames}
    assert [frame for frame in got.frames if str(frame) not in seen] == []


@pytest.mark.parametrize("name", RULED)
def test_a_rule_is_told_with_its_code_and_line(name: str, update_golden: bool) -> None:
    """The static rules: a coded error about the marked line, with a cure, as a whole expected."""
    got = shown(name, D2S)
    check_text(name, update_golden)
    assert (got.code, got.line) == (load(name).code, load(name).line)
    assert "\n  cure: " in got.message
    assert not [frame for frame in got.frames if frame.file.startswith("d2s/")]


def check_text(name: str, update_golden: bool) -> None:
    """The text that d2s shows is the golden one, letter for letter, and the page tells of it.

    Other Pythons have their own words and marks; of errors with a code the message is the same.
    """
    got = shown(name, D2S)
    file = GOLDEN / f"{name}.txt"
    if update_golden:
        assert sys.version_info[:2] == MADE_ON, "the golden texts are those of Python 3.11"
        file.parent.mkdir(exist_ok=True)
        file.write_text(got.text, encoding="utf-8")
    expected = file.read_text(encoding="utf-8")
    if sys.version_info[:2] == MADE_ON:
        assert got.text == expected
    elif got.code:
        assert last_words(got.text) == last_words(expected)
    noted = notes(D2S)
    if noted.current:
        told = noted.told[name]
        assert Told.of(got, told.hash, shown(name, DYGRAPH)) == told, HOW


def last_words(text: str) -> str:
    """What follows the frames: the type and the message."""
    return re.split(r"^(?=\S)", text, flags=re.MULTILINE, maxsplit=2)[-1]


def test_every_expected_text_has_its_program() -> None:
    """A renamed program leaves nothing behind."""
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted(NAMES)


# -- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", CONVERTERS)
def test_the_notes_speak_of_the_programs_as_they_are(by: str) -> None:
    """A new or changed program has to be run."""
    problems = report.stale(notes(by), paths())
    assert not problems, f"{HOW}: {'; '.join(problems[:5])} ({len(problems)} in all)"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_what_the_notes_say(language: Language) -> None:
    """Nobody edits the page."""
    page = report.render(load_all(), {by: notes(by) for by in CONVERTERS}, language)
    assert page_in(language, report.PAGE).read_text(encoding="utf-8") == page, HOW


def test_there_are_enough_programs_in_each_group() -> None:
    """The battery does not shrink unseen."""
    assert len(NAMES) >= 160
    assert {load(name).group for name in NAMES} == set(GROUPS)


# -- the parts -----------------------------------------------------------------------------------


def failure(path: Path, main: object, code: str = "") -> Failure:
    return Failure("made", "capture", path, "It fails.", 1, main, code)  # type: ignore[arg-type]


def test_a_program_needs_one_mark(tmp_path: Path) -> None:
    """The line that is expected is never guessed."""
    path = tmp_path / "made.py"
    path.write_text("# -*- coding: latin-1 -*-\nx = 'ä'  # <- fails\n", encoding="latin-1")
    assert marked_line(path) == 2
    for text in ("x = 1\n", "x = 1  # <- fails\n" * 2):
        path.write_text(text)
        with pytest.raises(CaseError, match="one line has to end with '# <- fails', not"):
            marked_line(path)


def test_frames_above_the_program_are_left_out() -> None:
    """What is printed begins in the program, as in a script."""

    def main(to_static: object) -> None:
        raise KeyError("x")

    seen = show(failure(Path(__file__), main), lambda built, **_: built)
    line = main.__code__.co_firstlineno + 1
    assert (seen.type, seen.message, seen.line) == ("KeyError", "'x'", line)
    assert [frame.line for frame in seen.frames] == [line]
    assert (seen.users, seen.library, seen.lines) == (0, 1, 4)


def test_a_program_that_ends_is_no_failure() -> None:
    """Nothing is shown, and nothing counts as right."""
    seen = show(failure(Path(__file__), lambda to_static: None), lambda built, **_: built)
    assert seen == Shown("made")
    judged = report.Judged(failure(Path(__file__), None), Told("", "ValueError", line=1), Told(""))
    assert [judged.fails, judged.type, judged.line, judged.message] == [False] * 4


def test_a_wrong_answer_makes_the_page_stale() -> None:
    """The page depends on each note."""
    known = {by: notes(by) for by in CONVERTERS}
    before = report.render(load_all(), known, "en")
    changed = dict(known[D2S].told, matmul_sizes=Told("", "TypeError", line=1))
    known[D2S] = Notes(D2S, known[D2S].paddle, known[D2S].python, changed)
    after = report.render(load_all(), known, "en")
    assert after != before
    assert "**TypeError**, **line 1**, other message" in after


def command() -> typer.Typer:
    app = typer.Typer()
    app.command()(main)
    return app


def test_the_command_prints_what_is_shown_of_one_program() -> None:
    """``python -m corpus.failures NAME``, for those who work on an error."""
    done = CliRunner().invoke(command(), ["shape_in_else"])
    assert done.exit_code == 0
    heads = [line for line in done.stdout.splitlines() if line.startswith("--- ")]
    assert heads == [f"--- shape_in_else, {title}" for title in CONVERTERS.values()]
    assert done.stdout.count("y = x + bias  # <- fails") == len(CONVERTERS)


def test_the_command_refuses_a_name_that_it_does_not_know() -> None:
    """Ends with 2, and says which name it was."""
    done = CliRunner().invoke(command(), ["shape_in_esle"])
    assert done.exit_code == 2
    assert "no failing program is called 'shape_in_esle'" in done.output
