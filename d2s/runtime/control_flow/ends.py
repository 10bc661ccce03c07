"""What the sides of a branch leave in objects, and who else knows these.

A branch that makes a new object on one side leaves one of two objects behind it::

    if x.sum() > 5:
        state.n += 1                    the old one, with a changed attribute
    else:
        state = State(state.x, 0)       a new one

Where nobody else knows either, one object with the attributes of both stands for them.  What an
old object held at the end of a side is part of the side's outcome: it is put back for the other.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any, Final

from d2s.diagnostics.frames import is_part
from d2s.runtime.aliasing.holders import Holder, holders_of, is_in_an_alternative
from d2s.runtime.aliasing.origins import snapshots_in
from d2s.runtime.aliasing.reach import REACH
from d2s.runtime.aliasing.slots import Attribute, Slot, slot_key
from d2s.runtime.aliasing.snapshots import Frozen, freeze, note_placed
from d2s.runtime.aliasing.variables import State
from d2s.runtime.lists.items.elements import OfRunLength
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import (
    CONTAINERS,
    attributes_of,
    empty,
    is_object,
    set_attributes,
)
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tree import DEPTH, children, is_mapping, is_mutable, members
from d2s.runtime.values.unbound import UNBOUND


def made_like(thing: object) -> Any:
    """An object of the same class without attributes; ``None`` if only the class can make one."""
    try:
        return born(empty(type(thing)))
    except TypeError:
        return None


def set_on_each(made: object, attributes: dict[str, Any]) -> object:
    """``made``, or each of the several things that it may be, with these attributes."""
    for form in made.leaves() if isinstance(made, Choice) else (made,):
        set_attributes(form, attributes)
    return made


def born(thing: object) -> Any:
    """``thing``, which the capture has made: it is no state of the user's."""
    capture = current()
    if capture is not None:
        capture.born[id(thing)] = thing
    return thing


def is_born(thing: object) -> bool:
    """Whether ``thing`` is an object that the captured code has made."""
    capture = current()
    return capture is not None and capture.born.get(id(thing)) is thing and is_object(thing)


class Ends:
    """What is held at the end of one side of a branch.

    Args:
        slots: the state that the branch hands on.
        outcome: what the side has left there, frozen.
    """

    def __init__(self, slots: list[Slot] | None = None, outcome: list[Any] | None = None) -> None:
        self._outcome = outcome or []
        self._keys: list[Any] = [slot_key(slot) for slot in slots or ()]
        self._fields: dict[int, dict[str, Any]] = {}
        self._known: dict[int, set[Any]] | None = None
        self._too_many = False
        self._snapshots: dict[int, Frozen] | None = None
        self._put: dict[int, Any] | None = None
        for slot, value in zip(slots or (), self._outcome, strict=True):
            if isinstance(slot, Attribute):
                self._fields.setdefault(id(slot.owner), {})[slot.name] = value

    def attributes(self, thing: object) -> dict[str, Any]:
        """The attributes of an object, lists and dicts frozen."""
        found = {name: self.frozen(value) for name, value in attributes_of(thing).items()}
        found.update(self._fields.get(id(thing), {}))
        return {name: value for name, value in found.items() if value is not UNBOUND}

    def frozen(self, value: object) -> Any:
        """A container with what it held, also in a choice; the rest as it is."""
        if isinstance(value, Choice):
            return value.like(self.frozen(value.true), self.frozen(value.false))
        if type(value) is tuple:
            return tuple(map(self.frozen, value))
        if not (isinstance(value, CONTAINERS) or hasattr(type(value), "d2s_freeze")):
            return value
        if self._snapshots is None:
            self._snapshots = snapshots_in(self._outcome)
        return self._snapshots.get(id(value)) or freeze(value)

    def has_put(self, container: object) -> bool:
        """Whether the side has put a list or dict into one of the run, which will hold a copy."""
        if self._put is None:
            held = snapshots_in(self._outcome).values()
            grown = [each.items for each in held if isinstance(each.container, OfRunLength)]
            waiting = [part for items in grown for part in items if type(part) is tuple]
            self._put = {id(each): each for part in waiting for each in _containers(part)}
        return self._put.get(id(container)) is container

    def is_shared(self, thing: object) -> bool:
        """Whether what the side leaves holds an object in more than one place."""
        if self._known is None:
            self._known = {}
            self._look()
        return self._too_many or len(self._known.get(id(thing), ())) > 1

    def _look(self) -> None:
        assert self._known is not None
        queue: list[tuple[Any, Any]] = list(zip(self._keys, self._outcome, strict=True))
        seen: dict[int, Any] = {}
        while queue:
            key, thing = queue.pop()
            if is_object(thing):
                self._known.setdefault(id(thing), set()).add(key)
            if id(thing) in seen:
                continue
            seen[id(thing)] = thing
            self._too_many = self._too_many or len(seen) > REACH
            if not self._too_many:
                queue.extend(((id(thing), place), part) for place, part in self.parts(thing))

    def parts(self, thing: object) -> Iterator[tuple[Any, Any]]:
        """What stands right below a snapshot, choice, tuple or object, with its key."""
        if isinstance(thing, Frozen):
            yield from thing.items if is_mapping(thing.container) else enumerate(thing.items)
            if dict_of(thing.container):
                yield from attributes_of(thing.container).items()
        elif isinstance(thing, Choice):
            yield from (("true", thing.true), ("false", thing.false))
        elif isinstance(thing, tuple):
            yield from enumerate(members(thing))
        elif is_object(thing):
            yield from self.attributes(thing).items()


