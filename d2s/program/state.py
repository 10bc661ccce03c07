"""State of the user's objects that a call changes (rule F3).

Before a capture the attributes of the layer, its sublayers and the objects among the arguments
are noted; after it, attributes that now hold values of the program become outputs, the old values
are put back, and each run binds the new tensors.  A symbolic value never stays in a user's object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import paddle

from d2s import paddle_bridge as bridge


@dataclass(frozen=True)
class Place:
    """One entry of an object's attribute dictionary (or of a layer's buffers).

    Attributes:
        scope: the dictionary.
        key: the attribute's name.
        path: how a reader would write it, for messages.
    """

    scope: dict[str, Any]
    key: str
    path: str

    def get(self) -> Any:
        """What the attribute holds now."""
        return self.scope.get(self.key)

    def describe(self) -> Any:
        """What a key says of it: the kind of a tensor, else the value by type and identity."""
        value = self.get()
        if bridge.is_eager(value):
            return (str(value.dtype), tuple(value.shape), bool(value.stop_gradient))
        if value is None or isinstance(value, bool | int | float | str):
            return (type(value), value)
        return (type(value), id(value))


def _scopes(roots: Iterable[Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The attribute dictionaries of ``roots`` and of the layers below them."""
    seen: set[int] = set()
    for root in roots:
        if isinstance(root, paddle.nn.Layer):
            for name, layer in root.named_sublayers(include_self=True):
                if id(layer) not in seen:
                    seen.add(id(layer))
                    prefix = f"self.{name}." if name else "self."
                    yield layer.__dict__, prefix
                    yield layer._buffers, prefix
        elif id(root) not in seen and isinstance(getattr(root, "__dict__", None), dict):
            seen.add(id(root))
            if not isinstance(root, type):
                yield root.__dict__, "self."


class Watch:
    """Notes attributes before a capture; says afterwards which ones the program changes."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._before = [(scope, prefix, dict(scope)) for scope, prefix in _scopes(list(roots))]

    def changed(self) -> list[tuple[Place, Any]]:
        """Attributes that hold values of the program, with these; the old values are put back."""
        found: list[tuple[Place, Any]] = []
        for scope, prefix, before in self._before:
            for key, value in list(scope.items()):
                if before.get(key, scope) is value or not bridge.is_value(value):
                    continue
                found.append((Place(scope, key, prefix + key), value))
                if key in before:
                    scope[key] = before[key]
                else:
                    del scope[key]
        return found

    def undo(self) -> None:
        """Put everything back, after a capture that failed."""
        for scope, _, before in self._before:
            for key, value in list(scope.items()):
                if bridge.is_value(value):
                    if key in before:
                        scope[key] = before[key]
                    else:
                        del scope[key]
