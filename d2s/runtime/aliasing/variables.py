"""The state that a branch or loop body shares with the code around it, read and written by name.

Variables are the closure cells of the body functions (decision 0002), or globals; dotted paths
are attributes.  A frozen snapshot also holds the contents of lists, dicts and sets, so that a
side that changes them in place can be undone before the other side is captured.

A body may also change what it does not name: an attribute, in a method that it calls; a variable
of the function around, in a nested function.  What can be reached from the variables of the body,
and what is watched of the state outside, is compared with how it was; what has changed joins the
state then.
"""

from __future__ import annotations

import collections
import dis
import functools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_computed, slot_fields, slots_of
from d2s.runtime.values.objects import (
    LAYER_FIELDS,
    attribute,
    defines,
    is_list,
    is_user_class,
    is_user_object,
)
from d2s.runtime.values.tree import members, pairs, refill
from d2s.runtime.values.unbound import UNBOUND

REACH: Final = 2000
"""So many objects are looked at for what a body may change."""


class Slot:
    """One variable or attribute of the state."""

    def get(self) -> Any:
        """Its value, or ``UNBOUND``."""
        raise NotImplementedError

    def set(self, value: Any) -> None:
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

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.cell.cell_contents = value
        elif self.get() is not UNBOUND:
            del self.cell.cell_contents


@dataclass
class Global(Slot):
    """A global variable of the user's module."""

    scope: dict[str, Any]
    name: str

    def get(self) -> Any:
        return self.scope.get(self.name, UNBOUND)

    def set(self, value: Any) -> None:
        if value is UNBOUND:
            self.scope.pop(self.name, None)
        else:
            self.scope[self.name] = value


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

    def set(self, value: Any) -> None:
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

    def _is_parameter(self, value: Any) -> bool:
        """Whether ``value`` is, or stands for, the parameter that the layer has under the name."""
        if not isinstance(self.owner, paddle.nn.Layer):
            return False
        found = self.owner._parameters.get(self.name)
        if found is None or value is found:
            return found is not None
        return bridge.is_value(value) and bridge.tensor_of(value) is found

    def missing_error(self) -> AttributeError:
        """What Python raises when the attribute is read and not there."""
        return AttributeError(
            f"{type(self.owner).__name__!r} object has no attribute {self.name!r}"
        )


@dataclass
class Field(Attribute):
    """An attribute as the object's dictionary has it, past properties and ``__setattr__``."""

    scope: dict[str, Any]

    def get(self) -> Any:
        return self.scope.get(self.name, UNBOUND)

    def set(self, value: Any) -> None:
        if value is UNBOUND:
            self.scope.pop(self.name, None)
        else:
            self.scope[self.name] = value


@dataclass
class Missing(Slot):
    """A path whose object does not exist (yet); it has nothing to hand on."""

    def get(self) -> Any:
        return UNBOUND

    def set(self, value: Any) -> None:
        """Nothing to bind."""


@dataclass
class Elsewhere(Slot):
    """A variable, attribute or item that was found outside of a body."""

    holder: Any

    def get(self) -> Any:
        try:
            return self.holder.get()
        except LookupError:
            return UNBOUND

    def set(self, value: Any) -> None:
        if value is not UNBOUND:
            self.holder.set(value)


@dataclass(frozen=True)
class Frozen:
    """A container and what it held when the snapshot was taken.

    Attributes:
        container: the list, dict or set itself, for its identity.
        items: frozen items of a list; ``(key, frozen value)`` pairs of a dict; a set's members.
    """

    container: Any
    items: tuple[Any, ...]