def _containers(thing: object, depth: int = DEPTH) -> Iterator[Any]:
    """A list or dict, and those that it holds; those in a tuple."""
    if is_mutable(thing):
        yield thing
    for part in children(thing) if depth else ():
        yield from _containers(part, depth - 1)


def note_put(ends: Iterable[Ends], left: Iterable[object]) -> None:
    """Note of what two sides have left that a list of the run holds it, too, where it does."""
    for each, value in zip(ends, left, strict=True):
        if isinstance(value, Frozen) and each.has_put(value.container):
            note_placed(value.container)


def is_named_elsewhere(thing: object, state: State | None = None, path: str | None = None) -> bool:
    """Whether something besides ``state`` and ``path`` may go on to know an object."""
    capture = current()
    if capture is None or _is_known_outside(thing):
        return True
    found = holders_of(thing)
    mine = {next((holder.place for holder in found if holder.path == path), None)}
    for slot, name in zip(state.slots, state.names, strict=True) if state is not None else ():
        if slot.get() is thing:
            place = next((holder.place for holder in found if holder.path == name), None)
            mine.add(place)
    if any(_is_live(holder, found) for holder in found if holder.place not in mine):
        return True
    return is_in_an_alternative(thing)  # ``rows`` is a list of one or two, as a branch has decided


def _is_known_outside(thing: object) -> bool:
    capture = current()
    assert capture is not None
    return capture.callers.get(id(thing)) is thing or any(
        record.object is thing for record in capture.watched()
    )


def _is_live(holder: Holder, found: list[Holder]) -> bool:
    """Whether a variable may be read again; the innermost function that says so decides."""
    if holder.frame is None:
        return True
    for other in found:
        if other.place == holder.place and other.frame is not None:
            fate = _fate(other.frame, other.path)
            if fate != "open":
                return fate == "read"
    return False


@functools.lru_cache(maxsize=4096)
def _is_kept(code: types.CodeType, name: str) -> bool:
    """Whether a variable of ``code`` has a function of the user's that reads the variable ``name``.

    A body that a pass has written is a part of the function, and runs where it stands.
    """
    steps = list(dis.get_instructions(code))
    for index, step in enumerate(steps):
        inner = step.argval
        if not isinstance(inner, types.CodeType) or name not in inner.co_freevars:
            continue
        if is_part(inner, code):
            if _is_kept(inner, name):
                return True
            continue
        follow = (each.opname for each in steps[index + 1 :])
        if next((each for each in follow if each not in _MAKING), "").startswith("STORE_"):
            return True
    return False


_MAKING: Final = ("LOAD_CONST", "MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")
"""What stands between the code of a function and what is done with the function."""


def _fate(frame: types.FrameType, name: str) -> str:
    """What the rest of a function does with a variable first.

    Returns:
        ``"read"`` if it may read it, ``"bound"`` if it surely binds it before, else ``"open"``.
    """
    code = frame.f_code
    if _is_kept(code, name):
        return "read"
    steps = list(dis.get_instructions(code))
    handlers = getattr(code, "co_exceptiontable", b"") or any(
        step.opname.startswith("SETUP_") for step in steps
    )
    if handlers:
        named = any(step.opname.startswith("LOAD_") and _names(step, name) for step in steps)
        return "read" if named else "open"
    at = {step.offset: index for index, step in enumerate(steps)}
    queue = [next((i for i, step in enumerate(steps) if step.offset > frame.f_lasti), len(steps))]
    seen: set[int] = set()
    fate = "bound"
    while queue:
        index = queue.pop()
        if index in seen or index >= len(steps):
            continue
        seen.add(index)
        step = steps[index]
        if _names(step, name) and step.opname.startswith("LOAD_"):
            return "read"
        if _names(step, name) and step.opname.startswith(("STORE_", "DELETE_")):
            continue
        if step.opname.startswith(("RETURN_", "RAISE", "RERAISE")):
            fate = "open"
            continue
        if "JUMP" in step.opname or step.opname in ("FOR_ITER", "SEND"):
            queue.append(at[step.argval])
            if step.opname in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE") or (
                step.opname == "JUMP_BACKWARD_NO_INTERRUPT"
            ):
                continue
        queue.append(index + 1)
    return fate


def _names(step: dis.Instruction, name: str) -> bool:
    return step.argval == name or (isinstance(step.argval, tuple) and name in step.argval)
