"""What is said of figures: goals, tables, the comparison of two files, the page and its plots."""

from __future__ import annotations

import copy
import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import paddle
import pytest
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks import goals, growth, memory, page, tables
from benchmarks.chinese import PHRASES, UntranslatedError, in_chinese, phrase
from benchmarks.goals import Goal, judge
from benchmarks.growth import CURVES, Curve
from benchmarks.scenarios import SCENARIOS
from d2s.bench.rounds import Measured, Settings
from d2s.bench.texts import TITLES
from d2s.bench.work import Work
from tests.helpers import function_of


def timed(best: float, *, first: float | None = 1.0, spread: float = 0.01) -> dict[str, Any]:
    figures = {"best_s": best, "median_s": 2 * best, "spread": spread, "first_s": first}
    return {"status": "timed", "detail": "", "calls_per_round": 3, **figures}


WRONG = {"status": "wrong", "detail": "first call: value 0 is off by 1"}
FAILS = {"status": "fails", "detail": "Crash: the process ended with -11"}


def point(size: int, dygraph: float, d2s: float, first: float) -> dict[str, Any]:
    mine = timed(d2s, first=first) | {"capture_s": first - d2s}
    return {"size": size, "peers": {"dygraph": timed(dygraph), "d2s": mine}}


@pytest.fixture
def report() -> dict[str, Any]:
    peers = {
        "dygraph": timed(0.002),
        "paddle-ast": WRONG,
        "paddle-sot": FAILS,
        "d2s": timed(0.001),
        "by-hand": timed(0.004),
        "floor": timed(0.0005),
    }
    asked = [vars(Goal(1, "dygraph")), vars(Goal(0.25, "dygraph"))]
    curve = {
        "summary": "a function, by its lines",
        "axis": "lines",
        "growth": "linear",
        "points": [point(10, 0.1, 0.2, 1.0), point(100, 1.0, 2.0, 11.0)],
    }
    row = {"model": "recurrence", "trips": 10, "best_s": 0.5, "first_s": 1.0, "growth_mib": 10.0}
    return {
        "environment": command.environment(),
        "settings": {"command": "python -m benchmarks", "quick": False, "rounds": 15},
        "scenarios": {
            "two-ops": {"summary": "2 ops", "unit": "call", "goals": asked, "peers": peers}
        },
        "growth": {"lines": curve},
        "memory": [
            {**row, "mode": "dygraph"},
            {**row, "mode": "forward", "growth_mib": 20.0},
            {**row, "mode": "step", "best_s": 0.25},
        ],
    }


def text(sheet: tables.Sheet) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(sheet.rich())
    return capture.get()


# -- goals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "mine", "state"),
    [
        (Goal(1, "dygraph"), 0.9, "met"),
        (Goal(1, "dygraph"), 1.005, "level"),  # the rounds spread by 1 %
        (Goal(1, "dygraph"), 1.1, "missed"),
        (Goal(0.5, "dygraph"), 0.5, "met"),
        (Goal(0.9), 0.8, "met"),
        (Goal(0.7), 0.8, "missed"),
        (Goal(1, "paddle-ast"), 9.0, "met"),  # it is wrong, and so beaten
        (Goal(1, "by-hand"), 0.1, "unknown"),  # nobody has measured it
        (Goal(1, "best"), 0.9, "met"),
    ],
)
def test_a_goal_is_held_against_the_best_rounds(goal: Goal, mine: float, state: str) -> None:
    peers = {"dygraph": timed(1.0), "paddle-ast": WRONG, "d2s": timed(mine)}
    assert judge(goal, peers).state == state


def test_the_best_is_the_fastest_of_all_others() -> None:
    peers = {"dygraph": timed(3.0), "paddle-sot": timed(1.0), "d2s": timed(2.0)}
    found = judge(Goal(1, "best"), peers)
    assert (found.state, found.by) == ("missed", 2.0)


def test_noise_makes_figures_level_only_when_they_are_close() -> None:
    peers = {"dygraph": timed(1.0, spread=0.9), "d2s": timed(1.2, spread=0.9)}
    assert judge(Goal(1, "dygraph"), peers).state == "missed"


def test_a_goal_below_the_floor_becomes_the_floor() -> None:
    peers = {"dygraph": timed(1.0), "d2s": timed(2.2), "floor": timed(2.0)}
    found = judge(Goal(1, "dygraph"), peers)
    assert found.goal == "≤ 1.15x floor (no slower than dygraph)"
    assert (found.state, found.by) == ("met", pytest.approx(2.2 / 2.3))
    assert judge(Goal(1.05, "floor"), peers).state == "missed"