def freeze(value: Any, depth: int = 0) -> Any:
    """A snapshot of ``value``: containers inside become :class:`Frozen`."""
    if depth > 20:
        return value
    if is_list(value) or isinstance(value, collections.deque):
        return Frozen(value, tuple(freeze(item, depth + 1) for item in members(value)))
    if isinstance(value, dict):
        return Frozen(value, tuple((key, freeze(item, depth + 1)) for key, item in pairs(value)))
    if isinstance(value, set):
        return Frozen(value, tuple(members(value)))
    if isinstance(value, Choice):
        sides = freeze(value.true, depth + 1), freeze(value.false, depth + 1)
        if sides[0] is value.true and sides[1] is value.false:
            return value
        return value.like(*sides)
    if type(value) is tuple:
        parts = tuple(freeze(item, depth + 1) for item in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if hasattr(type(value), "d2s_freeze"):
        return Frozen(value, value.d2s_freeze())
    return value


def frozen(container: Any, held: Any) -> Frozen:
    """A snapshot of ``container`` when it held the entries of ``held``."""
    pairs = isinstance(held, dict)
    parts = [(key, freeze(item)) for key, item in held.items()] if pairs else map(freeze, held)
    return Frozen(container, tuple(parts))


def thaw(snapshot: Any) -> Any:
    """The value of a snapshot, its containers holding again what they held."""
    if isinstance(snapshot, Frozen):
        container, held = snapshot.container, snapshot.items
        if hasattr(type(container), "d2s_thaw"):
            container.d2s_thaw(held)
        elif isinstance(container, list | collections.deque):
            refill(container, [thaw(item) for item in held])
        elif isinstance(container, dict):
            refill(container, {key: thaw(item) for key, item in held})
        else:
            refill(container, held)
        return container
    if type(snapshot) is tuple:
        return tuple(thaw(item) for item in snapshot)
    if isinstance(snapshot, Choice):
        sides = thaw(snapshot.true), thaw(snapshot.false)
        if sides[0] is snapshot.true and sides[1] is snapshot.false:
            return snapshot
        return snapshot.like(*sides)
    return snapshot


def same_items(one: Any, other: Any) -> bool:
    """Whether two snapshots show the same objects, one by one."""
    if isinstance(one, Frozen) and isinstance(other, Frozen):
        return one.container is other.container and same_items(one.items, other.items)
    if type(one) is tuple and type(other) is tuple and len(one) == len(other):
        return all(same_items(a, b) for a, b in zip(one, other, strict=True))
    return one is other or (not isinstance(one, Frozen) and _same_key(one, other))


def _same_key(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, str | int | bool) and one == other


def _is_container(value: Any) -> bool:
    if isinstance(value, Choice):
        return any(map(_is_container, (value.true, value.false)))
    if type(value) is tuple:
        return len(value) <= REACH and any(map(_is_container, value))
    return (
        isinstance(value, set | collections.deque | dict)
        or is_list(value)
        or hasattr(type(value), "d2s_freeze")
    )


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
        self.base = {name: freeze(self.slot(name).get()) for name in self.keys()}
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


def _is_plain(value: Any) -> bool:
    """Whether ``value`` is nothing of a program and no tensor."""
    return not (
        hasattr(type(value), "d2s_value") or bridge.is_value(value) or bridge.is_eager(value)
    )


@dataclass
class Held(Slot):
    """A list, dict, set or deque that a callable is called with."""

    value: Any
    path: str

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        """It stays what it is.

        Raises:
            ContainerInGraphError: (D2S207) it would have to be another one.
        """
        if value is not self.value:
            raise error_here(
                ContainerInGraphError,
                f"a {type(self.value).__name__} that {self.path!r} is called with is changed as a "
                "tensor decides, and its length changes",
                "change a list or dict that a variable or an attribute holds",
            )


@dataclass
class Loose(Scope):
    """What a callable is called with."""

    def slot(self, name: str) -> Slot:
        return Held(self.holder, name)

    def keys(self) -> list[str]:
        return [self.path]


class _Reach:
    """What can be reached from the variables of some functions."""

    def __init__(self) -> None:
        self.scopes: dict[int, Scope] = {}
        self._seen: dict[int, Any] = {}

    def add(self, path: str, value: Any) -> None:
        """Look at ``value`` and at what it holds."""
        queue = [(path, value)]
        while queue and len(self._seen) < REACH:
            path, value = queue.pop(0)
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                queue.extend(self._parts(path, value))

    def _parts(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, list | tuple | collections.deque):
            for index, item in enumerate(members(value)[:REACH]):
                yield f"{path}[{index}]", item
        elif isinstance(value, dict):
            for key, item in pairs(value):
                yield f"{path}[{key!r}]", item
        if isinstance(value, list | tuple | dict | set | collections.deque):
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

    def _attributes(self, path: str, value: Any) -> Iterator[tuple[str, Any]]:
        if slots_of(type(value)):
            fields = slot_fields(value)
            self._note(Scope(fields, path, value))
            yield from ((f"{path}.{name}", item) for name, item in fields.items())
        if is_user_object(value):
            yield from self._fields(path, value)

    def _fields(self, path: str, owner: Any) -> Iterator[tuple[str, Any]]:
        scope = self._note(Scope(owner.__dict__, path, owner))
        names = scope.keys()
        for name in names:
            yield f"{path}.{name}", owner.__dict__[name]

    def _cells(self, function: types.FunctionType) -> Iterator[tuple[str, Any]]:
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = Cell(cell).get()
            if name in _stored(code) or _is_container(value):
                self._note(Scope(cell, name))
            yield name, value

    def _held(self, path: str, *held: Any) -> Iterator[tuple[str, Any]]:
        """What a callable is called with; a container there need have no name."""
        for value in held:
            if type(value) is tuple:
                yield from self._held(path, *value)
            elif _is_container(value):
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


class State:
    """The slots of some body functions: those of ``names``, then containers that they can reach."""

    def __init__(self, names: tuple[str, ...], *functions: Callable[..., Any] | None) -> None:
        self.names = names
        self._made_of = names, functions
        self._added: list[tuple[str, Slot]] = []
        cells: dict[str, Any] = {}
        scope: dict[str, Any] = {}
        for function in functions:
            if function is None:
                continue
            scope = function.__globals__
            free = function.__code__.co_freevars
            cells.update(zip(free, function.__closure__ or (), strict=True))
        self.slots = [self._slot(name, cells, scope) for name in names]
        for name, cell in cells.items():  # what a helper may change through another name
            if name not in names and _is_container(Cell(cell).get()):
                self.names = (*self.names, name)
                self.slots.append(Cell(cell))
        reach = _Reach()
        for name, cell in cells.items():
            reach.add(name, Cell(cell).get())
        capture = current()
        self._watched = list if capture is None else capture.watched
        self._scopes = {key: scope.note() for key, scope in reach.found().items()}
        for record in self._watched():
            self._watch(record)
        self._known = {slot_key(slot) for slot in self.slots}
        self._bases: list[Any] = []
        self._scratch = [
            (name, Cell(cell), Cell(cell).get())
            for name, cell in cells.items()
            if name not in self.names and id(cell) not in self._scopes
        ]

    def add(self, name: str, slot: Slot) -> None:
        """Let something join the state that no function knows by a name."""
        self.names = (*self.names, name)
        self.slots.append(slot)
        self._added.append((name, slot))

    def anew(self) -> State:
        """The state of the same functions, from the present place on."""
        names, functions = self._made_of
        made = State(names, *functions)
        for name, slot in self._added:
            made.add(name, slot)
        return made

    @staticmethod
    def _slot(path: str, cells: dict[str, Any], scope: dict[str, Any]) -> Slot:
        root, *rest = path.split(".")
        slot: Slot = Cell(cells[root]) if root in cells else Global(scope, root)
        for name in rest:
            owner = slot.get()
            if owner is UNBOUND or owner is None or isinstance(owner, Choice):
                return Missing()
            if is_computed(type(owner), name):
                return Missing()  # its setter assigns other attributes, which are found by find
            slot = Attribute(owner, name)
        return slot

    def _watch(self, record: Any, *, late: bool = False) -> None:
        """Compare something that is watched of the state outside, too.

        Args:
            record: it.
            late: the body may have changed it already.
        """
        if id(record.scope) in self._scopes:
            return
        if record.loose:
            scope = Loose(record.scope, record.path)
        elif not (
            record.fields or record.names is not None or isinstance(record.scope, types.CellType)
        ):
            return
        else:
            scope = Scope(record.scope, record.path, record.object, record.names)
        self._scopes[id(record.scope)] = scope.note()
        if late and record.loose:
            scope.base[record.path] = frozen(record.scope, record.before)
        elif late:
            scope.base.update({name: freeze(value) for name, value in record.before.items()})

    def find(self) -> None:
        """Let what has changed without being named join the state."""
        for record in self._watched():
            self._watch(record, late=True)
            if record.names is not None:  # it may have got more names since
                base = self._scopes[id(record.scope)].base
                for name in record.names - base.keys():
                    base[name] = freeze(record.before[name])
        for scope in self._scopes.values():
            for name in {**scope.base, **dict.fromkeys(scope.keys())}:
                slot = scope.slot(name)
                base = scope.base.get(name, UNBOUND)
                if slot_key(slot) in self._known or same_items(base, freeze(slot.get())):
                    continue
                self._known.add(slot_key(slot))
                self.names = (*self.names, scope.path_of(name))
                self.slots.append(slot)
                self._bases.append(base)

    def join(self, path: str, holder: Any) -> None:
        """Let what ``holder`` holds join the state; the body is about to bind it."""
        table, key = holder.place
        if table in self._scopes and key in self._scopes[table].base:
            return  # :meth:`find` will see it
        slot = Elsewhere(holder)
        held = slot.get()
        self._scratch = [each for each in self._scratch if each[0] != path or each[2] is not held]
        self.join_slot(path, slot)

    def join_slot(self, path: str, slot: Slot) -> None:
        """Let what ``slot`` has join the state; the body is about to change it."""
        self.names = (*self.names, path)
        self.slots.append(slot)
        self._bases.append(freeze(slot.get()))

    def padded(self, values: list[Any]) -> list[Any]:
        """Values, with how those were that have joined the state since."""
        missing = len(self.slots) - len(values)
        return [*values, *(self._bases[len(self._bases) - missing :] if missing else ())]

    def _note_handed(self) -> None:
        capture = current()
        if capture is not None:
            capture.handed |= {
                (id(slot.owner), slot.name) for slot in self.slots if isinstance(slot, Attribute)
            }

    def read(self) -> list[Any]:
        """The values as they are now."""
        return [slot.get() for slot in self.slots]

    def freeze(self) -> list[Any]:
        """Snapshots of the values."""
        self.find()
        self._note_handed()
        return [freeze(slot.get()) for slot in self.slots]

    def write(self, values: list[Any]) -> None:
        """Bind the values."""
        for slot, value in zip(self.slots, values, strict=True):
            if slot.get() is not value:
                slot.set(value)

    def thaw(self, snapshots: list[Any]) -> None:
        """Go back to snapshots, contents of containers included."""
        self.write([thaw(snapshot) for snapshot in self.padded(snapshots)])
        self.forget_scratch()

    def without_scratch(self) -> State:
        """The same, for a body that goes on after a snapshot was taken: it keeps its variables."""
        self._scratch = []
        return self

    def forget_scratch(self) -> None:
        """Put back the variables that a body uses for itself and nobody reads afterwards."""
        for _, slot, value in self._scratch:
            if slot.get() is not value:
                slot.set(value)


def slot_key(slot: Slot) -> Any:
    """Equal for two slots of one variable or attribute."""
    if isinstance(slot, Cell):
        return id(slot.cell)
    if isinstance(slot, Attribute):
        return id(slot.owner), slot.name
    if isinstance(slot, Global):
        return id(slot.scope), slot.name
    return id(slot)
