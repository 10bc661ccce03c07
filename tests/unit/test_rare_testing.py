"""The night's run from inside: what a worker says, finds that are kept, programs without slopes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import paddle
import pytest
import typer
from hypothesis import HealthCheck, Phase, given, settings
from paddle.static import InputSpec
from typer.testing import CliRunner

from d2s.errors import NoInputsError, PassError
from d2s.testing import PROPERTIES, Program, Property, inputs_of, judge
from d2s.testing import __main__ as command
from d2s.testing.campaign import _SHOWN_ALIKE, Campaign, State
from d2s.testing.spies import Spy
from d2s.testing.worker import _show, _shrink, _work, property_named


def program(body: str, *calls: Any, parameters: tuple[str, ...] = ("x",)) -> Program:
    head = f"def f({', '.join(parameters)}):\n"
    text = "import paddle\n\n\n" + head + "".join(f"    {line}\n" for line in body.splitlines())
    return Program(text, parameters, tuple(calls))


# -- a worker ------------------------------------------------------------------------------------


def has_no_break(program: Program) -> None:
    """A property that needs no conversion, and that some programs lack."""
    assert "break" not in program.text


NO_BREAK = Property("has no break", "A1", has_no_break, tensors=False)


def test_what_a_worker_says_of_a_batch() -> None:
    """Each program has a start and an end; one seed gives the same ones, wherever it is entered."""
    said: list[dict[str, Any]] = []
    _work(NO_BREAK, 5, 3, 0, said.append)
    starts = [message["start"] for message in said if "start" in message]
    done = [message for message in said if "done" in message]
    assert starts == [message["done"] for message in done] == [1, 2, 3]
    assert {message["kind"] for message in done} <= {"right", "wrong"}
    assert any(message["constructs"] for message in done)
    assert said[-1] == {"end": 3}
    later: list[dict[str, Any]] = []
    _work(NO_BREAK, 5, 3, 2, later.append)
    assert later == said[-3:]


def test_a_worker_shows_a_program_and_makes_it_smaller() -> None:
    """A program that is wrong is met again by its number, and stays wrong for the same cause."""
    said: list[dict[str, Any]] = []
    count = 30
    _work(NO_BREAK, 2, count, 0, said.append)
    wrong = next(message for message in said if message.get("kind") == "wrong")
    shown: list[dict[str, Any]] = []
    _show(NO_BREAK, 2, count, wrong["done"], shown.append)
    assert shown == [{"file": wrong["file"]}]
    smaller: list[dict[str, Any]] = []
    _shrink(NO_BREAK, 2, count, wrong["done"], smaller.append)
    assert smaller[0]["smaller"] == wrong["file"]
    assert smaller[-1] == {"end": wrong["done"]}
    assert len(smaller[-2]["smaller"]) < len(wrong["file"])
    assert "break" in smaller[-2]["smaller"]


# -- a run ---------------------------------------------------------------------------------------

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


# -- properties ----------------------------------------------------------------------------------

PLUS, MINUS = ([2.0, 1.0],), ([-3.0, 1.0],)
TRIED = {
    "a call that raises": ("gradients are slopes", "if x.sum() < 0:\n    raise ValueError('no')\n"
                           "return x * x", "right"),
    "a kink": ("gradients are slopes", "return paddle.abs(x - 1.0)", "right"),
    "nothing floating": ("gradients are slopes", "return x.shape", "right"),
    "no gradient": ("gradients are slopes", "return paddle.floor(x.detach() * 2.5)", "right"),
    "no program, no slope": (
        "gradients are slopes", "return x * memoryview(x.numpy())[0]", "D2S208",
    ),
    "no program, no lines": (
        "no Python on later calls", "return x * memoryview(x.numpy())[0]", "D2S208",
    ),
    "later calls that raise": ("no Python on later calls", "if x.sum() > 0:\n"
                               "    raise ValueError('no')\nreturn x * x", "right"),
    "nothing to save": ("saved and loaded", "if x.sum() > 0:\n    raise ValueError('no')\n"
                        "return x * x", "right"),
    "a number that varies": ("saved and loaded", "k = 0\nwhile x.sum() > 0:\n    x = x - 1\n"
                             "    k = k + 1\nreturn x, k, 3", "right"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRIED)
def test_programs_of_which_little_can_be_asked(case: str) -> None:
    """A call without a result, or a result without a slope, is no find; a refusal is counted."""
    name, body, expected = TRIED[case]
    verdict = judge(property_named(name), program(body, PLUS, MINUS))
    assert (verdict.cause or verdict.kind) == expected, verdict.text
    assert verdict.kind != "wrong"


def test_an_error_of_ours_is_no_refusal() -> None:
    """D2S9xx says that d2s itself is wrong, and so does the verdict."""

    def fails(program: Program) -> None:
        raise PassError("a pass left a broken tree")

    verdict = judge(Property("fails", "A5", fails), program("return x", PLUS))
    assert (verdict.kind, verdict.cause) == ("wrong", "D2S901")


def test_a_spy_is_asked_for_a_whole_number() -> None:
    """A1: ``int`` is noted like every other question."""
    log: list[str] = []
    assert int(Spy(3.5, log)) == 3
    assert log == ["int(3.5)"]


# -- inputs --------------------------------------------------------------------------------------


class Called:
    def __call__(self, x: paddle.Tensor, k: int):
        return x * k


def unresolved(x: paddle.Tensor, y: NotThere.Tensor, k=3):  # noqa: F821
    return x


def unknown(x: paddle.Tensor, k: NotThere.Number):  # noqa: F821
    return x


def structured(pair, items):
    return pair[0] + items[0]


def test_inputs_of_objects_and_of_annotations_that_name_nothing() -> None:
    """A callable object has those of its ``__call__``; a text that ends in Tensor is one."""
    specs = [
        (InputSpec([2], "float32"), InputSpec([None], "int64")),
        [InputSpec([3], "float32"), 7],
    ]
    found: dict[str, list[Any]] = {"object": [], "texts": [], "specs": []}

    @settings(
        max_examples=3, phases=[Phase.generate], database=None,
        suppress_health_check=list(HealthCheck), deadline=None,
    )  # fmt: skip
    @given(inputs_of(Called()), inputs_of(unresolved), inputs_of(structured, specs))
    def each(one: Any, two: Any, three: Any) -> None:
        found["object"].append(one)
        found["texts"].append(two)
        found["specs"].append(three)

    each()
    with pytest.raises(NoInputsError, match=r"NotThere\.Number"):
        inputs_of(unknown)
    for call in found["object"]:
        assert isinstance(call["x"], paddle.Tensor)
        assert isinstance(call["k"], int)
    for call in found["texts"]:
        assert sorted(call) == ["x", "y"]
        assert all(isinstance(value, paddle.Tensor) for value in call.values())
    for call in found["specs"]:
        assert [type(value) for value in (call["pair"], call["items"])] == [tuple, list]
        assert call["pair"][0].shape == [2]
        assert call["pair"][1].dtype == paddle.int64
        assert call["items"][1] == 7
