"""What a text of the run is asked: its truth, its length, what it begins with (rule E5).

The host makes the text on the run, asks it, and the answer is a number of the program::

    if "+".join(names): ...          ->   a bool of the run decides the branch
    float(f"{loss:.4f}")             ->   a number of the run

A part that is never empty, such as a number, makes a text true without that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from d2s.runtime.host.shipment import Shipment
from d2s.runtime.host.text import HostText
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import check_uncaught, host_values
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import NUMBER_DTYPES, is_tensor, mark_number, number_kind


def asked(answer: Callable[..., Any], kind: type, *given: object) -> Any:
    """The bool, int or float that ``answer(*given)`` is on the run, with texts in place."""
    shipment = Shipment()
    filled = shipment.pack(list(given))
    name = answer.__name__
    name = f"str.{name}" if hasattr(str, name) else name
    (made,) = host_values(
        lambda *values: [answer(*filled(values))],
        shipment.values,
        [([], NUMBER_DTYPES[kind])],
        name,
    )
    return mark_number(made, kind)


def characters(text: HostText) -> tuple[Any, Callable[[Any], HostText]]:
    """How many characters ``text`` has on the run, and what gives the one at a position."""
    shipment = Shipment()
    filled = shipment.pack(text)
    (codes,) = host_values(
        lambda *values: [np.array([*map(ord, filled(values))], "int64")],
        shipment.values,
        [([-1], "int64")],
        "the characters of a text",
    )
    length = mark_number(paddle.shape(codes)[0].astype("int64"), int)
    return length, lambda place: HostText(((mark_number(codes[place], int), None, "c"),))


def _is_open(text: HostText) -> bool:
    """Whether only the host can ask ``text``: not for what it alone can make of a tensor."""
    return type(text) is HostText and current() is not None


def _is_sure(part: str | tuple[Any, Any, Any]) -> bool:
    """Whether a part of a text is never empty."""
    if isinstance(part, str):
        return part != ""
    value, conversion, spec = part
    if conversion in ("r", "a"):
        return True
    if isinstance(value, HostText) and conversion in (None, "s") and spec == "":
        return any(map(_is_sure, value.parts))
    shows = is_tensor(value) or number_kind(value) is not None
    return shows and conversion in (None, "s") and isinstance(spec, str)


def _condition(self: HostText) -> Any:
    if not _is_open(self):
        return bool(str(self))
    return True if any(map(_is_sure, self.parts)) else asked(bool, bool, self)


def _len(self: HostText) -> Any:
    return asked(len, int, self) if _is_open(self) else len(str(self))


def _number(self: HostText, kind: type, *others: object) -> Any:
    """``int(text)`` and ``float(text)``."""
    if not _is_open(self):
        return kind(str(self), *others)
    check_uncaught(ValueError)  # of a text that is no number
    return asked(kind, kind, self, *others)


def _compared(operate: Callable[[Any, Any], Any]) -> Callable[[Any, object], Any]:
    def compare(self: HostText, other: object) -> Any:
        if self is other:
            return operate(0, 0)
        if isinstance(other, Choice) or not isinstance(other, str | HostText):
            return NotImplemented
        return asked(operate, bool, self, other) if _is_open(self) else operate(str(self), other)

    return compare


def _contains(self: HostText, item: object) -> Any:
    if not _is_open(self) or not isinstance(item, str | HostText | Choice):
        return item in str(self)  # type: ignore[operator]  # the error is Python's
    return asked(operator.contains, bool, self, item)


def is_in_text(item: HostText, text: str) -> Any:
    """``item in text``."""
    return asked(operator.contains, bool, text, item)


def _method(name: str, kind: type) -> Callable[..., Any]:
    def ask(text: str, *arguments: object) -> Any:
        return getattr(text, name)(*arguments)

    def method(self: HostText, *arguments: object) -> Any:
        if not _is_open(self):
            return ask(str(self), *arguments)
        return asked(ask, kind, self, *arguments)

    ask.__name__ = method.__name__ = name
    return method


_ASKED: dict[str, Any] = {
    "d2s_condition": _condition,
    "d2s_len": _len,
    "d2s_number": _number,
    "__contains__": _contains,
    **{
        f"__{name}__": _compared(getattr(operator, name))
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    **{name: _method(name, int) for name in ("count", "find", "rfind")},
    **{
        name: _method(name, bool)
        for name in (
            "startswith", "endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
            "islower", "isnumeric", "isspace", "istitle", "isupper",
        )
    },
}  # fmt: skip

for _name, _function in _ASKED.items():
    setattr(HostText, _name, _function)
