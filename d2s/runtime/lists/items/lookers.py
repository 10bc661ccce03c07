"""What looks at a container without being one: iterators, views, bound methods, default arguments.

    rows = [x[0]]
    pairs = zip(rows, names)      a zip object, which asks for items of ``rows`` when it is asked
    if c:
        rows.append(x[1])         from here on ``rows`` is another list to the program

None of these can be given another container, so such a change is refused.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
import types
import weakref
from typing import Any, Final

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import holders_where, is_held, names_of
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.values.tree import is_mutable
from d2s.syntax.bytecode import inner_codes

_DICT: Final[dict[Any, Any]] = {}
_LIST: Final[list[Any]] = []
_SEEN: Final[tuple[Any, ...]] = (_DICT, _DICT.values(), _DICT.items())
_MADE: Final[tuple[object, ...]] = (
    *map(iter, (_LIST, (), set[Any](), *_SEEN)),
    *map(reversed, (_LIST, *_SEEN)),
    *(_DICT.keys(), *_SEEN[1:], _LIST.__len__),
)

_LOOKERS: Final[frozenset[type]] = frozenset(
    (
        *map(type, _MADE),
        *(enumerate, filter, map, zip, slice, staticmethod, functools.partial, tuple, list, dict),
        *(types.BuiltinMethodType, types.GeneratorType, types.MappingProxyType),
        *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
    )
)
"""Classes of what asks for items of a container when it is asked itself, or hands one to a call."""

_DEPTH: Final = 6
"""Iterators over iterators: so deep is looked."""

_NAMED: Final = (tuple, list, dict)
"""What :func:`holders_of` finds, and gives another item; here only what it cannot see is meant."""


class _Looking:
    """Tells what looks at a container.

    Args:
        container: it.
    """

    def __init__(self, container: object) -> None:
        self._container = container

    def is_it(self, value: object) -> bool:
        """Whether ``value`` looks at the container."""
        return type(value) not in _NAMED and self._looks(value, _DEPTH)

    def _looks(self, value: object, depth: int, *, called: bool = False) -> bool:
        parts = self._parts(value)
        if depth == 0 or any(part is self._container for part in parts):
            return depth > 0
        called = called or isinstance(value, types.FunctionType)
        if called:  # containers among its arguments are given another item
            parts = [part for part in parts if not is_mutable(part)]
        return any(self._looks(part, depth - 1, called=called) for part in parts)

    def _parts(self, value: object) -> list[Any]:
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if isinstance(value, BaseException):
            return list(value.args)
        if isinstance(value, types.GeneratorType):
            return _variables_of(value)
        return gc.get_referents(value) if type(value) in _LOOKERS else []

    def _of_function(self, function: types.FunctionType) -> list[Any]:
        """What a function is called with, and the variables of functions that are over."""
        named = function.__kwdefaults__ or {}
        found = [*(function.__defaults__ or ()), *(() if _is_watched(named) else named.values())]
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # not bound
                held = cell.cell_contents
                if self._is_shared(held, function.__code__, name):
                    found.append(held)
        return found

    def _is_shared(self, held: object, code: types.CodeType, name: str) -> bool:
        """Whether ``held`` is the container, and shared with a function that is over."""
        return held is self._container and not _is_under_way(code, name)


class _LookingAtAny(_Looking):
    """Notes what is looked at, whatever it is.

    Attributes:
        ids: of all containers that something looks at; and of more.
    """

    def __init__(self) -> None:
        super().__init__(None)
        self.ids: set[int] = set()
        self._under_way: dict[tuple[int, str], bool] = {}

    def _looks(self, value: object, depth: int, *, called: bool = False) -> bool:
        if depth > 0:
            parts = self._parts(value)
            self.ids.update(map(id, parts))
            called = called or isinstance(value, types.FunctionType)
            for part in parts:
                if not (called and is_mutable(part)):
                    self._looks(part, depth - 1, called=called)
        return False

    def _is_shared(self, held: object, code: types.CodeType, name: str) -> bool:
        key = id(code), name
        if key not in self._under_way:
            self._under_way[key] = _is_under_way(code, name)
        if not self._under_way[key]:
            self.ids.add(id(held))
        return False


def _variables_of(generator: types.GeneratorType[Any, Any, Any]) -> list[Any]:
    """What a generator holds by itself; it shares its other variables with functions."""
    frame = generator.gi_frame
    if frame is None:  # it is over
        return []
    shared = frame.f_code.co_cellvars + frame.f_code.co_freevars
    return [value for name, value in frame.f_locals.items() if name not in shared]


def _is_watched(scope: object) -> bool:
    """Whether what ``scope`` holds is given other contents, as it was there before the capture."""
    return any(record.scope is scope for record in open_trace().watched())


def _is_under_way(code: types.CodeType, name: str) -> bool:
    """Whether the function is, whose variable ``name`` the function of ``code`` in it shares."""
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        names = frame.f_code.co_cellvars + frame.f_code.co_freevars
        if name in names and any(inner is code for inner in inner_codes(frame.f_code)):
            return True
        frame = frame.f_back
    return False


def check_lookers(container: object) -> None:
    """Refuse to put another container in the place of one that an iterator or view looks at.

    Raises:
        ContainerInGraphError: (D2S207) a name that may be read again holds the iterator or view.
    """
    held = next(
        (each for each in holders_where(_Looking(container).is_it) if each.live),
        None,
    )
    if held is not None:
        name = next(iter(names_of(container)), f"a {type(container).__name__}")
        raise _changed_under(name, held.path)


class LookedAt:
    """What is looked at where nobody makes iterators, views or functions meanwhile.

    A table of lists is as many containers as it has rows; the variables of all frames, which hold
    these, too, are gone through once for all of them.
    """

    def __init__(self) -> None:
        self._ids: set[int] | None = None

    def check(self, container: object) -> None:
        """Do what :func:`check_lookers` does."""
        if self._ids is None:
            looking = _LookingAtAny()
            holders_where(looking.is_it)
            self._ids = looking.ids
        if id(container) in self._ids:
            check_lookers(container)


class Lookers:
    """The views and iterators that were made of a container of the run."""

    def __init__(self) -> None:
        self._made: list[weakref.ref[Any]] = []

    def note(self, made: object) -> None:
        """Do not change the container while somebody holds ``made``."""
        self._made = [*(each for each in self._made if each() is not None), weakref.ref(made)]

    def check(self, name: str) -> None:
        """Refuse a change of the container ``name`` while somebody holds one of them."""
        if any(is_held(each()) for each in self._made if each() is not None):
            raise _changed_under(name, None)


def _changed_under(name: str, path: str | None) -> D2SError:
    """The refusal to change a container that something looks at."""
    looker = "an iterator or a view of it" if path is None else repr(path)
    return error_here(
        ContainerInGraphError,
        f"{name!r} is changed as a tensor decides while {looker} is held, which would go on with "
        "what it is now",
        "make the iterator, view or function where it is used, or of a copy: list(...)",
    )
