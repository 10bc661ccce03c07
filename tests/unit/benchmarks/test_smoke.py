"""One quick scenario through the whole of ``benchmarks``: what is reported, not how fast it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import __main__ as command
from benchmarks.protocol import Scenario, ScenarioError, Settings, Work, differ, run_scenario
from benchmarks.scenarios import SCENARIOS, two_ops, two_ops_by_hand

SETTINGS = Settings(rounds=2, round_s=0.001, limit_s=60.0)


def same(function: Any) -> Any:
    return function


def wrong(function: Any) -> Any:
    return lambda x: function(x) + 1.0


def raising(function: Any) -> Any:
    raise KeyError("no such thing")


def endless(function: Any) -> Any:
    while True:
        pass


def text(table: Any) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    converters = {"dygraph": same, "paddle-ast": wrong, "paddle-sot": raising, "d2s": same}
    scenario = Scenario("smoke", "smoke test", two_ops, by_hand=two_ops_by_hand)
    return command.measure(scenario, SETTINGS, converters)


@pytest.fixture
def report(found: dict[str, Any]) -> dict[str, Any]:
    environment = command.environment()
    return {"environment": environment, "settings": {}, "scenarios": {"smoke": found}}


def test_each_peer_has_its_verdict(found: dict[str, Any]) -> None:
    assert {peer: result["status"] for peer, result in found["peers"].items()} == {
        "dygraph": "timed",
        "paddle-ast": "wrong",
        "paddle-sot": "fails",
        "d2s": "timed",
        "by-hand": "timed",
    }
    assert found["peers"]["paddle-ast"]["detail"] == "first call: value 0 is off by 1"
    assert found["peers"]["paddle-sot"]["detail"] == "KeyError: 'no such thing'"


def test_a_timed_peer_has_its_figures(found: dict[str, Any]) -> None:
    timed = found["peers"]["d2s"]
    assert len(timed["rounds_s"]) == SETTINGS.rounds
    assert 0 < timed["best_s"] <= timed["median_s"]
    assert timed["first_s"] > 0
    assert timed["calls_per_round"] >= 1
    assert timed["spread"] >= 0


def test_a_wrong_peer_has_no_figures(found: dict[str, Any]) -> None:
    assert set(found["peers"]["paddle-ast"]) == {"status", "detail"}


def test_the_table_shows_verdicts_and_ratios(report: dict[str, Any]) -> None:
    row = next(line for line in text(command.table(report)).splitlines() if "smoke test" in line)
    _, name, dygraph, ast, sot, d2s, hand, _ = (cell.strip() for cell in row.split("│"))
    assert name == "smoke test"
    assert "s ±" in dygraph
    assert ast == "wrong"
    assert sot == "fails: KeyError"
    assert "x ±" in d2s
    assert "x ±" in hand


def test_the_notes_say_why(report: dict[str, Any]) -> None:
    assert command.notes(report) == [
        "smoke, Paddle AST wrong: first call: value 0 is off by 1",
        "smoke, Paddle SOT fails: KeyError: 'no such thing'",
    ]


def test_two_files_can_be_compared(
    report: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report), encoding="utf-8")
    command.compare(file, file)
    out = capsys.readouterr().out
    assert "~ 1.00" in out
    assert "wrong → wrong" in out
    assert report["environment"]["commit"] in out


def test_a_peer_that_does_not_come_back_is_stopped() -> None:
    scenario = Scenario("smoke", "smoke test", two_ops)
    settings = Settings(rounds=1, round_s=0.001, limit_s=12.0)
    found = run_scenario(scenario, settings, {"dygraph": same, "d2s": endless})
    assert found["d2s"].detail == "Timeout: no answer in 12 s"


def test_a_scenario_that_fails_in_dygraph_is_no_result() -> None:
    scenario = Scenario("smoke", "smoke test", lambda: Work(raising, (1,)))
    with pytest.raises(ScenarioError, match="KeyError"):
        run_scenario(scenario, SETTINGS, {"dygraph": same})


def test_a_missing_gradient_is_a_difference() -> None:
    assert differ([None], [two_ops().arguments[0].numpy()]) == "value 0 is missing"


def test_scenarios_are_listed_under_their_names() -> None:
    assert all(name == scenario.name for name, scenario in SCENARIOS.items())
