"""The bridge: what it corrects in this version of Paddle is really there to be corrected."""

from __future__ import annotations

import inspect

from paddle.autograd import ir_backward

from d2s import paddle_bridge as bridge


def test_each_repair_finds_its_place() -> None:
    """C7: on a tried version no repair may fall away in silence."""
    text = inspect.getsource(ir_backward)
    assert [text.count(wrong) for wrong, _ in bridge._REPAIRS] == [1] * len(bridge._REPAIRS)
    assert bridge.gradient_function() is not ir_backward.grad


def test_the_flag_of_the_interpreter_is_restored() -> None:
    """A user's global flag is his."""
    flags = bridge.core.globals()
    before = flags[bridge._TRACE]
    with bridge.program_order():
        assert flags[bridge._TRACE] is True
        with bridge.program_order():
            assert flags[bridge._TRACE] is True
        assert flags[bridge._TRACE] is True
    assert flags[bridge._TRACE] == before
