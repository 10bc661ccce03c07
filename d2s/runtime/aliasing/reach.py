"""What can be reached from the variables of a body, and so be changed without being named.

An attribute changes in a method that the body calls; a variable of the function around, in a
nested function.  Each such place is a :class:`Scope`, compared with how it was (:class:`State`).
"""

from __future__ import annotations

import collections
import dis
import functools
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.slots import Cell, Field, Global, Held, Slot
from d2s.runtime.aliasing.snapshots import freeze
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import class_fields, slot_fields, slots_of
from d2s.runtime.values.objects import LAYER_FIELDS, is_user_class, is_user_object
from d2s.runtime.values.tensors import LEAVES
from d2s.runtime.values.tree import PYTHONS, is_mapping, is_mutable, is_sequence, pairs
from d2s.runtime.values.unbound import UNBOUND

REACH: Final = 2000
"""So many objects are looked at for what a body may change."""


_CONTAINERS: Final[tuple[Any, ...]] = ([], (), {}.keys(), {}.values(), {}.items())

_ITERATORS: Final[tuple[type, ...]] = (
    *(type(iter(made)) for made in _CONTAINERS),
    *(type(reversed([])), enumerate, filter, map, zip),
)
"""Iterators of Python's whose ``__reduce__`` tells what they go over, and takes nothing."""


def is_container(value: object) -> bool:
    """Whether ``value`` is, or holds, something whose contents may change."""
    if isinstance(value, Choice):
        return any(map(is_container, (value.true, value.false)))
    if type(value) is tuple:
        return len(value) <= REACH and any(map(is_container, value))
    return is_mutable(value) or hasattr(type(value), "d2s_freeze")


@dataclass
class Scope:
    """Variables or attributes that a body may change without naming them.

    Attributes:
        holder: an object's dictionary, a layer's buffers, some globals; or a cell.
        path: how a reader would write it.
        owner: the object, if they are attributes.
        names: the only ones that count; ``None`` if all do.
        base: snapshots of them as they were.
    """

    holder: Any
    path: str
    owner: Any = None
    names: Iterable[str] | None = None
    base: dict[str, Any] = field(default_factory=dict)

    def slot(self, name: str) -> Slot:
        """One of them."""
        if isinstance(self.holder, types.CellType):
            return Cell(self.holder)
        if self.owner is not None:
            return Field(self.owner, name, self.holder)
        return Global(self.holder, name)

    def get(self, name: str) -> Any:
        """What :meth:`slot` would give."""
        if isinstance(self.holder, types.CellType):
            return Cell(self.holder).get()
        return self.holder.get(name, UNBOUND)

    def keys(self) -> list[str]:
        """Those that are there."""
        if isinstance(self.holder, types.CellType):
            return [self.path]
        if self.names is not None:
            return [name for name in self.names if name in self.holder]
        if isinstance(self.owner, paddle.nn.Layer):
            found = [name for name in self.holder if name not in LAYER_FIELDS]
            if is_user_class(type(self.owner)) or self.holder is self.owner._buffers:
                return found
            return [name for name in found if not _is_plain(self.holder[name])]
        return list(self.holder)

    def path_of(self, name: str) -> str:
        """A name as a reader would write it."""
        return name if self.owner is None else f"{self.path}.{name}"

    def note(self) -> Scope:
        """Take the snapshots."""
        self.base = {name: freeze(self.get(name)) for name in self.keys()}
        return self


@functools.lru_cache(maxsize=4096)
def _stored(code: types.CodeType) -> frozenset[str]:
    """Variables of functions around that ``code``, or a function in it, assigns."""
    found = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("STORE_DEREF", "DELETE_DEREF")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _stored(constant)
    return frozenset(found & set(code.co_freevars))


def _is_plain(value: object) -> bool:
    """Whether ``value`` is nothing of a program and no tensor."""
    return not (
        hasattr(type(value), "d2s_value") or bridge.is_value(value) or bridge.is_eager(value)
    )


@dataclass
class Loose(Scope):
    """What a callable is called with."""

    def slot(self, name: str) -> Slot:
        return Held(self.holder, name)

    def get(self, name: str) -> Any:
        return self.holder

    def keys(self) -> list[str]:
        return [self.path]


