"""What arithmetic of values makes: a Python number of Python numbers, else a tensor (rule B3).

Where a value is a number on some paths and a tensor on the others, so is what is computed of it.

    i + 1                              ->    a Python number, if ``i`` is one
    y = 1.0 if flag else x;  y * 3     ->    a tensor, and a number where the flag holds
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.runtime.python import casts
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.mixed import Mixed, as_mixed, note_mixed, number_as_value
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, mark_number, number_kind


def propagate_numbers(operands: tuple[Any, ...], name: str, result: Any) -> Any:
    """Arithmetic among Python numbers gives a Python number: ``i + 1``, ``i < n``."""
    made = _propagated(operands, name, result)
    state = current()
    if state is not None and state.shadow is not None and number_kind(made) is not None:
        state.shadow(name, operands, made)
    return made


def _propagated(operands: tuple[Any, ...], name: str, result: Any) -> Any:
    operands = tuple(
        operand.get(check=False) if isinstance(operand, Choice) and operand.single else operand
        for operand in operands
    )
    kinds = [number_kind(operand) for operand in operands]
    if name in ("__floordiv__", "__rfloordiv__") and len(set(kinds)) == 2 and None in kinds:
        # In dygraph Paddle gives a 0-D tensor over a number the shape [1].
        result = paddle.reshape(result, [1]) if not list(result.shape) else result
    if not bridge.is_value(result):
        return result
    if kinds == [bool] and (name == "__neg__" or (name == "__invert__" and _is_users())):
        return getattr(casts.to_number(operands[0], int), name)()
    if kinds == [float] and name == "__neg__":  # Paddle adds a zero, which makes 0.0 of -0.0
        return mark_number(paddle.multiply(as_value(operands[0]), casts.wide(-1.0)), float)
    if any(kind is None for kind in kinds):
        return _on_some_paths(operands, name, result)
    if name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        return mark_number(result, bool)
    if name in ("__truediv__", "__rtruediv__") and float not in kinds:
        left, right = (paddle.cast(as_value(operand), "float64") for operand in operands)
        return mark_number(left / right if name == "__truediv__" else right / left, float)
    if name in ("__pow__", "__rpow__") and float not in kinds:
        return casts.power(*(operands if name == "__pow__" else reversed(operands)))
    dtype = str(result.dtype)
    kind = bool if "bool" in dtype else float if "float" in dtype else int
    return mark_number(result, kind)


def _is_users() -> bool:
    """Whether the user's code has written the operator; ours negates flags with ``~``."""
    return not is_ours(sys._getframe(4).f_code.co_filename)


def _on_some_paths(operands: tuple[Any, ...], name: str, result: Any) -> Any:
    """``result``, noted as a Python number on the paths where every operand is one."""
    state = current()
    if state is None or not state.notes.sometimes:
        return result
    found = [as_mixed(operand) for operand in operands]
    known = [each for each in found if each is not None]
    made = _kind_of_result(name, [each.kind for each in known])
    if len(known) < len(found) or made is None:
        return result
    floor = name in ("__floordiv__", "__rfloordiv__")  # of another shape than the tensor
    for each in known:
        if each.asked is not None:
            if floor:
                raise each.asked()
            return note_mixed(result, Mixed(None, made(0), each.asked))
    flags = {id(each.flag): each.flag for each in known if each.flag is not True}
    flag = functools.reduce(operator.and_, flags.values())
    numbers = (number_as_value(each.number) for each in known)
    if name in _RAISING:
        numbers = (_or_one(flag, number) for number in numbers)
    first, *others = numbers
    number = getattr(first, name)(*others)
    return Choice(flag, number, result) if floor else note_mixed(result, Mixed(flag, number))


_RAISING: Final = frozenset(
    f"__{swapped}{name}__"
    for name in ("truediv", "floordiv", "mod", "pow", "lshift", "rshift")
    for swapped in ("", "r")
)
"""Operators that raise for some numbers."""


def _or_one(flag: Any, number: paddle.Tensor) -> paddle.Tensor:
    """``number`` where it is one: ``1 / total`` of a tensor must not raise for the number 0."""
    return mark_number(
        paddle.where(flag, number, paddle.ones_like(number)), number_kind(number) or int
    )


def _kind_of_result(name: str, kinds: list[type]) -> type | None:
    """The type of a Python number that an operator gives for such numbers, if it gives one."""
    samples = [kind(1) for kind in kinds]
    compute = getattr(operator, name, None)
    if compute is None:
        compute = getattr(operator, name.replace("__r", "__", 1))
        samples.reverse()
    try:
        made = type(compute(*samples))
    except TypeError:
        return None
    return made if made in NUMBER_DTYPES else None
