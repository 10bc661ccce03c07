"""What a value may be, as far as the text tells.

>>> join(Value(Kind.TENSOR), Value(Kind.PLAIN)).kind.name
'TENSOR'
>>> join(Value(Kind.UNKNOWN), Value(Kind.TENSOR)).kind.name
'UNKNOWN'
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final


class Kind(enum.Enum):
    """The kinds of values that the rules tell apart."""

    UNKNOWN = enum.auto()
    PLAIN = enum.auto()  # of Python's, and known while the function is captured
    TENSOR = enum.auto()
    NUMBER = enum.auto()  # of Python's in dygraph, decided by the run: x.item(), int(x)
    TEXT = enum.auto()  # with tensors in it
    ARRAY = enum.auto()  # NumPy's, made from a tensor
    MANY = enum.auto()  # a list, tuple or deque
    TABLE = enum.auto()  # a dict
    SET = enum.auto()
    ITERATOR = enum.auto()
    NAMED = enum.auto()  # something of another module, by its dotted name
    FUNCTION = enum.auto()  # of this file
    CLASS = enum.auto()  # of this file
    OBJECT = enum.auto()  # of a class of this file
    LAYER = enum.auto()  # of Paddle
    OPTIMIZER = enum.auto()
    FILE = enum.auto()  # open


@dataclass(frozen=True)
class Value:
    """One value.

    Attributes:
        kind: what it is.
        item: what its items are.
        name: the dotted name of something of another module; what is known of a tensor.
        home: the function or class of this file, or the class of an object.
    """

    kind: Kind
    item: Value | None = None
    name: str = ""
    home: Any = field(default=None, compare=False)

    @property
    def decided(self) -> bool:
        """Whether the run decides it."""
        return self.kind in _DECIDED

    @property
    def holds_decided(self) -> bool:
        """Whether the run decides it, or something in it."""
        return self.decided or (self.item is not None and self.item.holds_decided)


_DECIDED: Final = frozenset((Kind.TENSOR, Kind.NUMBER, Kind.ARRAY))

UNKNOWN: Final = Value(Kind.UNKNOWN)
PLAIN: Final = Value(Kind.PLAIN)
TENSOR: Final = Value(Kind.TENSOR)
NUMBER: Final = Value(Kind.NUMBER)
TEXT: Final = Value(Kind.TEXT)
ARRAY: Final = Value(Kind.ARRAY)
TENSORS: Final = Value(Kind.MANY, TENSOR)
VECTOR: Final = Value(Kind.TENSOR, name="vector")
"""A tensor that is certain to have more than one element."""


def join(one: Value, other: Value) -> Value:
    """What a value is that may be one or the other."""
    if one.kind is other.kind:
        if one.kind is Kind.TENSOR and one.name != other.name:
            return TENSOR
        if one.name != other.name or one.home is not other.home:
            return UNKNOWN
        if one.item is None or other.item is None:
            return one if other.item is None else other
        return replace(one, item=join(one.item, other.item))
    kinds = {one.kind, other.kind}
    if Kind.UNKNOWN in kinds:
        return UNKNOWN
    for kind in (Kind.TENSOR, Kind.NUMBER):
        if kind in kinds and kinds <= {Kind.TENSOR, Kind.NUMBER, Kind.PLAIN}:
            return Value(kind)
    if Kind.PLAIN in kinds:  # None, or an empty one
        return other if one.kind is Kind.PLAIN else one
    return UNKNOWN


def together(values: Iterable[Value]) -> Value:
    """What an item of several may be; plain when there is none."""
    found: Value | None = None
    for value in values:
        found = value if found is None else join(found, value)
    return PLAIN if found is None else found


ITERABLE: Final = (Kind.MANY, Kind.SET, Kind.ITERATOR)
"""Kinds of what is iterated item by item."""


def item_of(value: Value) -> Value:
    """What an item of a value is, or what iterating gives."""
    if value.kind is Kind.TENSOR:
        return TENSOR
    if value.kind is Kind.ARRAY:
        return NUMBER
    if value.kind in ITERABLE and value.item is not None:
        return value.item
    return PLAIN if value.kind is Kind.PLAIN else UNKNOWN
