"""Lists and dicts that were read out of a list of the run, and what a change of one does.

The list holds leaves, not objects, so a change in place goes back to the place that was read::

    rows[i].append(x)     rows[i] is a FixedList of the leaves there; append makes a new list of
                          it, and writes that to rows[i]

That is right as long as nobody else knows the object: see :meth:`storage.ItemStore.write_back`.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import is_held
from d2s.runtime.trace import Block, error_here, open_trace
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tree import DEPTH, children, is_tuple, members

Write = Callable[[Any], None]
"""Puts another thing into the place that something was read from."""


def _changing(kind: type, name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        write = getattr(self, "write", None)
        if write is None:
            raise error_here(
                ContainerInGraphError,
                f"a {kind.__name__} that is an item of a list whose length a tensor decides is "
                "changed in place",
                "make a new one, and assign it to the place in the list",
            )
        made = kind(self)
        result = getattr(made, name)(*args, **options)
        write(made)
        getattr(kind, "clear")(self)  # noqa: B009 - of the class itself
        getattr(kind, "extend" if kind is list else "update")(self, made)
        return self if result is made else result

    method.__name__ = name
    return method


class FixedList(list[Any]):
    """A list that was read out of a growing one."""

    __slots__ = ("__weakref__", "write")
    write: Write
    d2s_plain = list

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(list(self), memo)


class FixedDict(dict[Any, Any]):
    """A dict that was read out of a growing list."""

    __slots__ = ("__weakref__", "write")
    write: Write
    d2s_plain = dict

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return copy.deepcopy(dict(self), memo)


for _name in (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(FixedList, _name, _changing(list, _name))
for _name in (
    "pop", "popitem", "clear", "update", "setdefault", "__setitem__", "__delitem__", "__ior__",
):  # fmt: skip
    setattr(FixedDict, _name, _changing(dict, _name))


def shallow(view: FixedList | FixedDict) -> Any:
    """A list or dict of Python with the same items."""
    return list(view) if isinstance(view, FixedList) else dict(view)


def attach(item: Any, write: Write) -> list[Any]:
    """Let a change of ``item``, or of a list or dict in it, go where ``write`` puts it.

    Returns:
        all that can be changed in it.
    """
    if isinstance(item, Choice):
        return [part for leaf in item.leaves() for part in attach(leaf, write)]
    if isinstance(item, FixedList):
        item.write = write
        return [item, *_attach_parts(item, list(enumerate(item)), write)]
    if isinstance(item, FixedDict):
        item.write = write
        return [item, *_attach_parts(item, list(item.items()), write)]
    if is_tuple(item):
        return _attach_parts(item, list(enumerate(members(item))), write)
    if hasattr(type(item), "d2s_freeze") and not item.frozen:
        item.writer = write
        return [item]
    return []


def _attach_parts(item: Any, parts: list[tuple[Any, Any]], write: Write) -> list[Any]:
    """The same for what a structure holds, of which a change is one of the structure.

    None of these functions holds its own part, so that parts nobody reads are gone at once.
    """
    found: list[Any] = []
    if hasattr(item, "_make"):
        blank: Callable[..., Any] = functools.partial(tuple.__new__, type(item))
    else:
        blank = getattr(type(item), "d2s_plain", tuple)
    for place, part in parts:
        others = {key: None if key == place else other for key, other in parts}
        found += attach(part, functools.partial(_put, blank, others, place, write))
    return found


def owner_of_view(thing: object) -> Any:
    """The list of the run that a list or dict was read out of; ``None`` for other things."""
    return getattr(_base(_write_of(thing)), "owner", None)


def place_of_view(thing: object) -> Any:
    """The position at which a list or dict is in the list that it was read out of.

    ``None`` for what is inside of an item, and where that list has changed since.
    """
    position, moves = getattr(_write_of(thing), "place", (None, 0))
    return None if position is None or owner_of_view(thing).moves != moves else position


def _put(make: Any, others: dict[Any, Any], place: Any, write: Write, new: Any) -> None:
    """Write a structure with ``new`` at one place."""
    held = {**others, place: new}
    write(held if make is dict else make(held.values()))


def parts_within(item: object, depth: int = DEPTH) -> Iterator[Any]:
    """An item and what is in it, where a tensor has decided with all that it may be."""
    if isinstance(item, Choice):
        for leaf in item.leaves():
            yield from parts_within(leaf, depth)
    elif depth:
        yield item
        for part in children(item):
            yield from parts_within(part, depth - 1)


def hand_on(view: object, made: Any) -> None:
    """Let changes of ``made`` go where those of ``view`` went, in whose place it is from here on.

    Args:
        view: any container; nothing is done for one that was not read out of a list of the run.
        made: one of the run.
    """
    write = _write_of(view)
    if write is not None:
        made.writer = write
        _base(write).note(made)


class Owner(Protocol):
    """A list of the run: see ``storage.ItemStore``."""

    moves: int
    lent: list[tuple[Any, object]]

    def item_at(self, position: paddle.Tensor) -> Any:
        """The item at a position."""

    def cannot_write_back(self) -> Exception:
        """The refusal to change an item in place, which this list would not see."""


class HandedOut:
    """Writes a list or dict that a branch has handed out to where its sides have read it.

        row = a["k"] if c else b["k"]       row is one new list behind the branch
        row.append(x)                       of a["k"] where c holds, else of b["k"]

    Args:
        owners: the lists of the run that the two sides have read it out of.
        position: where it is in the one that is meant; ``None`` if nobody can say.
        path: how it is reached from the item there.
        flag: which side was taken.
    """

    key = None
    place: tuple[Any, int] = None, -1

    def __init__(
        self,
        owners: tuple[Owner, Owner],
        position: paddle.Tensor | None = None,
        path: tuple[Any, ...] = (),
        flag: paddle.Tensor | None = None,
    ) -> None:
        self.owner = owners[0]
        self.owners, self.position, self.path, self.flag = owners, position, path, flag
        self._moves: tuple[int, ...] = ()
        self._blocks: tuple[Block, ...] = ()

    @property
    def token(self) -> object:
        """What all have in common that show one item."""
        return self

    def note(self, part: object) -> None:
        """Note that ``part`` shows an item of these lists."""
        for owner in {id(each_): each_ for each_ in self.owners}.values():
            owner.lent.append((weakref.ref(part), self))

    def settle(self) -> None:
        """The branch is over: the lists hold what they hold behind it."""
        self._moves = tuple(owner.moves for owner in self.owners)
        self._blocks = tuple(open_trace().blocks)

    def __call__(self, new: object) -> None:
        """Write what has become of the list or dict."""
        moves = tuple(owner.moves for owner in self.owners)
        same = moves == self._moves and tuple(open_trace().blocks) == self._blocks
        if self.position is None or not same or not all(map(is_held, self.owners)):
            raise self.owner.cannot_write_back()
        if self.owners[0] is self.owners[1]:
            self._write(self.owner, new)
        else:
            each(lambda owner: self._write(owner, new), Choice(self.flag, *self.owners))
        self._moves = tuple(owner.moves for owner in self.owners)

    def _write(self, owner: Owner, new: object) -> None:
        moves, known = owner.moves, _without(owner, self)
        part = owner.item_at(self.position)
        for step in self.path:
            part = part[step]
        write = _write_of(part)
        if write is None:
            raise owner.cannot_write_back()
        write(new)
        owner.moves = moves  # no item has got another place
        owner.lent += known


def _without(owner: Owner, token: object) -> list[Any]:
    """Forget what shows an item of a list; it."""
    known = [entry for entry in owner.lent if entry[1] is token]
    owner.lent = [entry for entry in owner.lent if entry[1] is not token]
    return known


def handed_out(made: object, write: HandedOut) -> Any:
    """``made``, which a branch has handed out, or what is one as it is, with where changes go."""
    view = _VIEWS.get(type(made))
    shown = made if view is None else view(made)
    for part in attach(shown, write) if not isinstance(shown, Choice) else ():
        write.note(part)
    return shown


_VIEWS: Final[dict[type, Callable[..., Any]]] = {list: FixedList, dict: FixedDict}


def route_of_view(view: object) -> tuple[Any, ...] | None:
    """The position of the item that a list or dict was read out of, and the steps from there.

    ``None`` where the list of the run has changed since, or nobody can say.
    """
    write, path = _write_of(view), []
    while isinstance(write, functools.partial):
        path.append(write.args[2])
        write = write.args[3]
    position, moves = getattr(write, "place", (None, 0))
    if position is None or write.owner.moves != moves:
        return None
    return position, *reversed(path)


def forget_view(view: object) -> None:
    """Note that nobody will see ``view`` again, in whose place another one is."""
    write = _base(_write_of(view))
    if write is not None:
        _without(write.owner, write.token)


def note_key(item: object, key: object) -> None:
    """Note under which key, or at which index, an item was read, which can be changed in place."""
    write = _base(_write_of(item))
    if write is not None:
        write.key = key


def is_item_at(item: object, owner: object, key: object, *, depth: int = 0) -> bool:
    """Whether ``item`` is what ``owner`` has under ``key``, and was read of it with that very key.

    Args:
        item: is assigned to the place.
        owner: a list of the run.
        key: the object.
        depth: how many structures are around an item, as a pair of a key and it.
    """
    write = _write_of(item)
    for _ in range(depth):
        write = write.args[3] if isinstance(write, functools.partial) else None
    if write is None or getattr(write, "owner", None) is not owner:
        return False
    moves: int = write.owner.moves
    return getattr(write, "key", None) is key and write.place[1] == moves


def _write_of(thing: object) -> Any:
    if isinstance(thing, FixedList | FixedDict):
        return getattr(thing, "write", None)
    return getattr(thing, "writer", None) if hasattr(type(thing), "d2s_freeze") else None


def _base(write: Write | None) -> Any:
    """What writes to the list, of what writes a part of an item."""
    while isinstance(write, functools.partial):
        write = write.args[3]
    return write


def changed_in_another(name: str) -> Exception:
    """The refusal of a change that the list which this one has been put into would not see."""
    return error_here(
        ContainerInGraphError,
        f"the list {name!r}, whose length a tensor decides, is changed when it has been put into "
        "another one",
        f"put a copy into it: {name}.copy()",
    )
