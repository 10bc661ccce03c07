"""The stack that Paddle notes for an operation: remembered frames for Paddle, the rest as ever."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any

import paddle

import d2s
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge import stacks
from tests.helpers import tensor

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
        frames = bridge.remembered_frames(textless, outermost)
        with paddle.static.program_guard(program), frames:
            paddle.exp(paddle.static.data("x", [2], "float32"))
        return noted(program)
    finally:
        paddle.disable_static()


def test_lines_are_read_where_somebody_wants_them() -> None:
    """F2: files and numbers of lines are those of all frames, texts those of the user's."""
    whole, short = [built(hidden) for hidden in (lambda file: False, lambda file: file != __file__)]
    assert [line for line in whole if "File " in line] == [
        line for line in short if "File " in line
    ]
    texts = [line.strip() for line in short if "File " not in line]
    assert 'paddle.exp(paddle.static.data("x", [2], "float32"))' in texts
    assert "" in texts
    assert "" not in [line.strip() for line in whole if "File " not in line][-3:]


def test_stacks_begin_where_the_capture_does() -> None:
    """F2: who has called the converted function is not said for each operation."""

    def built_in(outermost: Any) -> list[str]:
        return [line for line in built(lambda file: True, outermost) if "File " in line]

    whole, short = built_in(None), built_in(sys._getframe())
    assert short == whole[-len(short) :]
    assert __file__ in short[0]
    assert "test_stacks_begin" in short[0]
    static = d2s.to_static(lambda x: x.exp())
    static(tensor(1.0))
    program = static._programs.entries[0].runner.captured.program
    first = next(line for line in noted(program) if "File " in line)
    assert "/d2s/program/capture.py" in first


def test_code_that_asks_gets_all() -> None:
    """A1: also while a program is captured, with the texts of all frames."""
    seen: list[traceback.StackSummary] = []

    def f(x: Any) -> Any:
        seen.append(traceback.extract_stack())
        seen.append(traceback.extract_stack(limit=2))
        assert traceback.format_stack()
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

    with bridge.remembered_frames(lambda file: True):
        extract = traceback.extract_stack
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with bridge.remembered_frames(lambda file: True):
            mine = called(extract)
        assert extract is not ORIGINAL
    assert all(frame.line for frame in found[0] if frame.filename == __file__)
    assert not any(frame.line for frame in mine)
    assert traceback.extract_stack is ORIGINAL
