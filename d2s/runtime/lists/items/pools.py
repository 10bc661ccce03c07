"""Objects of a class that are known by reference: their attributes in tables, and views of them.

A list of the run holds leaves, not objects, so what is read out of it is another object
(``lists.lending``).  Where a program needs more, as two names of one object, it is captured once
more with the class *pooled*: the attributes of all its objects are the rows of one table, and what
the program has in the place of an object is its number there::

    track = Track(box)        a row of the table of Track; track is a view with its number
    tracks.append(track)      the list holds the number
    track.age += 1            reads and writes the row, whoever holds the number
    a is b                    compares numbers

A view is a tuple of the number, of a class derived of the user's: branches, loops and lists hand it
on as they do tuples.  The tables are state of the program as variables are, see ``State``.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

import paddle

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import holders_of_alternative
from d2s.runtime.aliasing.snapshots import note_placed
from d2s.runtime.lists.items.elements import Element, OfRunLength
from d2s.runtime.lists.items.fixed import attach
from d2s.runtime.lists.items.parts import own
from d2s.runtime.lists.items.rows import joined, opened, zero_rows
from d2s.runtime.lists.items.structures import (
    Inner,
    OneOf,
    Record,
    attribute_element,
    joint_attribute,
)
from d2s.runtime.lists.items.views import (
    can_be_pooled,
    is_view,
    kind_of_view,
    number_of,
    pool_of,
    view_class,
)
from d2s.runtime.trace import Block, Capture, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.objects import fields_of
from d2s.runtime.values.tensors import mark_number
from d2s.runtime.values.tree import children, is_mutable, map_children

Made = TypeVar("Made")

MOST: Final = 24
"""So often a program is captured once more for its pools."""


MOST_LEAVES: Final = 256
"""So many values may be in the attributes of one object."""


class NeedsPoolError(BaseException):
    """The program is captured once more, with pools of these classes.

    Attributes:
        found: the classes, and what is known of their objects.
    """

    def __init__(self, found: dict[type, Record | None]) -> None:
        super().__init__()
        self.found = found


def with_pools(
    captured: Callable[[Capture], Made], first: Capture, begun: Callable[..., Capture]
) -> Made:
    """A program, with objects known by numbers where they have to be.

    Args:
        captured: makes one.
        first: what its operators know in the first attempt; it is told whether the last one has
            made a static loop of one of Python.
        begun: begins another attempt.
    """
    state, kinds, takes_in = first, dict[type, Any](), False
    for _ in range(MOST):
        try:
            return captured(state)
        except (D2SError, NeedsPoolError) as error:
            first.rolled, first.stepping = state.rolled, state.stepping
            more = _pooling(kinds, state.wishes, error)
            if more == kinds and (takes_in or not kinds):
                raise
            takes_in = takes_in or more == kinds
            kinds = more
            if any(made is not None and len(made.leaves) > MOST_LEAVES for made in kinds.values()):
                break  # an attribute holds what it has held before, as a part
        state = begun(rolls=first.rolls, pooled=kinds, takes_in=takes_in)
    raise ContainerInGraphError(
        f"what the attributes of objects hold ({', '.join(kind.__name__ for kind in kinds)}) is "
        "something else again and again",
        cure="let each attribute hold one kind of thing",
    )


def _pooling(
    known: dict[type, Record | None], wishes: set[type], error: BaseException
) -> dict[type, Record | None]:
    """The classes whose objects are known by numbers in the next capture, after ``error``."""
    new = sorted(wishes - known.keys(), key=lambda kind: (kind.__module__, kind.__qualname__))
    found: dict[type, Record | None] = dict.fromkeys(new)
    if isinstance(error, NeedsPoolError):
        found |= error.found
    more = {kind: made for kind, made in found.items() if can_be_pooled(kind)}
    for kind in more:
        view_class(kind)  # while its methods are the user's
    return {**known, **more}


def columns_of_attribute(kind: type, name: str) -> tuple[Element, list[Any]]:
    """What an attribute of objects is, and the rows of the table that are its."""
    pool = open_trace().pools[kind]
    part, first, end = pool._span(name)
    return part, pool.rows.need_rows()[first:end]


class Pool:
    """The objects of one class.

    Attributes:
        kind: the class.
        table: under which name ``Capture.tables`` has the list of their attributes.
        shared: somebody else may know a list or dict that is an attribute of one.
        begins: objects that were there before are among them.
        assigned, changed: attributes that have been bound, and whose lists or dicts have been
            changed, where objects that were there before are known by numbers.
    """

    def __init__(self, kind: type, element: Record | None, capture: Capture) -> None:
        self.kind = kind
        self.known = element is not None
        element = element or Record(kind, (), [])
        self.table = f"the objects of {kind.__name__} {len(capture.pools)}"
        rows = OfRunLength.inner(element, [zero_rows(leaf) for leaf in element.leaves], [])
        rows.name = f"{kind.__name__} objects"
        capture.tables[self.table] = rows
        self.shared = False
        self.begins = False
        self.assigned: set[str] = set()
        self.changed: set[str] = set()
        self._read: dict[str, list[tuple[Any, tuple[object, tuple[Block, ...]]]]] = {}

    @property
    def rows(self) -> Any:
        """The list of the run that holds their attributes."""
        return open_trace().tables[self.table]

    @property
    def element(self) -> Record:
        """What their attributes are."""
        element: Record = self.rows.element
        return element

    @property
    def names(self) -> tuple[str, ...]:
        """The names of their attributes."""
        return self.element.names

    def adopt(self, thing: object) -> Any:
        """A view in the place of an object that has just been made."""
        known = self._fit([thing])
        if holders_of_alternative([thing]):
            raise error_here(
                ContainerInGraphError,
                f"a {self.kind.__name__} is put somewhere by its __init__, and into a list whose "
                "length a tensor decides",
                "put it there when it is made",
            )
        for held in attributes_of(thing).values():
            self._note_held(held)
        leaves = [paddle.unsqueeze(leaf, 0) for leaf in known.flatten(thing)]
        number = mark_number(paddle.assign(self.rows.length), int)
        self.rows._join([leaves])
        return view_class(self.kind)._make([number])

    def take_in(self, things: list[Any]) -> None:
        """Rows of objects that were there before, and that views stand for already."""
        known, self.begins = self._fit(things), True
        for thing in things:
            for name, held in attributes_of(thing).items():
                self._note_held(held, (id(fields_of(thing)), name))
        rows = [[paddle.unsqueeze(leaf, 0) for leaf in known.flatten(thing)] for thing in things]
        self.rows._join(rows)

    def touched(self, view: object, name: str) -> Any:
        """Whether an attribute of an object that was there before has been written."""
        said = self.rows.need_rows()[0][number_of(view) + 1]
        return mark_number(paddle.bitwise_and(said, self._bit(name)) != 0, bool)

    def latest(self, view: object, name: str) -> Any:
        """What an attribute of an object holds now."""
        part, first, end = self._span(name)
        place = number_of(view) + 1
        return own(part.take(iter([row[place] for row in self.rows.need_rows()[first:end]])))

    def _bit(self, name: str) -> Any:
        return paddle.full([], 1 << self.names.index(name), "int64")

    def _fit(self, things: list[Any]) -> Record:
        """What the attributes are, which is so of these objects, too."""
        elements = list(map(_pooled_record, things))
        joint: Element
        joint = known = self.element if self.known else elements[0]
        for element in elements:
            joint = joint.with_(self._like(known, element))
        if not self.known:
            raise NeedsPoolError({self.kind: _record(joint)})
        self._widen(joint)
        return known

    def _like(self, known: Record, element: Record) -> Record:
        """``element`` with its attributes in the order of others."""
        if set(element.names) != set(known.names):
            raise error_here(
                ContainerInGraphError,
                f"objects of class {self.kind.__name__!r} that are in a list whose length a tensor "
                "decides have different attributes",
                "give all of them the same ones in __init__",
            )
        places = [element.names.index(name) for name in known.names]
        return Record(self.kind, known.names, [element.parts[at] for at in places])

    def copy(self, view: object) -> Any:
        """Another object with the same attributes."""
        rows = self.rows
        place = paddle.reshape(number_of(view) + 1, [1])
        number = mark_number(paddle.assign(rows.length), int)
        rows._join([[paddle.gather(row, place) for row in rows.need_rows()]])
        self.shared = self.shared or any(part.has_mutable for part in self.element.parts)
        return view_class(self.kind)._make([number])

    def _note_held(self, held: object, place: object = None) -> None:
        """Note that somebody knows a list or dict, besides the attribute that is at ``place``."""
        if not (isinstance(held, OfRunLength) or is_mutable(held)):
            return
        found = holders_of_alternative([held])
        if any(holder.live and holder.place != place for holder in found):
            self.shared = True
            if isinstance(held, OfRunLength):
                held.placed = True
            else:
                note_placed(held)

    def _widen(self, joint: Element) -> None:
        if joint != self.element:
            raise NeedsPoolError({self.kind: _record(joint)})

    def _span(self, name: str) -> tuple[Element, int, int]:
        """What an attribute is, and the leaves of the table that are its."""
        element = self.element
        first = 1
        for known, part in zip(element.names, element.parts, strict=True):
            if known == name:
                return part, first, first + len(part.leaves)
            first += len(part.leaves)
        raise AttributeError(name)

    def read(self, view: object, name: str) -> Any:
        """An attribute of an object."""
        part, first, end = self._span(name)
        place = number_of(view) + 1
        item = part.take(iter([row[place] for row in self.rows.need_rows()[first:end]]))
        if not part.has_mutable:
            return item
        blocks, token = tuple(open_trace().blocks), object()

        def write(new: object) -> None:
            alive = {known for _, (known, _) in self._known(name)}
            here = tuple(open_trace().blocks)
            if self.shared or not are_one(here, blocks) or alive - {token}:
                raise error_here(
                    ContainerInGraphError,
                    f"a list or dict that is the attribute {name!r} of a {self.kind.__name__}, "
                    "which one it is a tensor decides, is changed where another name may know it, "
                    "or in a branch or loop of its own",
                    f"change it as x.{name}.append(y), or assign a new one",
                )
            self.write(view, name, new, inside=True)

        def note(part: object) -> None:
            self._read[name].append((weakref.ref(part), (token, blocks)))

        write.owner, write.note = self.rows, note  # type: ignore[attr-defined]
        self._read[name] = self._known(name)
        for found in attach(item, write):
            note(found)
        return item

    def _known(self, name: str) -> list[tuple[Any, tuple[object, tuple[Block, ...]]]]:
        """The lists and dicts that were read, where code can reach them."""
        now = tuple(open_trace().blocks)
        return [
            (ref, (token, blocks))
            for ref, (token, blocks) in self._read.get(name, [])
            if ref() is not None and are_one(blocks, now[: len(blocks)])
        ]

    def write(self, view: object, name: str, value: object, *, inside: bool = False) -> None:
        """Bind an attribute of an object, or let the list or dict in it be what it has become."""
        if name not in self.names:
            raise error_here(
                ContainerInGraphError,
                f"a {self.kind.__name__}, which one it is a tensor decides, gets the attribute "
                f"{name!r} that others do not have",
                "give it to all of them in __init__",
            )
        element = self.element
        parts = list(element.parts)
        at = self.names.index(name)
        check_pooled(value)
        parts[at] = joint_attribute(name, parts[at], attribute_element(value))
        self._widen(Record(self.kind, self.names, parts))
        self._note_held(value)
        part, first, end = self._span(name)
        if first == end:
            return
        leaves = dict(zip(range(first, end), part.flatten(value), strict=True))
        place = number_of(view) + 1
        if open_trace().takes_in:
            (self.changed if inside else self.assigned).add(name)
            if part.has_mutable and self.begins and name in self.assigned & self.changed:
                raise error_here(
                    ContainerInGraphError,
                    f"a list or dict that is the attribute {name!r} of a {self.kind.__name__} "
                    "which was there before the call is changed, and replaced, too",
                    "do one of the two",
                )
            leaves[0] = paddle.bitwise_or(self.rows.need_rows()[0][place], self._bit(name))
        self._put(place, leaves)

    def _put(self, place: Any, leaves: dict[int, Any]) -> None:
        """Give an object other leaves, by their positions."""
        rows = list(self.rows.need_rows())
        last = self.rows.length + 1
        for position, leaf in leaves.items():
            row, known = rows[position], self.element.leaves[position]
            before = paddle.slice(row, [0], [0], [place])
            after = paddle.slice(row, [0], [place + 1], [last])
            made = joined([before, paddle.unsqueeze(leaf, 0), after], ragged=known.ragged)
            rows[position] = opened(made, known.shape)
        self.rows.set_rows(rows)


def _record(element: Element) -> Record:
    assert isinstance(element, Record)
    return element


def are_one(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two hold the same things."""
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _pooled_record(thing: object) -> Record:
    for held in attributes_of(thing).values():
        check_pooled(held)
    return Record.of(thing)


