"""G2: an object that has got the ``id`` of one that is gone is another one.

CPython gives the memory of an object to the next one of its size, so what is remembered of an
object by its ``id`` alone is soon said of another one.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import queue
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.program.keys.numbering import Numbering
from d2s.program.state.opaque import Opaque
from d2s.program.state.process import SETTINGS
from d2s.runtime.trace import Capture
from tests.helpers import tensor


def at_once(number: int, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, with the ``id`` ``number`` if that is free."""
    others = [make()]
    while id(others[-1]) != number and len(others) < 1000:
        others.append(make())
    return others[-1]


NUMBERS = np.array([1.5, 2.5], dtype=object)


def times(x: Any) -> Any:
    return x * NUMBERS[0]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.filterwarnings("ignore::d2s.errors.ManyProgramsWarning")
def test_items_of_an_array_of_objects(whole: bool) -> None:
    """G2: a float that is put into the array, where an earlier one has been."""
    static = d2s.to_static(times, full_graph=whole)
    for each in range(20):
        NUMBERS[0] = each + 0.25
        assert static(tensor(1.0)).tolist() == [each + 0.25]


class Plus(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x + 1


class Times(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * 3


class Holds(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.act = Plus()

    def forward(self, x: Any) -> Any:
        return self.act(x)


class HoldsSeveral(Holds):
    def __init__(self) -> None:
        super().__init__()
        self.act = paddle.nn.Sequential(Plus())


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", [Holds, HoldsSeveral])
def test_layers_in_the_place_of_others(kind: type, whole: bool) -> None:
    """G2: a layer that is put into another one, which has had a program with an earlier one."""
    net = kind()
    static = d2s.to_static(net, full_graph=whole)

    def put(layer: Any) -> None:
        if kind is Holds:
            net.act = layer
        else:
            net.act[0] = layer

    x = tensor(-1.0, 2.0)
    assert static(x).tolist() == [0.0, 3.0]
    number = id(net.act if kind is Holds else net.act[0])
    put(paddle.nn.Identity())
    assert static(x).tolist() == [-1.0, 2.0]
    gc.collect()
    put(at_once(number, Times))
    assert static(x).tolist() == [-3.0, 6.0]


def test_numbers_of_layers_keep_none_alive() -> None:
    """G2: what a number was given to goes, and its entry with it."""
    numbering, layer = Numbering(), paddle.nn.ReLU()
    assert numbering.number(layer) == numbering.number(layer) == 0
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    assert numbering._known == {}


SETTING: contextvars.ContextVar[object] = contextvars.ContextVar("setting")


def items_of_a_queue() -> Iterator[Any]:
    held: queue.Queue[object] = queue.Queue()
    held.put(object())
    yield held
    number = id(held.get())
    held.put(at_once(number, object))


def items_of_an_array() -> Iterator[Any]:
    held = np.array([object(), None])
    yield held
    number = id(held[0])
    held[0] = None
    held[0] = at_once(number, object)


def a_context_variable() -> Iterator[Any]:
    SETTING.set(object())
    yield next(each for each in SETTINGS if "contextvars" in each.name)
    number = id(SETTING.get())
    SETTING.set(None)
    SETTING.set(at_once(number, object))


@pytest.mark.parametrize("change", [items_of_a_queue, items_of_an_array, a_context_variable])
def test_changes_that_only_python_makes(change: Callable[[], Iterator[Any]]) -> None:
    """F3: what is taken out, and another thing put in: that is seen, whatever its ``id``."""

    def changed() -> list[str]:
        opaque, steps = Opaque(), change()
        opaque.add(next(steps), "held")
        assert next(steps, None) is None
        return [path for _, path in opaque.changed()]

    assert contextvars.copy_context().run(changed) == ["held"]


def test_exceptions_that_have_left_a_branch() -> None:
    """A1: an exception of later is not taken for one that has left a branch with its values."""
    capture: Any = Capture(types.SimpleNamespace())  # type: ignore[arg-type]
    dropped: Any = types.SimpleNamespace(drop=list)
    for _ in range(50):
        error = ValueError()
        assert id(error) not in capture.over
        with contextlib.suppress(ValueError):
            try:
                raise error
            finally:
                capture.drop(dropped)
        del error


class Model:
    factor = 2.0


def through(function: Any, x: Any) -> Any:
    return function(x + 1) * 2


@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_closures_that_were_called_go() -> None:
    """H1: what is kept of a closure that is not one program is gone with it."""
    static = d2s.to_static(through, full_graph=False)

    def called() -> Any:
        model = Model()

        def inner(x: Any) -> Any:
            y = (x * 2 + 1).exp().sin()
            y = y * len(y.numpy().tobytes()) + y
            return y.exp() * model.factor

        for value in (1.0, 2.0):
            x = tensor(value)
            assert static(inner, x).tolist() == through(inner, x).tolist()
        return weakref.ref(model)

    gone = called(), called()
    gc.collect()
    assert [each() for each in gone] == [None, None]
