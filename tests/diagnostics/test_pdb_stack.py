"""pdb and bdb on converted code: the stack is the user's, and stepping out leads to the caller."""

from __future__ import annotations

import bdb
import io
import pdb
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import d2s
from tests.helpers import tensor

HERE = str(Path(__file__).resolve())
OURS = str(Path(d2s.__file__).parent)


@pytest.fixture(autouse=True)
def no_other_tracer() -> Iterator[None]:
    before = sys.gettrace()
    yield
    sys.settrace(before)


def helper(x, factor):
    if x.sum() > 0:
        y = x * factor  # in the branch
    else:
        y = x - 1
    return y  # of helper


def model(x):
    total = x
    for step in range(2):
        total = helper(total, step + 1)  # the call
    total = total + 1  # behind the loop
    return total


def dynamic(x):
    while x.sum() < 100:
        if x.min() > -1:
            x = x * 2  # in the loop
        x = x + 1  # behind the branch
    return x  # of dynamic


def operand(x):
    return x.sum() > 0 and helper(x, 3).sum() > 0  # as an operand


def line_of(mark: str) -> int:
    """The line of this file that ends with a mark."""
    lines = Path(HERE).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"  # {mark}"))


def told(function: Any, *commands: str, call: Any = None) -> list[str]:
    """What pdb says to each command, with the converted function called under it."""
    out = io.StringIO()
    text = "".join(f"{command}\n" for command in [*commands, "clear 1", "c"])
    debugger = pdb.Pdb(stdin=io.StringIO(text), stdout=out, nosigint=True, readrc=False)
    debugger.prompt = "(Pdb) "
    debugger.use_rawinput = False
    debugger.clear_all_breaks()
    (debugger.runcall)(call or d2s.to_static(function), tensor(1.0, 2.0))
    bdb.Breakpoint.clearBreakpoints()
    return out.getvalue().split("(Pdb) ")[1:]


def frames(shown: str) -> list[tuple[str, int, str]]:
    """File, line and function of each frame in what ``w`` shows."""
    found = re.findall(r"^[> ] (\S+)\((\d+)\)(\S+?)\(\)", shown, re.MULTILINE)
    return [(file, int(line), name) for file, line, name in found]


def mine(shown: str) -> list[tuple[int, str]]:
    """Those of the functions above; and there is no frame of d2s, Paddle or their tools."""
    found = frames(shown)
    assert found, shown
    outside = {file for file, _, _ in found} - {HERE}
    assert all("d2s/" not in file and "paddle" not in file for file in outside), outside
    names = ("helper", "model", "dynamic", "operand", "<lambda>")
    return [(line, name) for file, line, name in found if file == HERE and name in names]


@pytest.mark.parametrize("converted", [d2s.to_static, d2s.convert])
def test_where_shows_the_users_frames_alone(converted: Any) -> None:
    """F2: one after the other, as they have called each other."""
    last = line_of("of helper")
    shown = told(model, f"b {HERE}:{last}", "c", "w", call=lambda x: converted(model)(x))[2]
    assert mine(shown)[-1] == (last, "helper")
    callers = [place for place in mine(shown) if place[1] == "model"]
    assert callers[-1] == (line_of("the call"), "model")
    names = [name for _, name in mine(shown) if name != "<lambda>"]  # of this test
    assert names == ["model"] * len(callers) + ["helper"]


def test_a_body_has_its_function_around_it() -> None:
    """The innermost is where it stands; each block around it is a line of the same function."""
    place = line_of("in the loop")
    shown = told(dynamic, f"b {HERE}:{place}", "c", "w", "p list(x.shape)", "u", "p list(x.shape)")
    found = mine(shown[2])
    assert found[-1] == (place, "dynamic")
    assert {name for _, name in found} == {"dynamic"}
    assert [line for line, _ in found] == sorted(line for line, _ in found)
    assert shown[3].strip() == "[2]"
    assert "dynamic()" in shown[4]
    assert shown[5].strip() == "[2]"


def test_an_operand_that_waits_is_no_frame() -> None:
    place = line_of("of helper")
    found = mine(told(operand, f"b {HERE}:{place}", "c", "w")[2])
    assert found == [(line_of("as an operand"), "operand"), (place, "helper")]


def test_up_and_down_go_from_user_to_user() -> None:
    place = line_of("in the branch")
    shown = told(model, f"b {HERE}:{place}", "c", "u", "u", "u", "d", "d", "d")
    places = [frames(each)[-1] for each in shown[1:8] if frames(each)]
    assert {file for file, _, _ in places} == {HERE}
    assert (line_of("the call"), "model") in [place[1:] for place in places]


def stops(shown: list[str]) -> list[tuple[int, str]]:
    """Where each command has led."""
    return [frames(each)[-1][1:] for each in shown if frames(each)]


def test_return_leaves_the_function_not_the_block() -> None:
    """``r`` comes to the return of the function; ``n`` from there to the caller's line."""
    place = line_of("in the branch")
    shown = told(model, f"b {HERE}:{place}", "c", "clear 1", "r", "n")
    found = stops(shown)
    assert found[0] == (place, "helper")
    assert found[1] == (line_of("of helper"), "helper")
    assert "--Return--" in shown[3]
    assert found[2][1] == "model"


def test_next_leads_out_of_a_block_to_what_comes_behind() -> None:
    """From the last line of a body on, in order, to the end and to the caller."""
    place = line_of("in the loop")
    shown = told(dynamic, f"b {HERE}:{place}", "c", "clear 1", *["n"] * 12)
    lines = [line for line, name in stops(shown) if name == "dynamic"]
    assert lines[0] == place
    assert line_of("behind the branch") in lines
    assert line_of("of dynamic") in lines
    files = {file for each in shown for file, _, _ in frames(each)}
    assert not [file for file in files if file.startswith(OURS) or "/paddle/" in file]


class Recorder(bdb.Bdb):
    """A debugger of somebody's own."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.stacks: list[list[str]] = []
        self.set_break(HERE, line)

    def user_line(self, frame: Any) -> None:
        if (frame.f_code.co_filename, frame.f_lineno) in (
            (HERE, line) for file, line in self.breaks_here()
        ):
            stack, index = self.get_stack(frame, None)
            assert stack[index][0] is frame
            self.stacks.append([each.f_code.co_filename for each, _ in stack])
        self.set_continue()

    def breaks_here(self) -> list[tuple[str, int]]:
        return [(file, line) for file, lines in self.get_all_breaks().items() for line in lines]


def test_any_debugger_on_bdb_sees_the_users_frames() -> None:
    recorder = Recorder(line_of("in the branch"))
    recorder.runcall(d2s.to_static(model), tensor(1.0, 2.0))
    bdb.Breakpoint.clearBreakpoints()
    assert recorder.stacks
    for stack in recorder.stacks:
        assert stack[-1] == HERE
        assert not [file for file in stack if file.startswith(OURS)]
        assert not any("paddle" in file for file in stack)


def test_all_frames_on_request() -> None:
    """``full_traceback``, for who debugs d2s."""
    place = line_of("of helper")
    with d2s.options(full_traceback=True):
        shown = told(model, f"b {HERE}:{place}", "c", "w")[2]
    assert any(file.startswith(OURS) for file, _, _ in frames(shown))
