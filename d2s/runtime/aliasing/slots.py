"""Where a value is bound: a closure cell, a global, an attribute, an item of something outside.

Variables are the closure cells of the body functions (decision 0002), or globals; dotted paths
are attributes.
"""

from __future__ import annotations

import collections
import ctypes
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.snapshots import freeze, same_items
from d2s.runtime.trace import error_here
from d2s.runtime.values.fields import Fields, class_fields, missing_attribute, slot_fields, slots_of
from d2s.runtime.values.objects import attribute, defines, dict_of, is_list, on_class
from d2s.runtime.values.tree import is_mapping, is_tuple, like, members, pairs, size
from d2s.runtime.values.unbound import UNBOUND
from d2s.syntax.bytecode import inner_codes


class Slot:
    """One variable or attribute of the state.

    Attributes:
        lasts: what a side has left there stays where the side raises an exception that the run
            takes to its handler, and no handler gets what was there before.
    """

    lasts = False

    def get(self) -> Any:
        """Its value, or ``UNBOUND``."""
        raise NotImplementedError

    def set(self, value: object) -> None:
        """Bind it, or unbind it with ``UNBOUND``."""
        raise NotImplementedError


@dataclass
class Cell(Slot):
    """A variable of the user's function."""

    cell: Any

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:
            return UNBOUND

    def set(self, value: object) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.cell.cell_contents


class InTable(Slot):
    """What stands in a dict under its name."""

    scope: dict[str, Any]
    name: str

    def get(self) -> Any:
        return self.scope.get(self.name, UNBOUND)

    def set(self, value: object) -> None:
        if value is UNBOUND:
            self.scope.pop(self.name, None)
        else:
            self.scope[self.name] = value


@dataclass
class Global(InTable):
    """A global variable of the user's module."""

    scope: dict[str, Any]
    name: str


@dataclass
class Attribute(Slot):
    """An attribute of an object of the user's."""

    owner: Any
    name: str

    def get(self) -> Any:
        if isinstance(self.owner, paddle.nn.Layer):
            if self.name in self.owner._buffers:
                return self.owner._buffers[self.name]
            if self.name in self.owner._parameters and self.name not in vars(self.owner):
                # What stands for it in the program changes; it is the same parameter.
                return self.owner._parameters[self.name]
        return attribute(self.owner, self.name, UNBOUND)

    def set(self, value: object) -> None:
        owner = self.owner
        if isinstance(owner, paddle.nn.Layer) and self.name in owner._buffers:
            owner._buffers[self.name] = value
        elif self._is_parameter(value):
            owner.__dict__.pop(self.name, None)  # what a body has seen in its place
        elif value is UNBOUND:
            if self.get() is not UNBOUND:
                drop = object.__delattr__ if defines(type(owner), "__delattr__") else delattr
                drop(owner, self.name)
        elif isinstance(owner, paddle.nn.Layer) or defines(type(owner), "__setattr__"):
            object.__setattr__(owner, self.name, value)
        else:
            setattr(owner, self.name, value)

    def _is_parameter(self, value: object) -> bool:
        """Whether ``value`` is, or stands for, the parameter that the layer has under the name."""
        if not isinstance(self.owner, paddle.nn.Layer):
            return False
        found = self.owner._parameters.get(self.name)
        if found is None or value is found:
            return found is not None
        return bridge.is_value(value) and bridge.tensor_of(value) is found

    def of_class(self) -> Any:
        """What an object without the attribute has from its class: a constant."""
        found = on_class(type(self.owner), self.name, UNBOUND)
        return found if isinstance(found, int | float | str | bytes | NoneType) else UNBOUND

    def missing_error(self) -> AttributeError:
        """What Python raises when the attribute is read and not there."""
        return missing_attribute(type(self.owner), self.name)


@dataclass
class Field(InTable, Attribute):
    """An attribute as the object's dictionary has it, past properties and ``__setattr__``."""

    scope: dict[str, Any]


@dataclass
class Missing(Slot):
    """A path whose object does not exist (yet); it has nothing to hand on."""

    def get(self) -> Any:
        return UNBOUND

    def set(self, value: object) -> None:
        """Nothing to bind."""


@dataclass
class Held(Slot):
    """A list, dict, set or deque that a callable is called with."""

    value: Any
    path: str

    def get(self) -> Any:
        return self.value

    def set(self, value: object) -> None:
        """It stays what it is.

        Raises:
            ContainerInGraphError: (D2S207) it would have to be another one.
        """
        if not same_items(freeze(value), freeze(self.value)):
            raise error_here(
                ContainerInGraphError,
                f"a {type(self.value).__name__} that a call is given is changed as a tensor "
                "decides, and its length changes",
                "change a list or dict that a variable or an attribute holds",
            )


@dataclass
class Elsewhere(Slot):
    """A variable, attribute or item that was found outside of a body."""

    holder: Any

    def get(self) -> Any:
        try:
            return self.holder.get()
        except (LookupError, TypeError):  # the variable holds something else by now
            return UNBOUND

    def set(self, value: object) -> None:
        if value is not UNBOUND:
            self.holder.set(value)


