"""Methods that others take the place of while a program is captured, however often that happens."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge


def _item(box: object, at: int) -> int:
    return box[at]  # type: ignore[index, no-any-return]


def _minus(function: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(function)
    def minus(*arguments: Any) -> int:
        return -function(*arguments)

    return minus


@pytest.mark.parametrize("inherited", [False, True])
def test_a_method_that_is_set_is_the_one_that_is_called(inherited: bool) -> None:
    """A1: behind thousands of changes, too, where Python 3.13 calls a former ``__getitem__``."""

    class Box:
        def __getitem__(self, at: int) -> int:
            return at

    class Derived(Box):
        pass

    original, box = vars(Box)["__getitem__"], (Derived if inherited else Box)()
    other = bridge.stand_in(original, _minus)
    wrong = 0
    for each in range(3_000):
        for _ in range(9):  # often enough for Python to keep the method
            wrong += _item(box, 1) != 1
        bridge.set_method(Box, "__getitem__", other)
        wrong += sum(_item(box, 1) != -1 for _ in range(1 + each % 5))
        bridge.set_method(Box, "__getitem__", original)
    assert wrong == 0


def test_what_takes_the_place_of_a_function_lives_as_long() -> None:
    """A1: one for each function, also where ``functools.wraps`` has copied what others have."""

    def first(at: int) -> int:
        return at

    @functools.wraps(first)
    def second(at: int) -> int:
        return at + 1

    made = bridge.stand_in(first, _minus)
    vars(second).update(vars(first))
    assert bridge.stand_in(first, _minus) is made
    assert bridge.stand_in(second, _minus) is not made
    left_alone = bridge.stand_in(_item, lambda function: function)
    assert left_alone is _item


def test_the_class_of_tensors_has_its_own_item_method_behind_a_capture() -> None:
    """A1: the same object, so that nobody else's change of it is lost."""
    kind = type(paddle.ones([2]))
    before = vars(kind)["__getitem__"]
    rows = paddle.ones([2, 2])
    seen = []

    @d2s.to_static(full_graph=True)
    def item(i: paddle.Tensor) -> paddle.Tensor:
        seen.append(vars(kind)["__getitem__"])
        return rows[i]

    assert item(paddle.to_tensor(1)).tolist() == [1.0, 1.0]
    assert seen[0] is not before
    assert vars(kind)["__getitem__"] is before
