"""The nightly run: batches, resuming, and programs that take their process with them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from d2s.testing import PROPERTIES, Program
from d2s.testing import __main__ as command
from d2s.testing.campaign import BATCH, Campaign, State, property_of

WORKER = """
import argparse, json, os, sys, time
parser = argparse.ArgumentParser()
for name in ("--seed", "--count", "--skip", "--shrink", "--show"):
    parser.add_argument(name, type=int, default=0)
parser.add_argument("--property")
given = parser.parse_args()
with open(os.environ["CALLS"], "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
def say(**message):
    print(json.dumps(message), flush=True)
if given.show:
    say(file=f"program {given.show}")
    sys.exit()
if given.shrink:
    say(smaller="small", text="why it is wrong")
    say(end=given.shrink)
    sys.exit()
for number in range(given.skip + 1, given.count + 1):
    say(start=number)
    if number == 2:
        time.sleep(60)
    if number == 3:
        os._exit(11)
    kind = "wrong" if number == 4 else "right"
    cause = "result" if number == 4 else ""
    say(done=number, kind=kind, cause=cause, constructs=["a", "b"], text="why", file="larger")
say(end=given.count)
"""


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """A run of a worker that hangs at its second program, and dies at its third."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER, encoding="utf-8")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setattr("d2s.testing.campaign._START", 2.0)
    worker = (sys.executable, str(script))
    return Campaign(tmp_path / "run", total=6, jobs=1, limit=2.0, worker=worker)


def test_a_hang_a_crash_and_a_find(campaign: Campaign) -> None:
    state = campaign.run(lambda state: None)
    name = PROPERTIES[0].name
    assert dict(state.verdicts) == {
        f"{name} | right | ": 3,
        f"{name} | wrong | hang": 1,
        f"{name} | wrong | crash": 1,
        f"{name} | wrong | result": 1,
    }
    texts = {
        find["cause"]: (campaign.folder / "finds" / find["file"]).read_text(encoding="utf-8")
        for find in state.finds
    }
    assert texts["hang"].startswith("program 2\n")
    assert texts["crash"].startswith("program 3\n")
    assert texts["result"].startswith("small\n")
    assert "# why it is wrong" in texts["result"]
    assert state.pairs == {"a + b": 4}


def test_a_run_goes_on_where_it_stopped(campaign: Campaign, tmp_path: Path) -> None:
    first = campaign.run(lambda state: None)
    calls = (tmp_path / "calls").read_text(encoding="utf-8")
    campaign.total += BATCH
    campaign.run(lambda state: campaign.folder.joinpath("state.json").exists())
    again = (tmp_path / "calls").read_text(encoding="utf-8").removeprefix(calls)
    assert first.done == [0]
    assert all(f"--seed {1}" in line for line in again.splitlines())
    assert State.load(campaign.folder / "state.json").done == [0, 1]


def test_a_worker_that_cannot_start_ends_the_run(tmp_path: Path) -> None:
    worker = (sys.executable, "-c", "raise SystemExit(1)")
    with pytest.raises(RuntimeError, match="cannot start"):
        Campaign(tmp_path, total=1, jobs=1, worker=worker).run(lambda state: None)


def test_all_properties_have_their_turn() -> None:
    turns = [property_of(number) for number in range(4 * len(PROPERTIES))]
    assert set(turns) == set(PROPERTIES)
    assert turns.count(PROPERTIES[0]) == len(turns) // 2


def test_the_worker_itself(tmp_path: Path) -> None:
    """Two programs of the first property, in a process of d2s' own."""
    state = Campaign(tmp_path, total=2, jobs=1).run(lambda state: None)
    assert state.programs == 2
    assert not state.finds
    assert json.loads((tmp_path / "state.json").read_text(encoding="utf-8"))["done"] == [0]


def test_the_summary() -> None:
    state = State(0)
    for kind, cause in (("right", ""), ("refused", "D2S205"), ("wrong", "result")):
        state.add(PROPERTIES[0], {"kind": kind, "cause": cause, "constructs": ["if", "break"]})
    state.finds.append({"file": "a.py", "property": PROPERTIES[0].name, "cause": "result"})
    out = io.StringIO()
    command.summary(state, Console(file=out, width=160))
    text = out.getvalue()
    assert "3 programs; 2 of " in text
    assert "1 of " in text
    assert "D2S205" in text
    assert "wrong: finds/a.py: result" in text


def test_programs_print_their_calls() -> None:
    program = Program("def f(x):\n    return x\n", ("x",), (([1.0],),))
    assert repr(program) == "\ndef f(x):\n    return x\n# f([1.0])\n"
