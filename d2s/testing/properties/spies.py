"""Numbers that note what is done with them: evaluation once and in order, as the original (A1).

>>> log = []
>>> x = Spy(2.0, log)
>>> bool(x + 1 > 0)
True
>>> log
['2.0 + 1', '3.0 > 0', 'bool(True)']
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

_BINARY: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv),
    "mod": ("%", operator.mod),
}
_COMPARISONS: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "lt": ("<", operator.lt),
    "le": ("<=", operator.le),
    "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
    "eq": ("==", operator.eq),
    "ne": ("!=", operator.ne),
}


class Spy:
    """A number; what is done with it is written into ``log``, and gives another one.

    Args:
        value: the number.
        log: what has been done, with this number and with what came of it.
    """

    __slots__ = ("log", "value")
    __hash__ = object.__hash__

    def __init__(self, value: Any, log: list[str]) -> None:
        self.value = value
        self.log = log

    def _note(self, what: str, value: Any) -> Spy:
        self.log.append(what)
        return Spy(value, self.log)

    def _cast(self, kind: type) -> Any:
        step = f"{kind.__name__}({self.value})"
        # `if a or b` asks twice by the language reference, and once as CPython compiles it.
        if kind is not bool or self.log[-1:] != [step]:
            self.log.append(step)
        return kind(self.value)

    def __bool__(self) -> bool:
        return bool(self._cast(bool))

    def __float__(self) -> float:
        return float(self._cast(float))

    def __int__(self) -> int:
        return int(self._cast(int))

    def __str__(self) -> str:
        return str(self._cast(str))

    __repr__ = __str__

    def __format__(self, form: str) -> str:
        self.log.append(f"format({self.value}, {form!r})")
        return format(self.value, form)

    def __neg__(self) -> Spy:
        return self._note(f"-{self.value}", -self.value)

    def __abs__(self) -> Spy:
        return self._note(f"abs({self.value})", abs(self.value))


def plain(thing: Any) -> Any:
    """The number of a spy; anything else as it is."""
    return thing.value if isinstance(thing, Spy) else thing


def _binary(sign: str, compute: Callable[[Any, Any], Any]) -> Callable[[Spy, Any], Spy]:
    def method(self: Spy, other: Any) -> Spy:
        value = compute(self.value, plain(other))
        return self._note(f"{self.value} {sign} {plain(other)}", value)

    return method


def _reflected(sign: str, compute: Callable[[Any, Any], Any]) -> Callable[[Spy, Any], Spy]:
    def method(self: Spy, other: Any) -> Spy:
        return self._note(f"{other} {sign} {self.value}", compute(other, self.value))

    return method


for _name, (_sign, _compute) in _BINARY.items():
    setattr(Spy, f"__{_name}__", _binary(_sign, _compute))
    setattr(Spy, f"__r{_name}__", _reflected(_sign, _compute))
for _name, (_sign, _compute) in _COMPARISONS.items():
    setattr(Spy, f"__{_name}__", _binary(_sign, _compute))