def check_pooled(value: object, depth: int = 4) -> None:
    """Ask for pools of the classes of objects that are held by one that is pooled."""
    capture = open_trace()
    if isinstance(value, Choice):
        for leaf in value.leaves():
            check_pooled(leaf, depth)
    elif is_view(value):
        return
    elif is_object(value):
        made = capture.born.get(id(value)) is value
        if made and type(value) not in capture.pools and can_be_pooled(type(value)):
            raise NeedsPoolError({type(value): Record.of(value)})
    elif depth:
        for part in children(value):
            check_pooled(part, depth - 1)


def open_pools(capture: Capture, wanted: dict[type, Record | None]) -> None:
    """Begin a capture with pools of these classes."""
    for kind, element in wanted.items():
        capture.pools[kind] = Pool(kind, element, capture)


def pooled(thing: object) -> Any:
    """A new object, or the view in its place."""
    pool = None if is_view(thing) else pool_of(type(thing))
    return thing if pool is None else pool.adopt(thing)


def copied_view(thing: object, *, deep: bool = False) -> Any:
    """``copy.copy`` of an object that is known by its number, or ``copy.deepcopy`` of a thing."""
    pool = pool_of(thing.__class__) if is_view(thing) else None
    if pool is None or (deep and any(map(_holds_more, pool.element.parts))):
        raise error_here(
            ContainerInGraphError,
            "copy.deepcopy() of objects that hold others, which ones a tensor decides",
            "make a new object of the attributes",
        )
    return pool.copy(thing)


