"""Methods that others take the place of while a program is captured, however often that happens."""

from __future__ import annotations

import types

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge


def _item(box: object, at: int) -> int:
    return box[at]  # type: ignore[index, no-any-return]


@pytest.mark.parametrize("inherited", [False, True])
def test_a_method_that_is_set_is_the_one_that_is_called(inherited: bool) -> None:
    """A1: behind thousands of changes, too, where Python 3.13 calls a former ``__getitem__``."""

    class Box:
        def __getitem__(self, at: int) -> int:
            return at

    class Derived(Box):
        pass

    original, box = vars(Box)["__getitem__"], (Derived if inherited else Box)()
    wrong = 0
    for each in range(3_000):
        for _ in range(9):  # often enough for Python to keep the method
            wrong += _item(box, 1) != 1
        bridge.replace_method(Box, "__getitem__", lambda _, at, by=each: -at - by)
        wrong += sum(_item(box, 1) != -1 - each for _ in range(1 + each % 5))
        Box.__getitem__ = original  # type: ignore[method-assign]
    assert wrong == 0


def test_a_method_in_its_place_is_found_as_a_function() -> None:
    """A1: on the class and on an object, as Python gives it."""

    class Box:
        def __getitem__(self, at: int) -> int:
            return at

    def minus(box: object, at: int) -> int:
        return -at

    bridge.replace_method(Box, "__getitem__", minus)
    assert Box.__getitem__ is minus
    assert isinstance(Box().__getitem__, types.MethodType)
    assert Box()[3] == Box().__getitem__(3) == -3


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
