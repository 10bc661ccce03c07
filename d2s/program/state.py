"""State outside of the arguments: what a capture reads (rule G2) and what it changes (F3).

While a program is captured, every converted function that is called is noted.  The Python values
that it reads from globals, closure and attributes of ``self`` become guards, part of the key of
later calls.  Attributes, items and buffers of the objects that it can reach are noted before it
runs; those that hold values of the program afterwards become outputs, the old contents are put
back, and each run binds the new tensors.  A symbolic value never stays in a user's object.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.conversion import reads_of

SCALARS: Final = (bool, int, float, str, type(None))

_ABSENT: Final = object()


@dataclass(frozen=True)
class Place:
    """Where a value is kept: an entry of a dictionary, or a closure cell.

    Attributes:
        scope: globals, an object's attributes, a layer's buffers, a user's dict; or the cell.
        key: the name in it.
        path: how a reader would write it, for messages.
    """

    scope: Any
    key: Any
    path: str

    def get(self) -> Any:
        """What is there now."""
        if isinstance(self.scope, dict):
            return self.scope.get(self.key)
        try:
            return self.scope.cell_contents
        except ValueError:
            return None

    def set(self, value: Any) -> None:
        """Bind it."""
        if isinstance(self.scope, dict):
            self.scope[self.key] = value
        else:
            self.scope.cell_contents = value

    @property
    def identity(self) -> tuple[int, Any]:
        """Equal for two places that are one."""
        return id(self.scope), self.key

    def describe(self) -> Any:
        """What a key says of it: the kind of a tensor, a scalar itself, else its identity."""
        value = self.get()
        if bridge.is_eager(value):
            return (str(value.dtype), tuple(value.shape), bool(value.stop_gradient))
        if isinstance(value, SCALARS):
            return (type(value), value)
        return (type(value), id(value))


def _is_state(value: Any) -> bool:
    """Whether ``value`` is an object of the user's that may hold tensors."""
    if isinstance(value, paddle.nn.Layer | dict):
        return True
    if isinstance(
        value,
        type | types.ModuleType | types.FunctionType | types.MethodType | types.BuiltinFunctionType,
    ):
        return False
    return isinstance(getattr(value, "__dict__", None), dict) and not bridge.is_eager(value)


def _scopes(root: Any) -> Iterator[tuple[dict[Any, Any], str]]:
    """The dictionaries of ``root`` and, for a layer, of the layers below it."""
    if isinstance(root, paddle.nn.Layer):
        for name, layer in root.named_sublayers(include_self=True):
            prefix = f"self.{name}." if name else "self."
            yield layer.__dict__, prefix
            yield layer._buffers, prefix
            yield layer._parameters, prefix
    elif isinstance(root, dict):
        yield root, ""
    else:
        yield root.__dict__, "self."


class Watch:
    """Notes objects before the code that may change them runs; says afterwards what changed.

    Attributes:
        guards: Python values that the capture has read.
    """

    def __init__(self) -> None:
        self.guards: dict[tuple[int, Any], Place] = {}
        self._before: dict[int, tuple[dict[Any, Any], str, dict[Any, Any]]] = {}
        self._cells: dict[int, Place] = {}
        self._seen: set[int] = set()

    def add(self, root: Any) -> None:
        """Watch an object."""
        if id(root) in self._seen or not _is_state(root):
            return
        self._seen.add(id(root))
        for scope, prefix in _scopes(root):
            if id(scope) not in self._before:
                self._before[id(scope)] = (scope, prefix, dict(scope))

    def function(self, function: Any, owner: Any = None) -> None:
        """A converted function is about to run, as a method of ``owner`` or alone."""
        reads = reads_of(function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name in reads.outside:
            place = None
            if name in cells:
                place = Place(cells[name], name, name)
            elif name in function.__globals__:
                place = Place(function.__globals__, name, name)
            if place is not None:
                self._read(place)
        if owner is not None:
            self.add(owner)
            for name in reads.attributes:
                scope = getattr(owner, "__dict__", None)
                if isinstance(scope, dict) and name in scope:
                    self._read(Place(scope, name, f"self.{name}"))

    def _read(self, place: Place) -> None:
        value = place.get()
        if isinstance(value, SCALARS):
            self.guards.setdefault(place.identity, place)
        elif bridge.is_eager(value):
            self._cells[id(value)] = place
        else:
            self.add(value)

    def places_of(self, tensors: list[Any]) -> list[tuple[int, Place]]:
        """Where each of ``tensors`` is kept, for those of which it is known, by index."""
        wanted = {id(tensor): index for index, tensor in enumerate(tensors)}
        found: dict[int, Place] = {
            wanted[key]: place for key, place in self._cells.items() if key in wanted
        }
        for scope, prefix, before in self._before.values():
            for key, value in before.items():
                index = wanted.get(id(value))
                if index is not None:
                    found.setdefault(index, Place(scope, key, f"{prefix}{key}"))
        return sorted(found.items(), key=lambda item: item[0])

    def changed(self) -> list[tuple[Place, Any]]:
        """Places that hold values of the program, with these; the old contents are put back."""
        found: list[tuple[Place, Any]] = []
        for scope, prefix, before in self._before.values():
            for key, value in list(scope.items()):
                if before.get(key, _ABSENT) is value or not bridge.is_value(value):
                    continue
                found.append((Place(scope, key, f"{prefix}{key}"), value))
        self.undo()
        return found

    def undo(self) -> None:
        """Put back what holds values of the program."""
        for scope, _, before in self._before.values():
            for key, value in list(scope.items()):
                if bridge.is_value(value):
                    if key in before:
                        scope[key] = before[key]
                    else:
                        del scope[key]
