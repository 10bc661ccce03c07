"""Methods, copies and ``rollback`` of static functions (rules G1, G3)."""

from __future__ import annotations

import copy
import types
from typing import Any

import paddle
from paddle.static import InputSpec

import d2s
from tests.helpers import tensor

X = tensor(1.0, 2.0, 3.0)


class Model(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * 2


class Plain:
    """Can be neither hashed nor referenced weakly."""

    __slots__ = ("k",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, k: int) -> None:
        self.k = k

    @d2s.to_static
    def go(self, x: Any) -> Any:
        return x * self.k

    def other(self, x: Any) -> Any:
        return x + self.k


def test_a_method_of_objects_that_cannot_be_remembered() -> None:
    """G1: each call binds it anew."""
    one, other = Plain(2), Plain(3)
    for _ in range(2):
        assert one.go(X).tolist() == [2.0, 4.0, 6.0]
        assert other.go(X).tolist() == [3.0, 6.0, 9.0]
        assert Plain.go(one, X).tolist() == [2.0, 4.0, 6.0]
    bound = d2s.to_static(one.other)
    assert bound(X).tolist() == bound(X).tolist() == [3.0, 4.0, 5.0]


def test_a_converted_function_is_copied_as_functions_are() -> None:
    """G3: a copy is the function itself."""
    function = Plain.__dict__["go"]
    assert Plain.go is function
    assert copy.copy(function) is function
    assert copy.deepcopy(function) is function


def test_rollback_gives_each_object_its_own_method_back() -> None:
    """G3: one that the object alone has, one of its class, one that was never assigned."""

    def forward(self, x):
        return x * 5

    layer = Model()
    layer.forward = types.MethodType(forward, layer)
    d2s.to_static(layer)
    assert layer(X).tolist() == [5.0, 10.0, 15.0]
    layer.forward.rollback()
    assert isinstance(layer.forward, types.MethodType)
    assert layer(X).tolist() == [5.0, 10.0, 15.0]

    other = Model()
    static = d2s.to_static(other.forward)
    assert static(X).tolist() == [2.0, 4.0, 6.0]
    static.rollback()
    assert isinstance(other.forward, types.MethodType)
    assert other(X).tolist() == [2.0, 4.0, 6.0]


def test_the_program_for_arguments_that_are_only_described() -> None:
    """G3: Paddle asks for it by specs, with words of its own for what is done with it."""

    def f(x, k=2):
        return x * k

    static = d2s.to_static(f)
    found, partial = static.get_concrete_program(
        InputSpec([None, 3], "float32"), k=4, is_train=False
    )
    assert partial([paddle.ones([2, 3])]).tolist() == [[4.0] * 3] * 2
    assert [list(value.shape) for value in found.inputs] == [[-1, 3]]
    assert static(paddle.ones([2, 3])).tolist() == [[2.0] * 3] * 2
