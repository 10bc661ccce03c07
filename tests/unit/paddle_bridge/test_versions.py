"""Which Paddle this is: what it lacks is refused with its version, or made here."""

from __future__ import annotations

import contextlib
import copy

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.errors import BreakWarning, UnsupportedInGraphError
from d2s.paddle_bridge import names, versions
from d2s.paddle_bridge.capturing import capture
from d2s.program.capture import symbols
from tests.helpers import assert_same

WHICH = paddle.__version__


def test_pythons_code_in_a_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paddle 3.1 and 3.2 have no operations for it; islands run it between programs."""

    def f(x):
        x = x * 2
        if x.sum() > 0:
            print("positive")
        return x + 1

    monkeypatch.setattr(bridge, "CALLS_PYTHON", False)
    with pytest.raises(UnsupportedInGraphError, match=f"Paddle {WHICH} has no operations for it"):
        d2s.to_static(f, full_graph=True)(paddle.ones([2]))
    with pytest.warns(BreakWarning):
        made = d2s.to_static(f, full_graph=False)(paddle.ones([2]))
    assert made.tolist() == [3.0, 3.0]


def test_parameters_of_a_capture_without_paddles_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """What 3.1 and 3.2 lack: parameters, also those that a loop reads first, and gradients."""
    layer = paddle.nn.Linear(2, 2)

    def f(x):
        trips = 0
        while x.sum() < 3 and trips < 3:
            if trips > 0:
                x = x + layer(x).abs()
            else:
                x = x * 0.5
            trips = trips + 1
        return x

    monkeypatch.setattr(capture, "graph_tracing_guard", versions._tracing_guard)
    assert_same(f, paddle.ones([1, 2]), paddle.full([1, 2], 0.1), paddle.full([1, 2], 5.0))


def test_a_guard_that_ends_leaves_the_recorder_as_it_was() -> None:
    recorder = names._global_parameter_recorder
    program = paddle.static.Program()
    with contextlib.suppress(KeyError), versions._tracing_guard(program):
        assert "get" in vars(recorder)
        raise KeyError
    assert "get" not in vars(recorder)


def test_an_operation_that_this_paddle_lacks_is_not_looked_at() -> None:
    """3.3.0 has no ``linear_v2``: every capture ended with an AttributeError."""

    def check(*_: object, **__: object) -> None:
        raise AssertionError

    with capture.checked_operations({"no_such_operation": check}):
        assert not hasattr(paddle._C_ops, "no_such_operation")


def test_values_are_copied_where_paddle_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """D2: 3.1 and 3.2 have no ``Value.__deepcopy__``, and such a copy was refused."""

    def f(x):
        kept = [x * 2, 1]
        made = copy.deepcopy(kept)
        made[0].add_(x)
        return kept, made

    monkeypatch.delattr(bridge.Value, "__deepcopy__")
    assert not hasattr(bridge.Value, "__deepcopy__")
    assert_same(f, paddle.to_tensor([1, 2]))


def test_the_number_of_elements_is_an_int(monkeypatch: pytest.MonkeyPatch) -> None:
    """E4: in 3.1 and 3.2; what 3.3 gives knows the shape, too, and was asked for there."""
    monkeypatch.setattr(symbols, "_SIZE", int)
    static = assert_same(lambda x: x * x.size, paddle.ones([3, 2]), paddle.ones([1, 2]))
    assert static(paddle.ones([3, 2])).tolist() == [[6.0, 6.0]] * 3


@pytest.mark.parametrize(
    ("one", "other"), [("3.10.0", "3.9.1"), ("3.3.1.post1", "3.3.1"), ("3.4.0rc1", "3.3.1")]
)
def test_versions_are_compared_by_numbers(one: str, other: str) -> None:
    assert versions._numbers(one) >= versions._numbers(other)