def _holds_more(element: Element) -> bool:
    kinds = [getattr(element, "kind", None), *(part for part in getattr(element, "parts", ()))]
    return element.has_mutable or len(kinds) > 1 or isinstance(element, OneOf)


def resolved(thing: object, objects: dict[type, list[Any]]) -> Any:
    """``thing`` of a run, with the objects in the places of their views."""
    if is_view(thing):
        return objects[kind_of_view(thing)][number_of(thing)]
    return map_children(lambda part: resolved(part, objects), thing)


def linked(objects: dict[type, list[Any]], before: frozenset[int]) -> dict[type, list[Any]]:
    """The objects of a run, each with the other ones in its attributes.

    Args:
        objects: them.
        before: the ids of those that were there before, with attributes of their own.
    """
    for found in objects.values():
        for thing in found:
            if id(thing) in before:
                continue
            for name, value in vars(thing).items():
                vars(thing)[name] = resolved(value, objects)
    return objects


def wish_for(element: Element) -> None:
    """Note that what is refused for the objects in items is not if they are pooled."""
    if isinstance(element, Record):
        open_trace().wishes.add(element.kind)
    for part in (*getattr(element, "parts", ()), *getattr(element, "options", ())):
        wish_for(part)
    if isinstance(element, Inner) and element.element is not None:
        wish_for(element.element)
