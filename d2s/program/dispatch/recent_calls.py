"""A call like one before it, known without being taken apart.

``signature`` binds a call, walks its arguments and makes a key of what it finds, with a path to
each leaf for messages.  Most calls hand in tensors and constants, side by side; for these a list
that costs a tenth says the same::

    f(x, 3)       ->    [modes, float32, [4], True, int, 3]
    f(x, k=3)     ->    [modes, None, 1, float32, [4], True, str, "k", int, 3]

Most calls are also like the last one, so the lists of the two are compared before anything is
hashed; calls that come again and again do not even make a list (``warm``).  What a list does not
show (which defaults a function has, say) drops all that is known.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.program.dispatch.entry import Entry
from d2s.program.keys.numbering import LAYERS

_TENSOR: Final = bridge.EagerTensor
_CONSTANTS: Final = frozenset((int, bool, str, bytes, type(None)))

MOST: Final = 256
"""So many calls are known; then all are forgotten."""

Parts = list[Any]

WarmCall = Callable[[tuple[Any, ...], dict[str, Any], Any], Any]
"""Given the arguments of a call, and train or eval: its result, or ``ANOTHER``."""


def parts_of(
    args: tuple[Any, ...], kwargs: dict[str, Any], modes: tuple[Any, ...]
) -> tuple[Parts, list[Any]] | None:
    """What a call is made of, and its tensors; ``None`` if it is not of the simple kind.

    Two lists are equal when the two calls need the same program.

    Args:
        args, kwargs: as the user passes them.
        modes: what else a program depends on.
    """
    parts: Parts = [modes]
    tensors: list[Any] = []
    if kwargs:
        parts += (None, len(args))
        args = (*args, *itertools.chain.from_iterable(kwargs.items()))
    for thing in args:
        kind = type(thing)
        if kind is _TENSOR or issubclass(kind, _TENSOR):
            if not thing.is_dense():
                return None  # a sparse one, or a sharded one
            parts += (thing.dtype, thing.shape, thing.stop_gradient)
            tensors.append(thing)
        elif kind in _CONSTANTS:
            parts += (kind, thing)
        elif kind is float:
            parts += (kind, thing.hex())  # which tells -0.0 and nan
        else:
            return None
    if len(tensors) > 1 and len(set(map(id, tensors))) != len(tensors):
        return None  # one tensor twice is another program
    return parts, tensors


@dataclass(slots=True)
class Known:
    """What a call like one before it runs.

    Attributes:
        parts: what such a call is made of.
        entry: the program.
        order: where each tensor of the program stands among those of the call; ``None``: as they
            are.
        warm: what runs such calls one after the other, made when there were two.
    """

    parts: Parts
    entry: Entry
    order: tuple[int, ...] | None
    warm: WarmCall | None = None


class KnownCalls:
    """The calls that are known.

    Attributes:
        last: the one that was found last; most calls are like it.
        warm: what runs calls like it; ``None`` where no two were alike one after the other.
    """

    def __init__(self) -> None:
        self.last: Known | None = None
        self.warm: WarmCall | None = None
        self._all: dict[tuple[Any, ...], Known] = {}

    def __len__(self) -> int:
        return len(self._all)

    def find(self, parts: Parts) -> Known | None:
        """The call that is made of the same."""
        found = self._all.get(_key(parts))
        if found is not None:
            self.last, self.warm = found, None
        return found

    def add(self, call: tuple[Parts, list[Any]], entry: Entry, tensors: list[Any]) -> None:
        """Note which program a simple call runs.

        Args:
            call: what it is made of, and its tensors in the order of the call.
            entry: the program.
            tensors: the same tensors in the order of the program's inputs.
        """
        if len(self._all) >= MOST:
            self._all.clear()
        parts, found = call
        places = {id(tensor): position for position, tensor in enumerate(found)}
        if len(places) != len(tensors):
            return  # a default of the function is a tensor, too
        order = tuple(places[id(tensor)] for tensor in tensors)
        straight = order == tuple(range(len(order)))
        self.last = self._all[_key(parts)] = Known(parts, entry, None if straight else order)
        self.warm = None


def _key(parts: Parts) -> tuple[Any, ...]:
    return tuple(tuple(part) if isinstance(part, list) else part for part in parts)


class Modes:
    """Train or eval of a layer and of every layer in it.

    Holds no layer itself, only what is in it: the programs of a layer must not keep it alive.
    """

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def of(self, layer: paddle.nn.Layer) -> tuple[Any, ...]:
        """Equal as long as the same layers are in ``layer``, in the same modes."""
        seen = self._seen
        if seen is None or not seen.has_same_layers():
            seen = _Seen(layer)
        try:
            training = list(map(_TRAINING, seen.fields))
        except KeyError:  # a class says it for its layers
            training = [each.training for each in layer.sublayers(include_self=True)]
        if training != seen.training:
            seen.training, seen.answer = training, (seen.identities, tuple(training))
        self._seen = seen
        return seen.answer


class _Seen:
    """The layers of a layer as they were found, and the answer for them.

    Attributes:
        identities: which they are, as numbers that no later layer gets: programs are known by them.
        fields: their attributes.
        training: the mode of each.
        answer: what was told last: the same object as long as nothing changes.
    """

    __slots__ = ("_layers", "_tables", "answer", "fields", "identities", "training")

    def __init__(self, layer: paddle.nn.Layer) -> None:
        every = layer.sublayers(include_self=True)
        self._tables = [each._sub_layers for each in every]
        self._layers = [*itertools.chain.from_iterable(map(dict.values, self._tables)), _END]
        self.identities = tuple(map(LAYERS.number, every))
        self.fields = [each.__dict__ for each in every]
        self.training: list[bool] = []
        self.answer: tuple[Any, ...] = (self.identities, ())

    def has_same_layers(self) -> bool:
        """Whether the tables hold what they held: no layer more, none less."""
        now = itertools.chain.from_iterable(map(dict.values, self._tables))
        return all(map(operator.is_, itertools.chain(now, (_END,)), self._layers))


_END: Final = object()
_TRAINING: Final = operator.itemgetter("training")