class Reach:
    """What can be reached from the variables of some functions."""

    def __init__(self) -> None:
        self.scopes: dict[int, Scope] = {}
        self._seen: dict[int, Any] = {}

    def add(self, path: str, value: object) -> None:
        """Look at ``value`` and at what it holds."""
        queue = collections.deque([(path, value)])
        while queue and len(self._seen) < REACH:
            path, value = queue.popleft()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                queue.extend(self._parts(path, value))

    def hold(self, function: Any) -> None:
        """Look at the items that ``function``, the body of a loop, is given."""
        path = function.__code__.co_varnames[:1] if hasattr(function, "held") else ()
        for name, value in self._held("".join(path), *getattr(function, "held", ())):
            self.add(name, value)

    def _parts(self, path: str, value: object) -> Iterator[tuple[str, Any]]:
        if isinstance(value, PYTHONS):
            yield from _items(path, value)
            if isinstance(value, collections.defaultdict):
                yield path, value.default_factory
            yield from self._attributes(path, value)
        elif isinstance(value, Choice):
            yield path, value.true
            yield path, value.false
        elif isinstance(value, types.FunctionType):
            yield from self._cells(value)
            yield from self._held(path, value.__defaults__, value.__kwdefaults__)
        elif isinstance(value, types.MethodType):
            yield from self._held(path, value.__self__)
            yield path, value.__func__
        elif isinstance(value, functools.partial):
            yield path, value.func
            yield from self._held(path, value.args, value.keywords)
        elif isinstance(value, types.GeneratorType):
            yield from ({} if value.gi_frame is None else value.gi_frame.f_locals).items()
        elif isinstance(value, _ITERATORS):
            yield path, value.__reduce__()[1]
        elif isinstance(value, types.BuiltinMethodType | types.MethodWrapperType):
            yield from self._held(path, value.__self__)
        elif isinstance(value, paddle.nn.Layer):
            for name, layer in value.named_sublayers(include_self=True):
                prefix = f"{path}.{name}" if name else path
                self._note(Scope(layer._buffers, prefix, layer))
                if is_user_class(type(layer)):
                    yield from self._fields(prefix, layer)
        else:
            yield from self._attributes(path, value)

    def _attributes(self, path: str, value: object) -> Iterator[tuple[str, Any]]:
        if slots_of(type(value)):
            fields = slot_fields(value)
            self._note(Scope(fields, path, value))
            yield from ((f"{path}.{name}", item) for name, item in fields.items())
        if is_user_object(value):
            yield from self._fields(path, value)
        kind = value if isinstance(value, type) else type(value)
        if "<locals>" in kind.__qualname__ and is_user_class(kind):  # others are watched
            for base in filter(is_user_class, kind.__mro__):
                held = class_fields(base)
                self._note(Scope(held, base.__name__, base))
                yield from ((f"{base.__name__}.{name}", item) for name, item in held.items())

    def _fields(self, path: str, owner: object) -> Iterator[tuple[str, Any]]:
        scope = self._note(Scope(owner.__dict__, path, owner))
        names = scope.keys()
        for name in names:
            yield f"{path}.{name}", owner.__dict__[name]

    def _cells(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = Cell(cell).get()
            if name in _stored(code) or is_container(value):
                self._note(Scope(cell, name))
            yield name, value

    def _held(self, path: str, *held: object) -> Iterator[tuple[str, Any]]:
        """What a callable is called with; a container there need have no name."""
        for value in held:
            if type(value) is tuple:
                yield from self._held(path, *value)
            elif is_container(value):
                self._note(Loose(value, path))
                yield from self._parts(path, value)
            else:
                yield path, value

    def found(self) -> dict[int, Scope]:
        """Where to look for changes: containers that a variable leads to are seen there."""
        return {
            key: scope
            for key, scope in self.scopes.items()
            if not (isinstance(scope, Loose) and key in self._seen)
        }

    def _note(self, scope: Scope) -> Scope:
        return self.scopes.setdefault(id(scope.holder), scope)


def _items(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """The items of a container that hold something."""
    if is_sequence(value) or is_mapping(value):
        for key, item in pairs(value)[:REACH]:
            if type(item) not in LEAVES:
                yield f"{path}[{key!r}]", item


def comes_to(code: Iterable[object], thing: object) -> bool:
    """Whether some functions can reach ``thing``."""
    reach = Reach()
    for function in code:
        reach.add("code", function)
    return reach._seen.get(id(thing)) is thing
