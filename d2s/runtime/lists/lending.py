"""Objects of the user's that are items of a list of the run, and where a change of one goes.

The list holds their attributes as leaves, so what is read out of it is a new object.  It is changed
as any other, in branches and loops too; what has become of it is written to its place when the list
is read the next time, and at the end of the branch or loop in which it was taken::

    hyp = hyps[i]           a new object with the attributes that hyps holds at i
    hyp.add(tokens, score)  changes the object
    hyps[j]                 first writes the object to the place i

Two objects that are taken at once may be one.  Where both are known and one is changed, the change
is refused; so is one of an object that was put into a list and is still known by a name.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import holders_of_alternative
from d2s.runtime.aliasing.snapshots import Frozen, check_doubles, freeze, note_placed, same_items
from d2s.runtime.lists.items.elements import OfRunLength
from d2s.runtime.trace import Block, Capture, current, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.tree import DEPTH, children, is_mutable


@dataclass(eq=False)  # an entry is itself: items may define or refuse `==`
class Lent:
    """An item that holds objects, taken out of a list or put into it.

    Attributes:
        owner: the list.
        item: what the user has.
        position: where it was taken; ``None`` if it was put in.
        known: its objects and their attributes, as the list holds them.
        moves: those of the list at that time.
        blocks: the branches and loops around.
        alone: no other item of the list was known when it was taken, or has been taken since.
    """

    owner: OfRunLength
    item: Any
    position: Any
    known: list[tuple[Any, dict[str, Any]]]
    moves: int
    blocks: tuple[Block, ...]
    alone: bool = True

    @property
    def changed(self) -> bool:
        """Whether the user has changed it since."""
        now = _known(self.item)
        return len(now) != len(self.known) or any(
            thing is not other
            or held.keys() != before.keys()
            or not all(same_items(held[name], before[name]) for name in held)
            for (thing, held), (other, before) in zip(now, self.known, strict=True)
        )

    def settle(self, *, here: bool) -> None:
        """Write what has become of it to the list.

        Args:
            here: the present block is the one in which it was taken.
        """
        owner = self.owner
        if owner.writing or not self.changed:
            return
        if self.position is None or not self.alone or owner.shared or owner.moves != self.moves:
            name = type(self.known[0][0]).__name__ if self.known else "object"
            wish(self.item)
            raise error_here(
                ContainerInGraphError,
                f"a {name} that is an item of {owner.name!r}, whose length a tensor decides, is "
                "changed where another name or place may know it",
                f"change it as {owner.name}[i], one after the other, and before or after the list "
                "is put in order or copied",
            )
        owner.write_back(self.item, self.position)
        if here:
            self.known = _known(self.item)


def objects_in(item: object, depth: int = DEPTH) -> Iterator[Any]:
    """The objects of the user's in an item, and those that they hold."""
    if isinstance(item, Choice):
        for leaf in item.leaves():
            yield from objects_in(leaf, depth)
    elif isinstance(item, Frozen):
        for part in item.items:
            yield from objects_in(part, depth)
    elif is_object(item) and depth:
        yield item
        for value in attributes_of(item).values():
            yield from objects_in(value, depth - 1)
    elif depth:
        for part in children(item):
            yield from objects_in(part, depth - 1)


def wish(item: object) -> None:
    """Note that what is refused for the objects in an item is not if they are pooled."""
    open_trace().wishes |= {type(thing) for thing in objects_in(item)}


def _known(item: object) -> list[tuple[Any, dict[str, Any]]]:
    return [
        (thing, {name: freeze(value) for name, value in attributes_of(thing).items()})
        for thing in objects_in(item)
    ]


def lend(owner: OfRunLength, item: Any, position: Any) -> None:
    """Note that an item was taken out of a list."""
    capture = current()
    if capture is None:
        return
    settle(owner)
    mine = [entry for entry in _open(capture) if entry.owner is owner]
    entry = _entry(capture, owner, item, position)
    for other in mine:
        if _is_referred_to(other):
            entry.alone = other.alone = False
    capture.lent.append(entry)


def put_in(owner: OfRunLength, item: object) -> None:
    """Note that an item is put into a list, which others may still know."""
    capture = current()
    if capture is None:
        return
    if isinstance(item, Choice) and any(True for _ in objects_in(item)):
        wish(item)
        raise error_here(
            ContainerInGraphError,
            f"one of several objects, as a tensor has decided, is put into {owner.name!r}, whose "
            "length a tensor decides",
            "put each into it in its branch, or put what they hold",
        )
    for thing in objects_in(item):
        for entry in _open(capture):
            if any(thing is other for other, _ in entry.known):
                owner.shared = entry.owner.shared = True
        if _is_live(thing):
            owner.shared = True
            capture.lent.append(_entry(capture, owner, thing, None))
        for held in attributes_of(thing).values():
            _note_held(owner, held)