@pytest.mark.parametrize("mine", [WRONG, FAILS])
def test_d2s_meets_no_goal_without_a_right_result(mine) -> None:
    assert judge(Goal(1, "dygraph"), {"dygraph": timed(1.0), "d2s": mine}).state == "missed"


# -- growth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "last", "state"),
    [("linear", 11.0, "met"), ("linear", 102.0, "missed"), ("constant", 1.4, "met")],
)
def test_growth_is_that_of_the_capture(report, kind: str, last: float, state: str) -> None:
    curve = report["growth"]["lines"] | {"growth": kind}
    for point, capture in zip(curve["points"], (1.0, last), strict=True):
        point["peers"]["d2s"]["capture_s"] = capture
    found = growth.verdict(curve)
    assert found is not None
    assert found.state == state


def test_the_least_of_some_first_calls_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them may have met something else that the machine did."""
    firsts = {"dygraph": [1.0, 2.0, 0.5], "d2s": [9.0, 4.0, 7.0], "paddle-ast": [8.0, 7.0, 6.0]}
    asked: list[set[str]] = []

    def measure(jobs: Any, settings: Any, **options: Any) -> dict[str, Measured]:
        asked.append(set(jobs))
        rounds = [0.25] if settings.rounds else []
        return {
            peer: Measured("timed", "", firsts[peer][len(asked) - 1], 1, list(rounds))
            for peer in jobs
        }

    monkeypatch.setattr(growth, "measure", measure)
    monkeypatch.setattr(growth, "CONVERTERS", firsts)
    curve = Curve("none", "", "lines", (10,), lambda size, peer: lambda: None)
    (point,) = curve.run(Settings(), lambda text: None)["points"]
    got = {peer: figures["first_s"] for peer, figures in point["peers"].items()}
    assert got == {"dygraph": 0.5, "d2s": 9.0, "paddle-ast": 8.0}  # those above 5 s: once
    assert asked == [{"dygraph", "d2s", "paddle-ast"}, {"dygraph"}, {"dygraph"}]


def test_a_capture_is_timed_by_itself() -> None:
    """Each of a function that was not seen before; the first call has the run, too."""
    made: list[int] = []

    def make(size: int) -> Work:
        made.append(size)
        return Work(function_of("def f(x):\n    return x + 1"), (paddle.ones([size]),))

    measuring = growth._growing("c", "curve", "things", (3,), make, "linear").capture(3)()
    assert measuring.round() > 0
    assert measuring.round() > 0
    assert made == [3, 3]


def test_nothing_is_said_of_growth_where_nothing_is_asked(report) -> None:
    assert growth.verdict(report["growth"]["lines"] | {"growth": ""}) is None


def test_a_line_ends_where_a_peer_fails(report) -> None:
    curve = report["growth"]["lines"]
    curve["points"][1]["peers"]["d2s"] = FAILS
    assert growth.series(curve, "d2s", "best_s") == ([10], [0.2])
    assert growth.verdict(curve).state == "unknown"


def test_a_peer_that_failed_is_not_asked_at_the_next_size() -> None:
    asked = []

    def job(size: int, peer: str):
        asked.append((size, peer))
        return lambda: growth.Measuring(lambda: 1 / 0 if peer == "d2s" else float(size))

    curve = growth.Curve("c", "curve", "things", (1, 2, 3), job)
    found = curve.run(command.QUICK, lambda text: None, quick=True)
    assert [point["size"] for point in found["points"]] == [1, 2]
    assert (1, "d2s") in asked
    assert (2, "d2s") not in asked
    assert found["points"][1]["peers"]["dygraph"]["best_s"] == 2.0


# -- tables ---------------------------------------------------------------------------------------


def test_the_table_has_times_ratios_verdicts_and_goals(report) -> None:
    shown = text(tables.goals(report["scenarios"]))
    lines = [line for line in shown.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    assert cells[0][:7] == [
        *("2 ops", "2 ms", "wrong", "fails: Crash"),
        *("4 ms", "500 µs", "1 ms"),
    ]
    assert cells[1][4:7] == ["2.00x", "0.25x", "0.50x"]
    assert cells[0][7] == "no slower than dygraph: met (0.50 of the limit)"
    assert "missed" in cells[1][7]


def test_the_notes_say_why_a_peer_has_no_figures(report) -> None:
    assert tables.goals(report["scenarios"]).notes == [
        "two-ops, Paddle AST wrong: first call: value 0 is off by 1",
        "two-ops, Paddle SOT fails: Crash: the process ended with -11",
    ]


def test_all_figures_have_median_and_spread(report) -> None:
    rows = tables.figures(report["scenarios"]).rows
    assert rows[0] == ("two-ops", "dygraph", "2 ms", "4 ms", "1%", "1 s", "3", "")
    assert rows[1] == ("two-ops", "Paddle AST", "wrong", "", "", "", "", "")


def test_memory_is_shown_beside_dygraphs(report) -> None:
    rows = tables.memory(report["memory"]).rows
    assert rows[1][4:7] == ("1.00x", "20.0 MiB", "2.00x")
    assert rows[2][4:7] == ("0.50x", "10.0 MiB", "1.00x")


def test_a_way_of_training_that_fails_has_a_note(report) -> None:
    figures = {key: report["memory"][2].pop(key) for key in ("best_s", "first_s", "growth_mib")}
    assert figures
    report["memory"][2]["failed"] = "MemoryError"
    sheet = tables.memory(report["memory"])
    assert len(sheet.rows) == 2
    assert sheet.notes == ["recurrence, 10 trips, d2s, whole step fails: MemoryError"]
    assert "whole step" in page.pictures(report)["memory"]


def test_goals_are_counted(report) -> None:
    assert tables.summary(report) == "3 goals: 2 met, 1 missed"


def test_all_tables_have_cells_under_every_heading(report) -> None:
    made = list(tables.sheets(report))
    assert len(made) == 4
    assert all(len(row) == len(sheet.headings) for sheet in made for row in sheet.rows)


# -- two files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["compare", "docs"])
@pytest.mark.parametrize(
    ("text", "cause"),
    [(None, "cannot be read"), ("not { json", "is no JSON file"), ("[1]", "is not what --json")],
)
def test_a_file_of_something_else(
    verb: str,
    text: str | None,
    cause: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """F1: told in words, and nothing is written."""
    file, folder = tmp_path / "figures.json", tmp_path / "docs"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    more = [str(file)] if verb == "compare" else ["--folder", str(folder)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", verb, str(file), *more])
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 2
    assert cause in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not folder.exists()


def test_two_files_are_compared_row_by_row(report, tmp_path: Path, capsys) -> None:
    new = copy.deepcopy(report)
    peers = new["scenarios"]["two-ops"]["peers"]
    peers["d2s"] = timed(0.0004)
    peers["paddle-ast"] = timed(0.5)
    new["growth"] = {}
    new["environment"]["paddle"] = "0.0"
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, each in zip(files, (report, new), strict=True):
        file.write_text(json.dumps(each), encoding="utf-8")
    command.compare(*files)
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "two-ops" in line)
    cells = [cell.strip() for cell in row.split("│")[1:-1]]
    assert cells == [
        *("two-ops", "~ 1.00", "wrong → timed", "fails → fails"),
        *("~ 1.00", "~ 1.00", "0.40"),
    ]
    assert "lines 10" in out
    assert "not in new" in out
    assert "The environments differ" in out


# -- the page -------------------------------------------------------------------------------------


def chinese(folder: Path, *names: str) -> None:
    """A Chinese page with some parts."""
    (folder / "zh").mkdir()
    parts = "".join(f"<!-- bench: {name} -->\n<!-- /bench -->\n" for name in names)
    (folder / "zh" / "performance.md").write_text(f"前\n{parts}", encoding="utf-8")


def test_the_chinese_page_has_the_parts_of_the_english_one() -> None:
    english, said = ((page.FOLDER / each).read_text("utf-8") for each in (page.PAGE, page.CHINESE))
    assert page.rendered_in_chinese(said, english) == said, "run `make benchdocs`"


def test_what_every_scenario_and_curve_is_called_has_chinese() -> None:
    words = [each.summary for each in SCENARIOS.values()]
    words += [word for each in CURVES.values() for word in (each.summary, each.axis)]
    assert {*words, *TITLES.values()} - {"d2s", "Paddle AST", "Paddle SOT"} <= PHRASES.keys()


@pytest.mark.parametrize(
    ("english", "said"),
    [
        (
            "≥ 8x faster than Paddle AST: level (1.01 of the limit)",
            "比 Paddle AST 快 ≥ 8 倍：持平（限值的 1.01）",
        ),
        ("≤ 1.15x floor (no slower than dygraph): unknown", "≤ 1.15x 下限（不慢于 dygraph）：未知"),
        (
            "no slower than the best: missed (1.30 of the limit)",
            "不慢于最快者：未达到（限值的 1.30）",
        ),
        (
            "capture linear in lines (exponent ≤ 1.2): met (0.78 of the limit)",
            "捕获的用时与行数成线性（指数 ≤ 1.2）：达到（限值的 0.78）",
        ),
        ("fails: ValueError", "失败：ValueError"),
        ("51.49x", "51.49x"),
    ],
)
def test_a_cell_in_chinese(english: str, said: str) -> None:
    assert phrase(english) == said


def test_words_without_chinese_are_an_error() -> None:
    with pytest.raises(UntranslatedError, match="no Chinese for 'a new scenario'"):
        in_chinese("| a new scenario | 1.2 ms |")


def test_only_what_is_between_the_markers_changes(report, tmp_path: Path) -> None:
    chinese(tmp_path, "environment", "memory")
    (tmp_path / "performance.md").write_text(
        "Before\n<!-- bench: environment -->\nold\n<!-- /bench -->\nAfter\n"
        "<!-- bench: memory -->\n<!-- /bench -->\n",
        encoding="utf-8",
    )
    written = page.write(report, tmp_path)
    once = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert once.startswith("Before\n<!-- bench: environment -->\n")
    assert "\nAfter\n" in once
    assert "old" not in once
    assert report["environment"]["time"] in once
    assert "Made by `python -m benchmarks`: 15 rounds" in once
    assert "| recurrence | 10 | d2s, forward |" in once
    assert sorted(path.name for path in written) == [
        *("lines.svg", "memory.svg", "performance.md", "performance.md", "ratios.svg")
    ]
    said = (tmp_path / "zh" / "performance.md").read_text(encoding="utf-8")
    assert said.startswith("前\n<!-- bench: environment -->\n\n由 `python -m benchmarks` 得到：")
    assert "| recurrence | 10 | d2s，前向 |" in said
    pictures = {path: path.read_bytes() for path in written}
    page.write(report, tmp_path)
    assert {path: path.read_bytes() for path in written} == pictures


def test_the_page_of_the_documentation_asks_for_parts_that_there_are(report) -> None:
    asked = page._PART.findall((page.FOLDER / page.PAGE).read_text(encoding="utf-8"))
    assert {name for _, name, _, _ in asked} == set(page.parts(report))


def test_what_was_not_measured_is_not_drawn(report, tmp_path: Path) -> None:
    chinese(tmp_path, "memory")
    (tmp_path / "performance.md").write_text("<!-- bench: memory -->\n<!-- /bench -->\n")
    page.write(report, tmp_path)
    page.write(report | {"memory": [], "growth": {}}, tmp_path)
    assert "Not measured" in (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "performance").iterdir()] == ["ratios.svg"]


def test_a_part_that_there_is_not_is_an_error(report, tmp_path: Path) -> None:
    (tmp_path / "performance.md").write_text("<!-- bench: other -->\n<!-- /bench -->\n")
    with pytest.raises(page.PageError, match="asks for 'other'"):
        page.write(report, tmp_path)


def test_a_plot_shows_every_peer_and_every_size(report) -> None:
    pictures = page.pictures(report)
    assert all(title in pictures["ratios"] for title in ("two-ops", "d2s", "by hand", "floor"))
    assert "first call" in pictures["lines"]


# -- the command ----------------------------------------------------------------------------------


def test_a_name_that_there_is_not_is_refused(capsys) -> None:
    with pytest.raises(command.typer.Exit) as end:
        command.run(only=["no-such-thing"])
    assert end.value.exit_code == 2
    assert "nothing is called 'no-such-thing'" in capsys.readouterr().err


def test_everything_is_listed(capsys) -> None:
    command.run(list_=True)
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(command.NAMES)


@pytest.mark.slow
def test_a_file_holds_what_was_measured_and_where(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    arguments = ["--only", "two-ops", "--rounds", "1", "--quick", "--json", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(command.__file__).parents[1],
    )
    report = json.loads(file.read_text(encoding="utf-8"))
    assert set(report["environment"]) > {"cpu", "cores", "load", "paddle", "d2s", "commit"}
    assert report["settings"]["command"] == "python -m benchmarks --quick --only two-ops"
    peers = report["scenarios"]["two-ops"]["peers"]
    assert [len(peers[name]["rounds_s"]) for name in ("dygraph", "d2s", "floor")] == [1, 1, 1]
    assert "3 goals" in done.stdout
    assert "A quick look" in done.stdout


def test_the_highest_size_is_not_that_of_whoever_starts_the_process() -> None:
    inner = "from benchmarks.memory import _highest; print(_highest())"
    outer = (
        "import subprocess, sys; held = bytearray(b'1') * (400 << 20); "
        f"subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", outer],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(command.__file__).parents[1],
    )
    assert 0 < float(done.stdout) < 200


@pytest.mark.parametrize("module", [goals, growth])
def test_the_examples_in_the_text_hold(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    found = memory.in_process("mlp", "dygraph", 1, 1)
    assert found["best_s"] > 0
    assert found["growth_mib"] > 0
    assert found["loss"] > 0
