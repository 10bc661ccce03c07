"""A call like one before it, known without being taken apart.

``signature`` binds a call, walks its arguments and makes a key of what it finds, with a path to
each leaf for messages.  Most calls hand in tensors and constants, side by side; for these a key
that costs a tenth says the same::

    f(x, 3, flag=True)    ->    ("float32", (4,), True, int, 3, "flag", bool, True)

What the key does not show (which defaults a function has, say) drops all that is known.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge

_CONSTANTS: Final = frozenset((int, bool, str, bytes, type(None)))

MOST: Final = 256
"""So many calls are known; then all are forgotten."""

QuickKey = tuple[Any, ...]


def quick_key(
    args: tuple[Any, ...], kwargs: dict[str, Any], modes: tuple[Any, ...]
) -> tuple[QuickKey, list[Any]] | None:
    """The key of a call, and its tensors; ``None`` if it is not of the simple kind.

    Args:
        args, kwargs: as the user passes them.
        modes: what else a program depends on.
    """
    parts: list[Any] = [modes]
    tensors: list[Any] = []
    for name, thing in itertools.chain(zip(itertools.repeat(""), args), kwargs.items()):
        kind = type(thing)
        if name:
            parts.append(name)
        if kind in _CONSTANTS:
            parts += (kind, thing)
        elif kind is float:
            parts += (kind, thing.hex())  # which tells -0.0 and nan
        elif isinstance(thing, bridge.EagerTensor):
            parts += (thing.dtype, tuple(thing.shape), thing.stop_gradient)
            tensors.append(thing)
        else:
            return None
    if len(tensors) > 1 and len(set(map(id, tensors))) != len(tensors):
        return None  # one tensor twice is another program
    return tuple(parts), tensors


class Modes:
    """Train or eval of a layer and of every layer in it.

    Holds no layer itself, only what is in it: the programs of a layer must not keep it alive.
    """

    def __init__(self) -> None:
        self._tables: list[Any] = []
        self._layers: list[Any] = []
        self._identities: tuple[int, ...] = ()
        self._fields: list[Any] = []

    def of(self, layer: paddle.nn.Layer) -> tuple[Any, ...]:
        """Equal as long as the same layers are in ``layer``, in the same modes."""
        layers = list(itertools.chain.from_iterable(map(dict.values, self._tables)))
        if not self._tables or not (
            len(layers) == len(self._layers) and all(map(operator.is_, layers, self._layers))
        ):
            self._survey(layer)
        try:
            return self._identities, tuple(map(_TRAINING, self._fields))
        except KeyError:  # a class says it for its layers
            every = layer.sublayers(include_self=True)
            return self._identities, tuple(each.training for each in every)

    def _survey(self, layer: paddle.nn.Layer) -> None:
        every = layer.sublayers(include_self=True)
        self._tables = [each._sub_layers for each in every]
        self._layers = list(itertools.chain.from_iterable(map(dict.values, self._tables)))
        self._identities = tuple(map(id, every))
        self._fields = [each.__dict__ for each in every]


_TRAINING: Final = operator.itemgetter("training")
