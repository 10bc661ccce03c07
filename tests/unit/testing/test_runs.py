"""A run of generated programs: finds that are kept, what it says, how it goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from d2s.testing import PROPERTIES
from d2s.testing import __main__ as command
from d2s.testing.campaign import _SHOWN_ALIKE, Campaign, State

WORKER = """
import argparse, json, sys, time
parser = argparse.ArgumentParser()
for name in ("--seed", "--count", "--skip", "--shrink", "--show"):
    parser.add_argument(name, type=int, default=0)
parser.add_argument("--property")
given = parser.parse_args()
def say(**message):
    print(json.dumps(message), flush=True)
if given.show:
    sys.exit()
if given.shrink:
    say(smaller="a larger file", text="larger")
    time.sleep(60 if given.shrink == 1 else 0)
    sys.exit()
for number in range(given.skip + 1, given.count + 1):
    say(start=number)
    say(note="what nobody asks for")
    if number == given.count:
        sys.exit(3)
    say(done=number, kind="wrong", cause="result", constructs=["a"], text="why", file="file")
"""


def test_finds_that_cannot_be_made_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that falls silent over a find, or ends, leaves the find as it was; of many alike the
    last ones are not tried, and of a program that nobody can show only the cause is counted.
    """
    script = tmp_path / "worker.py"
    script.write_text(WORKER, encoding="utf-8")
    total = _SHOWN_ALIKE + 2
    run = Campaign(
        tmp_path / "run", total=total, jobs=1, limit=2.0, worker=(sys.executable, str(script))
    )
    state = run.run(lambda state: None)
    name = PROPERTIES[0].name
    assert dict(state.verdicts) == {
        f"{name} | wrong | result": total - 1,
        f"{name} | wrong | crash": 1,
    }
    assert [find["cause"] for find in state.finds] == ["result"] * (total - 1)
    for find in state.finds:
        text = (run.folder / "finds" / find["file"]).read_text(encoding="utf-8")
        assert text.startswith("file\n")
        assert "# why" in text


def test_the_command_goes_on_and_says_what_is_wrong(tmp_path: Path) -> None:
    """``python -m d2s.testing``: the exit status is 1 when a find is kept."""
    app = typer.Typer()
    app.command()(command.main)
    options = ["--folder", str(tmp_path), "--programs", "1", "--jobs", "1"]
    first = CliRunner().invoke(app, options)
    assert first.exit_code == 0, first.output
    assert "1 programs; " in first.output
    assert "wrong: " not in first.output
    file = tmp_path / "state.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    held["finds"] = [{"file": "a.py", "property": PROPERTIES[0].name, "cause": "result"}]
    file.write_text(json.dumps(held), encoding="utf-8")
    again = CliRunner().invoke(app, options)
    assert again.exit_code == 1
    assert "wrong: finds/a.py: result" in again.output


def test_the_summary_of_a_run_that_has_reached_everything(capsys: Any) -> None:
    """Nothing was refused or wrong, and no construct was missed: neither is said."""
    from d2s.testing import constructs

    state = State(0)
    state.add(PROPERTIES[0], {"kind": "right", "cause": "", "constructs": list(constructs())})
    command.summary(state, command.Console(width=160))
    text = capsys.readouterr().out
    assert "code or cause" not in text
    assert "not reached" not in text
