"""What looks at a container without being one: its iterators, views and bound methods.

    rows = [x[0]]
    pairs = zip(rows, names)      a zip object, which asks for items of ``rows`` when it is asked
    if c:
        rows.append(x[1])         from here on ``rows`` is another list to the program

Python's own iterators cannot be given another container, so such a change is refused.
"""

from __future__ import annotations

import gc
import itertools
import types
import weakref
from typing import Any, Final

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import holders_where, is_held, names_of
from d2s.runtime.trace import error_here

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
        *(enumerate, filter, map, zip, types.BuiltinMethodType, types.GeneratorType),
        *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
    )
)
"""Classes of what asks for items of a container when it is asked itself."""

_DEPTH: Final = 6
"""Iterators over iterators: so deep is looked."""


def _looks_at(value: object, container: object, depth: int = _DEPTH) -> bool:
    if type(value) not in _LOOKERS and not (type(value) is tuple and depth < _DEPTH):
        return False
    parts: list[Any] = gc.get_referents(value)
    return any(part is container for part in parts) or (
        depth > 0 and any(_looks_at(part, container, depth - 1) for part in parts)
    )


def check_lookers(container: object) -> None:
    """Refuse to put another container in the place of one that an iterator or view looks at.

    Raises:
        ContainerInGraphError: (D2S207) a name that may be read again holds the iterator or view.
    """
    held = next(
        (each for each in holders_where(lambda value: _looks_at(value, container)) if each.live),
        None,
    )
    if held is not None:
        name = next(iter(names_of(container)), f"a {type(container).__name__}")
        raise _changed_under(name, held.path)


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
        f"{name!r} is changed as a tensor decides while {looker}, which asks for its items later "
        "on, is held",
        "make the iterator or view where it is used, or of a copy: list(...)",
    )
