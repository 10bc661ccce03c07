"""Objects whose contents only Python can change: a program that needs such a change is refused.

A NumPy array that is written into, a text stream, an iterator that is asked for its next item: a
run of the program does nothing of that.  The objects that the captured code can reach are looked at
before and after the capture.
"""

from __future__ import annotations

import array
import collections
import decimal
import dis
import enum
import functools
import inspect
import io
import itertools
import logging
import operator
import queue
import random
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s.diagnostics.location import Location
from d2s.errors import UnsupportedInGraphError
from d2s.program.keys.call_key import Identity
from d2s.program.state.places import Place, Upcoming
from d2s.program.state.process import SETTINGS, Setting
from d2s.runtime.host.world import is_stateful
from d2s.runtime.trace import Capture
from d2s.runtime.values.iterators.copies import goes_ahead
from d2s.runtime.values.objects import KEEP_ELSEWHERE, changes, dict_of, is_library
from d2s.runtime.values.tree import is_tuple

LARGEST: Final = 1_000_000
"""Arrays with more items are not looked at."""


def _array(thing: Any) -> Any:
    if thing.size > LARGEST:
        return None
    return tuple(map(Identity, thing.flat)) if thing.dtype.hasobject else thing.tobytes()


def _generator(thing: Any) -> Any:
    frame = thing.gi_frame
    return None if frame is None else frame.f_lasti, thing.gi_running


def _unseen(thing: Any) -> None:
    """Nobody sees what is in it; what would change it is refused before (``host.world``)."""


def _queue(thing: Any) -> Any:
    return tuple(map(Identity, thing.queue))


def _steps(thing: Any) -> Any:
    """How far the iterators have come that an iterator of Python's takes its items from."""
    if type(thing) not in (enumerate, filter, map, zip) and not goes_ahead(type(thing)):
        return None  # nobody can see
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _, parts, *position = thing.__reduce__()
    states = [each if isinstance(each, tuple) else (each,) for each in position]
    seen = (*parts, *itertools.chain.from_iterable(states))
    return [_BY_ID.get(id(type(part)), _itself)(part) for part in seen]


def _itself(part: Any) -> Any:
    if is_tuple(part):
        return tuple(map(_itself, part))
    return (
        len(part) if type(part) is list else part if type(part) in (int, bool) else Identity(part)
    )


_ITERATED: Final[tuple[Any, ...]] = (
    (), [], "", "\u00e9", b"", {}, {}.items(), {}.values(), set(), range(0), range(2**70),
    collections.deque(), collections.OrderedDict(),
)  # fmt: skip
"""One of each kind that a built-in iterator goes over."""

_REVERSED: Final[tuple[Any, ...]] = (
    [], (), {}, {}.items(), {}.values(), collections.deque(), collections.OrderedDict(),
)  # fmt: skip
"""One of each kind that has an iterator of its own for going backwards."""

_LOOKS: Final[dict[type, Callable[[Any], Any]]] = {
    np.ndarray: _array,
    array.array: bytes,
    bytearray: bytes,
    memoryview: bytes,
    Setting: lambda thing: thing.get(),
    io.StringIO: lambda thing: None if thing.closed else (thing.getvalue(), thing.tell()),
    io.BytesIO: lambda thing: None if thing.closed else (thing.getvalue(), thing.tell()),
    queue.Queue: _queue,
    queue.LifoQueue: _queue,
    queue.PriorityQueue: _queue,
    itertools.count: repr,
    itertools.repeat: repr,
    types.GeneratorType: _generator,
    **{type(iter(sample)): operator.length_hint for sample in _ITERATED},
    **{type(reversed(sample)): operator.length_hint for sample in _REVERSED},
    **dict.fromkeys(
        (
            *(enumerate, filter, map, zip),
            *(itertools.accumulate, itertools.chain, itertools.combinations, itertools.compress),
            *(itertools.cycle, itertools.dropwhile, itertools.filterfalse, itertools.groupby),
            *(itertools.islice, itertools.pairwise, itertools.permutations, itertools.product),
            *(itertools.starmap, itertools.takewhile, itertools.zip_longest),
        ),
        _steps,
    ),
}
"""How to see what an object of a type holds."""

_BY_ID: Final = {id(kind): look for kind, look in _LOOKS.items()}
"""The same by identity: a class of the user's need not have a hash."""


def is_opaque(thing: Any) -> bool:
    """Whether only Python can change what ``thing`` holds, and a run makes it no further."""
    return id(type(thing)) in _BY_ID


def may_change(thing: object) -> bool:
    """Whether ``thing``, of a class that is no user's, may be another one after it was used."""
    ours = type(thing).__module__.partition(".")[0] == "d2s"
    if (
        ours
        or isinstance(thing, _FIXED)
        or thing is logging.Logger.manager.loggerDict.get(_name(thing))
    ):
        return False
    return is_stateful(type(thing)) or isinstance(thing, _CHANGING) or dict_of(thing) is not None


def rebinds(function: types.FunctionType) -> bool:
    """Whether a function assigns a variable of a function around it."""
    outer = set(function.__code__.co_freevars)
    return any(
        each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in outer
        for each in dis.get_instructions(function)
    )


