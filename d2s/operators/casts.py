"""Built-in functions on tensors of a program mean what they mean in dygraph (rule E1).

``int``, ``float``, ``bool`` and ``len`` of a tensor give a 0-D value that stands for a Python
number: 64 bits wide, weak beside tensors, a Python number again when it leaves the function.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ConditionError
from d2s.operators.branches import select
from d2s.operators.context import current, error_here
from d2s.operators.either import Either
from d2s.operators.iteration import Indexed, items_of
from d2s.operators.lists import GrowingList
from d2s.operators.logic import and_, or_
from d2s.operators.values import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    condition,
    is_tensor,
    mark_number,
    number_kind,
)


def _number(value: Any, kind: type) -> Any:
    """A tensor of one element as a 0-D value that stands for a Python number."""
    value = as_value(value)
    if any(size > 1 for size in value.shape):
        raise error_here(
            ConditionError,
            f"{kind.__name__}() of a tensor of shape {list(value.shape)}, which needs one element",
            "take one element of it",
        )
    if value.dtype != as_dtype(NUMBER_DTYPES[kind]):
        value = paddle.cast(value, NUMBER_DTYPES[kind])
    elif not list(value.shape):
        value = paddle.assign(value)
    if list(value.shape):
        value = paddle.reshape(value, [])
    value.stop_gradient = True
    return mark_number(value, kind)


def _cast(kind: type) -> Any:
    def cast(thing: Any = 0, *others: Any, **options: Any) -> Any:
        if isinstance(thing, Either):
            thing = thing.get()
        if current() is not None and is_tensor(thing) and not others and not options:
            return _number(thing, kind)
        return kind(thing, *others, **options)

    cast.__name__ = cast.__qualname__ = kind.__name__
    return cast


int_ = _cast(int)
float_ = _cast(float)


def bool_(thing: Any = False) -> Any:
    """``bool``."""
    test = condition(thing)
    if bridge.is_value(test):
        return mark_number(paddle.assign(test), bool)
    return bool(test)


def len_(thing: Any) -> Any:
    """``len``: an int where the dimension is known, else a 0-D value that stands for one."""
    if isinstance(thing, Either):
        thing = thing.get()
    if isinstance(thing, GrowingList):
        return thing.d2s_len()
    if isinstance(thing, Indexed):
        return thing.length
    if current() is None or not is_tensor(thing):
        return len(thing)
    if not list(thing.shape):
        raise TypeError("len() of a 0-D tensor")
    if thing.shape[0] >= 0:
        return int(thing.shape[0])
    return mark_number(paddle.shape(thing)[0].astype("int64"), int)


def isinstance_(thing: Any, kinds: Any) -> Any:
    """``isinstance``: a value counts as a tensor, or as the Python number it stands for."""
    if isinstance(thing, Either):
        answer = thing.holds(lambda side: isinstance_(side, kinds))
        return answer if isinstance(answer, bool) else mark_number(answer, bool)
    if isinstance(thing, GrowingList):
        return isinstance([], kinds)
    if bridge.is_value(thing):
        kind = number_kind(thing)
        if kind is not None:
            return isinstance(kind(), kinds)
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(
            item is paddle.Tensor or item is bridge.EagerTensor or item is bridge.Value
            for item in wanted
        ) or isinstance(thing, kinds)
    return isinstance(thing, kinds)


def _kept(operand: Any) -> Callable[[], Any]:
    return lambda: operand


def _fold(things: tuple[Any, ...]) -> list[Any]:
    """The operands of ``max``/``min``: the arguments, or the items of the one iterable."""
    return list(items_of(things[0])) if len(things) == 1 else list(things)


def _extreme(name: str) -> Any:
    original = getattr(builtins, name)

    def extreme(*things: Any, **options: Any) -> Any:
        if current() is None or options:
            return original(*things, **options)
        if len(things) == 1 and isinstance(things[0], GrowingList):
            stacked = things[0].stacked()
            return stacked.max(0) if name == "max" else stacked.min(0)
        items = _fold(things)
        if not any(bridge.is_value(item) for item in items):
            return original(*things)
        best = items[0]
        for item in items[1:]:
            better = condition(item > best if name == "max" else item < best)
            if bridge.is_value(better):
                best = select(better, _kept(item), _kept(best))
            elif better:
                best = item
        return best

    extreme.__name__ = extreme.__qualname__ = name
    return extreme


max_ = _extreme("max")
min_ = _extreme("min")


def sum_(things: Any, start: Any = 0) -> Any:
    """``sum``."""
    if isinstance(things, GrowingList):
        return things.stacked().sum(0) + start
    if current() is None:
        return sum(things, start)
    total = start
    for item in items_of(things):
        total = total + item
    return total


def any_(things: Any) -> Any:
    """``any``: stops at the first item that is true."""
    found: Any = False
    for item in items_of(things):
        if not bridge.is_value(found) and found:
            return True
        found = or_(found, _kept(bool_(item)))
    return found if bridge.is_value(found) else bool(found)


def all_(things: Any) -> Any:
    """``all``: stops at the first item that is false."""
    holds: Any = True
    for item in items_of(things):
        if not bridge.is_value(holds) and not holds:
            return False
        holds = and_(holds, _kept(bool_(item)))
    return holds if bridge.is_value(holds) else bool(holds)


def abs_(thing: Any) -> Any:
    """``abs``."""
    kind = number_kind(thing)
    if kind is not None and bridge.is_value(thing):
        return mark_number(paddle.abs(thing), kind)
    return abs(thing)
