"""Numbers that tell objects apart without keeping them alive.

The ``id`` of an object is another one's when it is gone: a layer that is put in the place of
another one often gets that one's.  What outlives objects, as the keys of programs do, knows them by
a number that is never given again, or keeps them (``call_key.Identity``).
"""

from __future__ import annotations

import functools
import itertools
import threading
import weakref
from typing import Any, Final


class Numbering:
    """A number for each object that is asked about, for as long as the object lives.

    >>> class Layer: ...
    >>> numbering, layer = Numbering(), Layer()
    >>> numbering.number(layer), numbering.number(Layer()), numbering.number(layer)
    (0, 1, 0)
    >>> numbering.number(Layer())
    2
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def number(self, thing: Any) -> int:
        """The number of ``thing``, which must allow weak references."""
        known = self._known.get(id(thing))
        if known is None or known[0]() is not thing:
            known = self._new(id(thing), thing)
        return known[1]

    def _new(self, key: int, thing: Any) -> tuple[weakref.ref[Any], int]:
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0]() is not thing:
                reference = weakref.ref(thing, functools.partial(_forget, self._known, key))
                known = self._known[key] = reference, next(self._numbers)
        return known


def _forget(known: dict[int, tuple[weakref.ref[Any], int]], key: int, gone: object) -> None:
    if key in known and known[key][0] is gone:
        del known[key]


LAYERS: Final = Numbering()
"""The numbers of layers."""
