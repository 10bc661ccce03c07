"""Objects that were there before the function is called, known by numbers as those that it makes.

While a program is captured, the caller's containers and the state hold views (``views``) in the
places of such objects, and the tables (``pools``) have their attributes.  In the end the objects
are in their places again, and each attribute that may have been written is one of two things::

    tracks[0].age  ->  what the table has on the runs that have written it, else what it was

which each run writes back as any other change of the state.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import paddle

from d2s.diagnostics.location import is_ours
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.origins import note_form
from d2s.runtime.lists.items.views import is_view, number_of, view_class
from d2s.runtime.trace import Capture, error_here
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import fields_of
from d2s.runtime.values.tensors import mark_number


class TakenIn:
    """The objects from outside of one capture.

    Args:
        capture: it.
        records: gives what is watched of the arguments and the state.
        owner: an object that is never known by a number, as the function is its method.
    """

    def __init__(
        self, capture: Capture, records: Callable[[], list[Any]], owner: object = None
    ) -> None:
        self.capture = capture
        self._records = records
        self._owner = owner
        self._seen: dict[int, Any] = {}
        self._views: dict[int, tuple[Any, Any]] = {}
        self._tuples: dict[int, tuple[Any, Any]] = {}
        self._things: dict[int, Any] = {}

    def arguments(self, args: Iterable[object], kwargs: dict[str, object]) -> tuple[Any, Any]:
        """The arguments, as the function sees them."""
        if not self.capture.takes_in:
            return args, kwargs
        self._take_in([*args, *kwargs.values()])
        return tuple(map(self._known, args)), {
            name: self._known(held) for name, held in kwargs.items()
        }

    def look(self) -> None:
        """Take in what has come to be watched, unless a branch or loop is under capture."""
        if self.capture.takes_in and not self.capture.blocks:
            self._take_in([])

    def _take_in(self, given: list[Any]) -> None:
        fresh = [each for each in self._records() if id(each.scope) not in self._seen]
        self._seen.update((id(each.scope), each) for each in fresh)
        found: dict[int, Any] = {}
        for item in (*given, *(item for each in fresh for _, item in _entries(each))):
            self._find(item, found)
        by_kind: dict[type, list[Any]] = {}
        for thing in found.values():
            by_kind.setdefault(type(thing), []).append(thing)
        for kind, things in by_kind.items():
            first = self.capture.pools[kind].rows.length
            for at, thing in enumerate(things):
                view = view_class(kind)._make([mark_number(paddle.assign(first + at), int)])
                self._views[id(thing)] = thing, view
                self._things[number_of(view).id] = thing
                self.capture.taken_in.append((thing, view))
        for each in fresh:
            for key, item in _entries(each):
                _bind(each.scope, key, item, self._known(item))
        for kind, things in by_kind.items():
            self.capture.pools[kind].take_in(things)
            for thing in things:
                object.__setattr__(thing, "__class__", _trap(kind))

    def _find(self, item: object, found: dict[int, Any]) -> None:
        if type(item) in self.capture.pools and is_object(item):
            if id(item) not in self._views and item is not self._owner:
                found[id(item)] = item
        elif tree.is_tuple(item) and not is_view(item):
            for part in tree.members(item):
                self._find(part, found)

    def _known(self, item: object) -> Any:
        """``item``, with views in the places of objects."""
        if id(item) in self._views:
            return self._views[id(item)][1]
        if not tree.is_tuple(item) or is_view(item):
            return item
        made = tree.map_children(self._known, item)
        if all(map(operator.is_, tree.members(made), tree.members(item))):
            return item
        self._tuples[id(made)] = made, item
        return made

    def _original(self, item: object) -> Any:
        if is_view(item):
            return self._things.get(number_of(item).id, item)
        return self._tuples[id(item)][1] if id(item) in self._tuples else item

    @contextmanager
    def settled(self) -> Iterator[None]:
        """What is outside holds objects, with what has become of them, as long as it is entered."""
        bound: list[tuple[Any, Any, Any]] = []
        grown = dict(self.capture.grown)
        try:
            self._settle(bound)
            yield
        finally:
            for scope, key, item in reversed(bound):
                _bind(scope, key, None, item)
            self.capture.grown = grown

    def settle(self) -> None:
        """The same for good."""
        self._settle([])

    def _settle(self, bound: list[tuple[Any, Any, Any]]) -> None:
        for each in self._seen.values():
            for key, item in _entries(each):
                original = self._original(item)
                if original is not item:
                    bound.append((each.scope, key, item))
                    _bind(each.scope, key, item, original)
        for thing, view in self._views.values():
            pool = self.capture.pools[view.__class__]
            fields = fields_of(thing)
            for name in (*pool.assigned, *(pool.changed - pool.assigned)):
                part, _, _ = pool._span(name)
                old = fields[name]
                now = Choice(pool.touched(view, name), pool.latest(view, name), old, name)
                if part.has_mutable and name in pool.changed:
                    note_form(old, now)
                else:
                    bound.append((fields, name, old))
                    fields[name] = now

    def leave(self) -> None:
        """Let the objects be of their classes again."""
        for thing, view in self._views.values():
            object.__setattr__(thing, "__class__", view.__class__)


def _entries(record: Any) -> list[tuple[Any, Any]]:
    if record.large or record.library or not _is_indexed(record.scope):
        return []
    return tree.pairs(record.now())


def _is_indexed(scope: object) -> bool:
    return isinstance(scope, types.CellType) or tree.is_indexed(scope)


def _bind(scope: object, key: object, held: object, item: object) -> None:
    if item is held:
        return
    if isinstance(scope, types.CellType):
        scope.cell_contents = item
    else:
        tree.put(scope, key, item)


def _trap(kind: type) -> type:
    """What the class of an object is while a view stands for it, wherever it is known."""

    def check() -> None:
        raise error_here(
            ContainerInGraphError,
            f"a {kind.__name__} that was there before the call is known by its place in a list, "
            "dict or attribute, and in another way, too",
            "reach it through the list, dict or attribute",
        )

    def read(self: object, name: str) -> Any:
        if name == "__class__":
            return kind
        if not is_ours(sys._getframe(1).f_code.co_filename):
            check()
        return object.__getattribute__(self, name)

    def write(self: object, name: str, value: object) -> None:
        check()

    made: Any = type(kind)
    own = {
        "__getattribute__": read, "__setattr__": write, "__slots__": (),
        "__module__": kind.__module__, "__qualname__": kind.__qualname__,
    }  # fmt: skip
    trap: type = made(kind.__name__, (kind,), own)
    return trap
