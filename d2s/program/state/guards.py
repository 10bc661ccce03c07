"""What a program relies on: a place, and what must be found there (rule G2)."""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.program.keys.call_key import Identity
from d2s.program.keys.numbering import LAYERS
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    SCALARS,
    Found,
    Place,
)
from d2s.runtime.values import tree


@dataclass
class Guard:
    """Something that a program relies on.

    Attributes:
        place: where.
        test: tells of what is there now.
        expected: what it must tell.
        value: what was there, for a scalar.
    """

    place: Place
    test: Callable[[Any], Any]
    expected: Any
    value: Any = field(default=ABSENT)

    def holds(self, seen: Found | None = None) -> bool:
        """Whether it is so.

        Args:
            seen: what has been read of places a moment ago.
        """
        now = self.place.get() if seen is None else seen.at(self.place)
        if now is self.value and now is not ABSENT:
            return True
        return bool(self.test(now) == self.expected)


def is_plain(guard: Guard) -> bool:
    """Whether the guard holds for certain while the same object, of this length, stands there."""
    return guard.test in SIMPLE or guard.test is form


def scalar(value: Any) -> Any:
    """A Python value and its type; zeros by their sign, all that are not numbers alike."""
    if type(value) is float:
        return (float, repr(value))
    return (type(value), value) if isinstance(value, SCALARS) else (type(value), None)


def kind_of_tensor(value: Any) -> Any:
    """What a program depends on of a tensor."""
    if not bridge.is_eager(value):
        return None
    return (str(value.dtype), tuple(value.shape), bool(value.stop_gradient))


BUFFERS: Final = (bytearray, array.array)


def contents_of(value: Any) -> Any:
    """What is in an array now, as something that can be compared and stays as it is."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return (value.shape, tuple(map(Identity, value.flat)))
        return (value.dtype, value.shape, value.tobytes())
    return (type(value), bytes(value)) if isinstance(value, BUFFERS) else None


def numbers_in(tensor: Any) -> Any:
    """The contents of a tensor, as an array that stays as it is."""
    return np.array(tensor.numpy())


def form(value: Any) -> Any:
    """The type and length of a container, the keys of a dict."""
    if tree.is_mapping(value):
        return (type(value), keys_in(value))
    return (type(value), len(value)) if isinstance(value, (*CONTAINERS, tuple)) else None


def keys_in(table: Any) -> tuple[Any, ...]:
    """The keys of a dict, as something that can be compared: tensors by their identity."""
    return tuple(Identity(key) if bridge.is_eager(key) else key for key in table)


def modes(value: Any) -> Any:
    """The layers below a layer, and whether each is in train mode."""
    if not isinstance(value, paddle.nn.Layer):
        return None
    layers = value.sublayers(include_self=True)
    return [(LAYERS.number(layer), layer.training) for layer in layers]


def same_constant_now(value: Any) -> Any:
    """The test of a guard on a constant that something tells."""
    return value


def constant(value: Any) -> Any:
    """What tells a constant, or a tuple of constants, from others."""
    if type(value) is tuple:
        return tuple(constant(item) for item in value)
    return scalar(value)


def equal(value: Any) -> Any:
    """What is equal for equal objects of one type: members of an ``Enum``, functions, ranges."""
    return (type(value), value)


SIMPLE: Final = (Identity, constant, equal)
"""Tests that tell the same of the same object, whatever becomes of it."""


@dataclass(frozen=True, eq=False)
class SameAs:
    """Whether what is asked about is the object that stands at another place.

    Attributes:
        place: the other place.
    """

    place: Place

    def __call__(self, value: Any) -> bool:
        return value is self.place.get()


def members(value: Any) -> Any:
    """The constants and tensors in a set."""
    if not isinstance(value, set):
        return None
    return {Identity(item) if bridge.is_eager(item) else scalar(item) for item in value}


def is_constant(value: object) -> bool:
    """Whether ``value`` is a Python constant, or a tuple of such."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return isinstance(value, SCALARS)
