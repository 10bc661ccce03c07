"""Python's operators for a class that treats all of them in one way."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

Operation = Callable[..., Any]
"""An operator as a function, of one or two operands."""

_ARITHMETIC: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
    "and_", "or_", "xor", "lshift", "rshift",
)  # fmt: skip
_COMPARISONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
_ALONE: Final = ("neg", "pos", "invert", "abs")


class Operators:
    """Every operator is :meth:`_operate`, or :meth:`_operate_alone` of one operand."""

    __slots__ = ()

    def _operate(self, function: Operation, other: object, *, swapped: bool) -> object:
        """``function(self, other)``, or ``function(other, self)`` where these are swapped."""
        raise NotImplementedError

    def _operate_alone(self, function: Operation) -> object:
        """``function(self)``."""
        raise NotImplementedError


def _binary(function: Operation, *, swapped: bool = False) -> Callable[[Operators, object], object]:
    return lambda self, other: self._operate(function, other, swapped=swapped)


def _unary(function: Operation) -> Callable[[Operators], object]:
    return lambda self: self._operate_alone(function)


for _name in _ARITHMETIC:
    _function = getattr(operator, _name)
    setattr(Operators, f"__{_name.strip('_')}__", _binary(_function))
    setattr(Operators, f"__r{_name.strip('_')}__", _binary(_function, swapped=True))
for _name in _COMPARISONS:
    setattr(Operators, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in _ALONE:
    setattr(Operators, f"__{_name}__", _unary(getattr(operator, _name)))
