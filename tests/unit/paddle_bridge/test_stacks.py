"""The stack that Paddle notes for an operation: remembered frames for Paddle, the rest as ever."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

import paddle

import d2s
from d2s import paddle_bridge as bridge
from d2s.diagnostics.frames import is_part
from d2s.paddle_bridge.capturing import stacks
from tests.helpers import function_of, tensor

ORIGINAL = traceback.extract_stack


def noted(program: Any) -> list[str]:
    """The lines of the stack of the last operation that has one."""
    found = [list(each.callstack) for each in program.global_block().ops if each.callstack]
    return found[-1]


def built(textless: Any, outermost: Any = None) -> list[str]:
    """What Paddle notes for an operation that this function makes."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        frames = bridge.remembered_frames(textless, is_part, outermost)
        with paddle.static.program_guard(program), frames:
            paddle.exp(paddle.static.data("x", [2], "float32"))
        return noted(program)
    finally:
        paddle.disable_static()


def files_in(lines: list[str]) -> list[str]:
    return [line for line in lines if "File " in line]


def test_frames_are_those_of_the_user() -> None:
    """F2: with their texts, each with the first frames that it has called, which have none."""
    whole, short = [built(hidden) for hidden in (lambda file: False, lambda file: file != __file__)]
    mine = [line for line in files_in(whole) if __file__ in line]
    assert [line for line in files_in(short) if __file__ in line] == mine
    below = files_in(whole)[files_in(whole).index(mine[-1]) + 1 :]
    assert files_in(short)[files_in(short).index(mine[-1]) + 1 :] == below[: stacks.MOST]
    assert len(files_in(short)) < len(files_in(whole))
    texts = [line.strip() for line in short if "File " not in line]
    assert 'paddle.exp(paddle.static.data("x", [2], "float32"))' in texts
    assert "" in texts


def test_of_what_is_deep_the_outermost_frames_are_told() -> None:
    """F2: they have the names by which the columns of the user's line are found."""
    scope: dict[str, Any] = {"built": built, "hidden": lambda file: file == "<deep>"}
    text = "def f(n):\n    return f(n - 1) if n else built(hidden)\n"
    exec(compile(text, "<deep>", "exec"), scope)
    for depth in (3, 30):
        lines = files_in(scope["f"](depth))
        assert sum("<deep>" in line for line in lines) == min(depth + 1, stacks.MOST)


def test_a_stack_without_the_user() -> None:
    """F2: is told as it is."""
    assert files_in(built(lambda file: True)) == files_in(built(lambda file: False))


def test_stacks_begin_where_the_capture_does() -> None:
    """F2: who has called the converted function is not said for each operation."""

    def built_in(outermost: Any) -> list[str]:
        return files_in(built(lambda file: True, outermost))

    whole, short = built_in(None), built_in(sys._getframe())
    assert short == whole[-len(short) :]
    assert __file__ in short[0]
    assert "test_stacks_begin" in short[0]
    static = d2s.to_static(lambda x: x.exp())
    static(tensor(1.0))
    program = static._programs.entries[0].runner.captured.program
    (made,) = [each for each in program.global_block().ops if each.name() == "pd_op.exp"]
    lines = files_in(list(made.callstack))
    assert "/d2s/program/capture/capture.py" in lines[0]
    assert __file__ in lines[1]
    assert "lambda" in lines[1]


NEST = """
def f(x):
    if x.sum() > 0:
        x = x + 1
        while x.sum() < 20:
            x = x * 2
            if x.mean() > 3:
                x = x.exp()
    return x
"""

CALLS = """
def f(x):
    def f(y):
        return y.exp()
    return f(x)
"""


def frames_of(text: str) -> list[str]:
    """The user's frames in the stack of the operation ``exp``."""
    function = function_of(text)
    static = d2s.to_static(function)
    static(tensor(1.0, 2.0))
    program = static._programs.entries[0].runner.captured.program
    (made,) = [each for each in bridge.operations(program) if each.name() == "pd_op.exp"]
    file = function.__code__.co_filename
    return [line for line in files_in(list(made.callstack)) if file in line]


def test_parts_of_one_function_are_one_frame() -> None:
    """F2: the innermost ``if`` or ``while`` stands for the function; a call has a frame."""
    (frame,) = frames_of(NEST)
    assert "line 7, in f" in frame
    outer, inner = frames_of(CALLS)
    assert "line 4, in f" in outer
    assert "line 3, in" in inner


def test_code_that_asks_gets_all() -> None:
    """A1: also while a program is captured, with the texts of all frames."""
    seen: list[traceback.StackSummary] = []

    @d2s.not_to_static
    def look() -> None:
        seen.append(traceback.extract_stack())
        seen.append(traceback.extract_stack(limit=2))
        assert traceback.format_stack()

    def f(x: Any) -> Any:
        look()
        return x + 1

    d2s.to_static(f)(tensor(1.0))
    assert len(seen[0]) > 10
    files = [frame.filename for frame in seen[0] if not frame.line]
    assert [file for file in files if not file.startswith("<")] == []
    assert len(seen[1]) == 2
    assert traceback.extract_stack is ORIGINAL
    assert not stacks._known


def called(function: Any) -> Any:
    """What ``function`` gives; it is called as from C++, where no caller names it."""
    return function()


def test_other_threads_get_all() -> None:
    """A1: a capture of one thread is none of another's business."""
    found: list[traceback.StackSummary] = []

    def other() -> None:
        found.append(called(extract))

    with bridge.remembered_frames(lambda file: True, is_part):
        extract = traceback.extract_stack
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with bridge.remembered_frames(lambda file: True, is_part):
            mine = list(called(extract))
        assert extract is not ORIGINAL
    assert all(frame.line for frame in found[0] if frame.filename == __file__)
    assert all(frame.line for frame in found[0] if frame.filename == __file__)
    assert not any(frame.line for frame in mine)
    assert mine
    assert traceback.extract_stack is ORIGINAL
