"""Iterators of Python's in the state: each call of a check takes its items of a copy."""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from d2s.runtime.values.iterators.copies import copy_of
from d2s.runtime.values.tree import is_indexed, pairs


class Copies:
    """Puts copies in the places of iterators; what puts the state back puts these back, too."""

    def __init__(self) -> None:
        self._known: list[tuple[Iterator[Any], Callable[[Any], object]]] = []

    def add(self, thing: object, put: Callable[[Any], object]) -> None:
        """Note what is kept somewhere.

        Args:
            thing: anything.
            put: keeps another one there.
        """
        if isinstance(thing, Iterator) and _copied(thing) is not None:
            self._known.append((thing, put))

    def add_items(self, container: Any) -> None:
        """Note what is in a list or dict."""
        if is_indexed(container):
            for key, item in list(pairs(container)):
                self.add(item, functools.partial(operator.setitem, container, key))

    def put(self) -> None:
        """Put fresh ones there, one for each iterator."""
        made: dict[int, Any] = {}
        for thing, put in self._known:
            if id(thing) not in made:
                made[id(thing)] = _copied(thing)
            put(made[id(thing)])


def _copied(thing: Iterator[Any]) -> Iterator[Any] | None:
    return copy.copy(thing) if type(thing) is itertools.count else copy_of(thing)