def slot_key(slot: Slot) -> Any:
    """Equal for two slots of one variable, attribute, or list that a callable is called with."""
    if isinstance(slot, Cell):
        return id(slot.cell)
    if isinstance(slot, Attribute):
        return id(slot.owner), slot.name
    if isinstance(slot, Global):
        return id(slot.scope), slot.name
    if isinstance(slot, Held):
        return id(slot.value), "held"
    return id(slot)


# -- what is found in the frames of functions that are under way -----------------------------------


@dataclass(frozen=True)
class Local:
    """A variable of a function that is under way."""

    frame: types.FrameType
    name: str

    def identity(self) -> tuple[int, Any]:
        return id(owner_of(self.frame, self.name)), self.name

    def get(self) -> Any:
        return self.frame.f_locals[self.name]

    def set(self, value: object) -> None:
        self.frame.f_locals[self.name] = value
        if sys.version_info < (3, 13):
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(self.frame), ctypes.c_int(0))


def owner_of(frame: types.FrameType, name: str) -> types.FrameType:
    """The frame of the function that the variable ``name`` of ``frame`` belongs to."""
    outer = frame.f_back
    while name in frame.f_code.co_freevars and outer is not None:
        names = (*outer.f_code.co_cellvars, *outer.f_code.co_freevars)
        if name in names and any(inner is frame.f_code for inner in inner_codes(outer.f_code)):
            frame = outer
        outer = outer.f_back
    return frame


@dataclass(frozen=True)
class Item:
    """An item of a list or dict, or an attribute in the dict of its object."""

    table: Any
    key: Any

    def identity(self) -> tuple[int, Any]:
        owner = self.table.owner if isinstance(self.table, Fields) else self.table
        return id(owner), self.key

    def get(self) -> Any:
        return self.table[self.key]

    def set(self, value: object) -> None:
        self.table[self.key] = value


@dataclass(frozen=True)
class Fixed:
    """An item of a tuple, whose holder is given another tuple where the item is another one."""

    holder: Somewhere
    key: int

    def identity(self) -> tuple[int, Any]:
        where, name = self.holder.identity()
        return where, (name, self.key)

    def get(self) -> Any:
        return self.holder.get()[self.key]

    def set(self, value: object) -> None:
        held = self.holder.get()
        if is_tuple(held) and self.key < size(held):  # else it holds something else by now
            items = members(held)
            items[self.key] = value
            self.holder.set(like(held, items))


@dataclass(frozen=True)
class Alternative:
    """One of the things that what is bound in a place may be; it stays one of them."""

    holder: Somewhere
    leaf: Any

    def identity(self) -> tuple[int, Any]:
        where, name = self.holder.identity()
        return where, (name, "alternative")

    def get(self) -> Any:
        return self.leaf

    def set(self, value: object) -> None:
        """Nothing: who wants another one there is refused."""


def is_in_alternative(place: Somewhere) -> bool:
    """Whether a place is an item of a tuple that is one of several things."""
    while isinstance(place, Fixed):
        place = place.holder
    return isinstance(place, Alternative)


@dataclass(frozen=True)
class Free:
    """A variable of a function that has ended, which a function made in it goes on with."""

    cell: Any
    name: str

    def identity(self) -> tuple[int, Any]:
        return id(self.cell), self.name

    def get(self) -> Any:
        return Cell(self.cell).get()

    def set(self, value: object) -> None:
        self.cell.cell_contents = value


Somewhere = Local | Item | Fixed | Alternative | Free
"""Where something that a frame leads to is bound."""

_KEY: Final = "[{!r}]"
_ATTRIBUTE: Final = ".{}"


def parts_of(value: Any) -> Iterator[tuple[str, Any, object, Any]]:
    """What is right below a container or object.

    Yields:
        The form of the step of its path, its key, the item, and the table in which it is bound;
        ``None`` for an item of a tuple.
    """
    if is_list(value) or is_mapping(value) or type(value) is collections.deque:
        for key, item in pairs(value):
            yield _KEY, key, item, value
    elif is_tuple(value):
        for index, item in enumerate(members(value)):
            yield _KEY, index, item, None
    elif isinstance(value, types.MethodType):
        yield from parts_of(value.__self__)
    elif isinstance(value, type):
        fields = class_fields(value)
        for key, item in list(fields.items()):
            yield _ATTRIBUTE, key, item, fields
    elif isinstance(value, paddle.nn.Layer):
        tables = (value._parameters, value._buffers, value._sub_layers)
        for table in (*tables, value.__dict__):
            for key, item in list(table.items()):
                if not any(item is other for other in tables):
                    yield _ATTRIBUTE, key, item, table
    else:
        slots = slot_fields(value) if slots_of(type(value)) else {}
        for table in (dict_of(value) or {}, slots):
            for key, item in list(table.items()):
                yield _ATTRIBUTE, key, item, table