def is_librarys(kind: type) -> bool:
    """Whether a class is a library's, so that nobody has seen who made an object of it."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is None or is_library(file)


def _name(thing: object) -> str:
    return str(thing.name) if isinstance(thing, logging.Logger) else ""


_FIXED: Final = (
    *(int, float, complex, str, bytes),  # Paddle's ``TensorSize`` is an int, too
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType),
    *(functools.partial, enum.Enum, paddle.nn.Layer, paddle.Tensor),
)
"""Those of no others with attributes."""

_CHANGING: Final = (
    *(np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random),
    *(decimal.Context, type(threading.Lock()), type(threading.RLock())),
)


def _look_of(thing: Any) -> Callable[[Any], Any] | None:
    """How to see what ``thing`` holds; ``None`` if it is nothing that only Python can change."""
    if isinstance(thing, logging.Filterer):
        return _attributes
    return _BY_ID.get(id(type(thing)))


def _attributes(thing: Any) -> list[tuple[str, Any, Any]]:
    """Those that say what a logger or a handler does, with what is in lists."""
    return [
        (name, value, list(value) if isinstance(value, list) else None)
        for name, value in vars(thing).items()
        if name in _OF_LOGGERS
    ]


_OF_LOGGERS: Final = ("disabled", "filters", "formatter", "handlers", "level", "propagate")


class Opaque:
    """The objects, and what they held at first.

    Attributes:
        places: where they are kept, by their ids.
        upcoming: the items of iterators that the captured code has taken: see ``iterators``.
        fixed: ids of what each run gives back, or keeps somewhere, as it is.
    """

    def __init__(self) -> None:
        self.places: dict[int, Place] = {}
        self.upcoming: list[Upcoming] = []
        self.fixed: set[int] = set()
        self._known: dict[int, tuple[Any, str, Any]] = {}
        self._seen: dict[int, Any] = {}
        self._capture: Capture | None = None

    def add(self, thing: Any, path: str, place: Place | None = None) -> None:
        """Look at ``thing``, which a reader would call ``path`` and which is kept at ``place``."""
        look = _look_of(thing)
        self._seen[id(thing)] = thing
        if look is None and is_stateful(type(thing)):
            look = _unseen
        if look is not None and id(thing) not in self._known:
            self._known[id(thing)] = (thing, path, look(thing))
            if place is not None:
                self.places[id(thing)] = place

    def add_process(self, capture: Capture) -> None:
        """Look at what Python keeps for the whole process, while ``capture`` is under way."""
        self._capture = capture
        for setting in SETTINGS:
            self.add(setting, setting.name)

    def knows(self, thing: object) -> bool:
        """Whether ``thing`` was there before, as far as the state was looked through."""
        return id(thing) in self._seen

    def path(self, thing: Any) -> str | None:
        """What a reader would call ``thing``, if it was there before."""
        known = self._known.get(id(thing))
        return None if known is None else known[1]

    def changed(self) -> Iterator[tuple[Any, str]]:
        """Those that hold something else now, as they were again where that is possible."""
        for thing, path, before in self._known.values():
            look = _look_of(thing)
            if isinstance(thing, Setting) and thing.shared and not self._sets():
                continue
            if look is not None and look(thing) != before:
                _restore(thing, before)
                yield thing, path

    def _sets(self) -> bool:
        """Whether the captured code has called what sets something for the whole process."""
        return self._capture is not None and self._capture.set_at is not None

    def restore(self) -> None:
        """Let them hold what they held at first, where that is possible."""
        for _ in self.changed():
            pass


def _restore(thing: Any, before: Any) -> None:
    if isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        thing[...] = np.frombuffer(before, thing.dtype).reshape(thing.shape)
    elif isinstance(thing, Setting):
        thing.put(before)
    elif isinstance(thing, logging.Filterer):
        _restore_attributes(thing, before)
    elif isinstance(thing, bytearray | memoryview):
        thing[:] = before
    elif isinstance(thing, array.array):
        thing[:] = array.array(thing.typecode, before)
    elif isinstance(thing, io.StringIO | io.BytesIO) and before is not None:
        contents, position = before
        thing.seek(0)
        thing.truncate()
        thing.write(contents)
        thing.seek(position)


def _restore_attributes(thing: Any, before: list[tuple[str, Any, Any]]) -> None:
    for name, value, items in before:
        vars(thing)[name] = value
        if items is not None:
            value[:] = items
    if isinstance(thing, logging.Logger):  # which levels are shown is remembered
        vars(thing)["_cache"].clear()


def check_opaque(
    watched: Iterable[Opaque], function: Callable[..., object], place: Location | None
) -> None:
    """Refuse a function that changes what no run of a program can change.

    Args:
        watched: what was looked at.
        function: the function.
        place: the line on which it has called what sets something for the whole process.

    Raises:
        UnsupportedInGraphError: (D2S205) it writes into an array of NumPy, asks an iterator for
            its next item, and the like.
    """
    found = [changed for objects in watched for changed in objects.changed()]
    if not found:
        return
    thing, path = found[0]
    cause, cure = changes(thing, path), KEEP_ELSEWHERE
    if isinstance(thing, Setting):
        cause = f"the function sets {path}, which a run of its program would not do"
        cure = "set it outside of the converted function, or in a with statement that ends in it"
        if place is not None:
            raise UnsupportedInGraphError(cause, cure=cure, file=place.file, line=place.line)
    code = getattr(inspect.unwrap(function), "__code__", None)
    raise UnsupportedInGraphError(
        cause,
        cure=cure,
        file=None if code is None else code.co_filename,
        line=None if code is None else code.co_firstlineno,
    )