def _note_held(owner: OfRunLength, held: object) -> None:
    """Note that others may know a list or dict of an object that is put into a list."""
    known = isinstance(held, OfRunLength) or is_mutable(held)
    if known and any(holder.live for holder in holders_of_alternative([held])):
        owner.shared = True
        if isinstance(held, OfRunLength):
            held.placed = True
        else:
            note_placed(held)


def settle(owner: OfRunLength, *, deeper: bool = True) -> None:
    """Write to a list what has become of its items.

    Args:
        owner: the list.
        deeper: also inside of branches and loops of the block in which they were taken.
    """
    capture = current()
    if capture is None or not capture.lent:
        return
    for entry in _open(capture):
        here = len(entry.blocks) == len(capture.blocks)
        if entry.owner is owner and (here or deeper):
            entry.settle(here=here)
            if here and not owner.writing and not _is_referred_to(entry):
                capture.lent.remove(entry)


def is_itself_only(thing: Any) -> bool:
    """Whether an object is equal to nothing else."""
    kind: Any = type(thing)
    return kind.__eq__ is object.__eq__


def check_identity(one: object, other: object) -> None:
    """Refuse to say whether two objects are one, if one of them was taken out of a list.

    It is a new object in the program, whichever item the list had been given.
    """
    capture = current()
    if capture is None or not capture.lent or one is other or type(one) is not type(other):
        return
    for entry in _open(capture) if is_object(one) else ():
        if any(thing is one or thing is other for thing, _ in entry.known):
            wish(one)
            raise error_here(
                ContainerInGraphError,
                f"an item of {entry.owner.name!r}, whose length a tensor decides, is an object, "
                "which is looked for among others",
                "give the objects a number or text by which they are told apart",
            )


def check_among(thing: object, others: Iterable[object]) -> None:
    """The same for an object that is looked for among ``others``."""
    for other in others if is_itself_only(thing) else ():
        check_identity(thing, other)


@contextlib.contextmanager
def left_alone() -> Iterator[None]:
    """Write no item back meanwhile: what is in them is of a block that has been given up."""
    capture = open_trace()
    kept, capture.lent = capture.lent, []
    try:
        yield
    finally:
        capture.lent = kept


def settle_block() -> list[Lent]:
    """The present block ends: write to all lists what has become of the items taken in it.

    Returns:
        Those items, which nobody may know any more.
    """
    check_doubles()
    capture = current()
    if capture is None or not capture.lent:
        return []
    found = [each for each in _open(capture) if len(each.blocks) == len(capture.blocks)]
    for entry in found:
        entry.settle(here=True)
        capture.lent.remove(entry)
        if capture.blocks and _is_live(entry.item):
            raise _kept(entry)
    return found


def check_given(items: list[Lent], given: Iterable[object]) -> None:
    """Refuse a block that gives one of ``items``, which it has taken out of a list.

    ``row = rows[-1] if rows else None`` would be a new object, of which the list knows nothing.

    Args:
        items: what was taken in the block.
        given: what it gives, frozen.
    """
    things = [thing for value in given for thing in objects_in(value)] if items else []
    for entry in items:
        if any(thing is other for thing, _ in entry.known for other in things):
            raise _kept(entry)


def _kept(entry: Lent) -> Exception:
    wish(entry.item)
    done = "put into it" if entry.position is None else "read"
    return error_here(
        ContainerInGraphError,
        f"an item of {entry.owner.name!r}, whose length a tensor decides, is an object that is "
        f"known or handed on when the branch or loop is over in which it was {done}",
        f"read it behind it: {entry.owner.name}[i]",
    )


def _entry(capture: Capture, owner: OfRunLength, item: Any, position: Any) -> Lent:
    return Lent(owner, item, position, _known(item), owner.moves, tuple(capture.blocks))


def _open(capture: Capture) -> list[Lent]:
    """The entries whose blocks are still open, the others are dropped."""
    blocks = tuple(capture.blocks)
    capture.lent[:] = [
        entry
        for entry in capture.lent
        if len(entry.blocks) <= len(blocks)
        and all(mine is now for mine, now in zip(entry.blocks, blocks, strict=False))
    ]
    return list(capture.lent)


def _is_referred_to(entry: Lent) -> bool:
    """Whether more refers to one of the objects than what keeps it here.

    That are ``known``, the item or object around, ``born``, and the two names of the question.
    """
    return any(sys.getrefcount(thing) > 5 for thing, _ in entry.known)


def _is_live(item: object) -> bool:
    things = list(objects_in(item))
    return bool(things) and any(holder.live for holder in holders_of_alternative(things))
