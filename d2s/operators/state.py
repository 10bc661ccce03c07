"""The state that a branch or loop body shares with the code around it, read and written by name.

Variables are the closure cells of the body functions (decision 0002), or globals; dotted paths
are attributes.  A frozen snapshot also holds the contents of lists, dicts and sets, so that a
side that changes them in place can be undone before the other side is captured.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import paddle

from d2s.operators.either import UNBOUND


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
        if isinstance(self.owner, paddle.nn.Layer) and self.name in self.owner._buffers:
            return self.owner._buffers[self.name]
        return getattr(self.owner, self.name, UNBOUND)

    def set(self, value: Any) -> None:
        owner = self.owner
        if isinstance(owner, paddle.nn.Layer) and self.name in owner._buffers:
            owner._buffers[self.name] = value
        elif value is UNBOUND:
            if hasattr(owner, self.name):
                delattr(owner, self.name)
        elif isinstance(owner, paddle.nn.Layer):
            object.__setattr__(owner, self.name, value)
        else:
            setattr(owner, self.name, value)


@dataclass
class Missing(Slot):
    """A path whose object does not exist (yet); it has nothing to hand on."""

    def get(self) -> Any:
        return UNBOUND

    def set(self, value: Any) -> None:
        """Nothing to bind."""


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
    if type(value) is list:
        return Frozen(value, tuple(freeze(item, depth + 1) for item in value))
    if isinstance(value, dict):
        return Frozen(value, tuple((key, freeze(item, depth + 1)) for key, item in value.items()))
    if type(value) is set:
        return Frozen(value, tuple(value))
    if type(value) is tuple:
        items = tuple(freeze(item, depth + 1) for item in value)
        return value if all(map(operator.is_, items, value)) else items
    snapshot = getattr(value, "d2s_freeze", None) if value is not UNBOUND else None
    if snapshot is not None:
        return Frozen(value, snapshot())
    return value


def thaw(snapshot: Any) -> Any:
    """The value of a snapshot, its containers holding again what they held."""
    if isinstance(snapshot, Frozen):
        container, items = snapshot.container, snapshot.items
        if hasattr(container, "d2s_thaw"):
            container.d2s_thaw(items)
        elif isinstance(container, list):
            container[:] = [thaw(item) for item in items]
        elif isinstance(container, dict):
            contents = {key: thaw(item) for key, item in items}
            container.clear()
            container.update(contents)
        else:
            container.clear()
            container.update(items)
        return container
    if type(snapshot) is tuple:
        return tuple(thaw(item) for item in snapshot)
    return snapshot


def _is_container(value: Any) -> bool:
    return type(value) is list or isinstance(value, dict) or hasattr(value, "d2s_freeze")


class State:
    """The slots of some body functions: those of ``names``, then containers that they can reach."""

    def __init__(self, names: tuple[str, ...], *functions: Callable[..., Any] | None) -> None:
        self.names = names
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
        self._scratch = [
            (Cell(cell), Cell(cell).get()) for name, cell in cells.items() if name not in self.names
        ]

    @staticmethod
    def _slot(path: str, cells: dict[str, Any], scope: dict[str, Any]) -> Slot:
        root, *rest = path.split(".")
        slot: Slot = Cell(cells[root]) if root in cells else Global(scope, root)
        for attribute in rest:
            owner = slot.get()
            if owner is UNBOUND or owner is None:
                return Missing()
            slot = Attribute(owner, attribute)
        return slot

    def read(self) -> list[Any]:
        """The values as they are now."""
        return [slot.get() for slot in self.slots]

    def freeze(self) -> list[Any]:
        """Snapshots of the values."""
        return [freeze(slot.get()) for slot in self.slots]

    def write(self, values: list[Any]) -> None:
        """Bind the values."""
        for slot, value in zip(self.slots, values, strict=True):
            if slot.get() is not value:
                slot.set(value)

    def thaw(self, snapshots: list[Any]) -> None:
        """Go back to snapshots, contents of containers included."""
        self.write([thaw(snapshot) for snapshot in snapshots])
        self.forget_scratch()

    def forget_scratch(self) -> None:
        """Put back the variables that a body uses for itself and nobody reads afterwards."""
        for slot, value in self._scratch:
            if slot.get() is not value:
                slot.set(value)
