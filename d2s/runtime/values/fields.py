"""Attributes that no ``__dict__`` holds, as dictionaries that are always up to date.

State is watched, frozen and put back entry by entry; a class and an object with ``__slots__`` take
part in that as if their attributes were in a dictionary:

    class_fields(Counter)["total"] = 3      Counter.total = 3
    slot_fields(point)["x"]                 point.x
    slot_fields(itertools.count(5))         {"position": 5, "step": 1}
    slot_fields(iter([7, 8]))               {"taken": taken(0)}
"""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import itertools
import re
import types
import weakref
from collections.abc import Iterator
from typing import Any, Final

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.iterators.copies import goes_ahead, replaced, upcoming
from d2s.runtime.values.objects import (
    HEAP_TYPE,
    defines,
    dict_of,
    fields_of,
    is_user_class,
    is_user_object,
    on_class,
)

CONTAINERS: Final = (list, dict, set, collections.deque)


PASSES: Final = "d2s_passes"
"""Marks a class of descriptors that hand on what is in the object's own dictionary."""


class Fields(dict[str, Any]):
    """Some attributes of ``owner``; what is in the dictionary itself is never looked at."""

    def __init__(self, owner: Any) -> None:
        super().__init__()
        self.owner = owner

    def found(self) -> dict[str, Any]:
        """The attributes now."""
        raise NotImplementedError

    def put(self, name: str, value: Any) -> None:
        """Bind one."""
        raise NotImplementedError

    def drop(self, name: str) -> None:
        """Unbind one."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        return self.found()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.put(name, value)

    def __delitem__(self, name: str) -> None:
        self.drop(name)

    def __contains__(self, name: object) -> bool:
        return name in self.found()

    def __iter__(self) -> Iterator[str]:
        return iter(self.found())

    def __len__(self) -> int:
        return len(self.found())

    def get(self, name: str, default: Any = None) -> Any:
        return self.found().get(name, default)

    def pop(self, name: str, default: Any = None) -> Any:
        value = self.get(name, default)
        if name in self:
            self.drop(name)
        return value

    def keys(self) -> Any:
        return self.found().keys()

    def values(self) -> Any:
        return self.found().values()

    def items(self) -> Any:
        return self.found().items()

    def clear(self) -> None:
        for name in self.found():
            self.drop(name)

    def update(self, other: Any) -> None:  # type: ignore[override]
        for name, value in other.items():
            self.put(name, value)


class ClassFields(Fields):
    """The attributes of a class that are no methods."""

    def found(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self.owner).items() if self._counts(name, value)
        }

    def __contains__(self, name: object) -> bool:
        held = vars(self.owner)
        return isinstance(name, str) and name in held and self._counts(name, held[name])

    def get(self, name: str, default: Any = None) -> Any:
        return vars(self.owner)[name] if name in self else default

    @staticmethod
    def _counts(name: str, value: object) -> bool:
        dunder = name.startswith("__") and name.endswith("__")
        return not (dunder or hasattr(type(value), "__get__"))

    def put(self, name: str, value: Any) -> None:
        setattr(self.owner, name, value)

    def drop(self, name: str) -> None:
        delattr(self.owner, name)


class SlotFields(Fields):
    """The attributes of an object that are kept in slots."""

    def found(self) -> dict[str, Any]:
        found = {}
        for name in slots_of(type(self.owner)):
            try:
                found[name] = object.__getattribute__(self.owner, name)
            except AttributeError:  # not bound
                continue
        return found

    def put(self, name: str, value: Any) -> None:
        object.__setattr__(self.owner, name, value)

    def drop(self, name: str) -> None:
        object.__delattr__(self.owner, name)


class CountFields(SlotFields):
    """Where an ``itertools.count`` is, and how far it goes at a time.

    While a program is captured, the count itself stays where it is, and what the captured code
    takes from it is noted here; each run takes it to where that run has come.

    Attributes:
        held: what the captured code has made of the two; ``None`` as long as that is nothing.
    """

    def __init__(self, owner: Any) -> None:
        super().__init__(owner)
        self.held: dict[str, Any] | None = None
        self._began = self._shown = ""
        self._read: dict[str, Any] = {}
        self._unknown = object()

    def found(self) -> dict[str, Any]:
        self.check()
        return self._now() if self.held is None else self.held

    def check(self) -> None:
        """Refuse that code which stays Python has taken a number that was taken already.

        Raises:
            UnsupportedInGraphError: (D2S205).
        """
        if current() is None or self.held is None:
            return
        if repr(self.owner) != self._began:
            raise error_here(
                UnsupportedInGraphError,
                "code that is not converted takes a number from an itertools.count from which the "
                "function has taken one in a branch or loop, or which was there before",
                "take it with next() in the converted function",
            )

    def _now(self) -> dict[str, Any]:
        shown = repr(self.owner)
        if shown != self._shown:
            numbers = _COUNT.fullmatch(shown)
            self._shown, self._read = shown, {"position": self._unknown}
            if numbers is not None:  # else of tensors, or of numbers of other classes
                step = numbers[2] or "1"
                self._read = {"position": _number(numbers[1]), "step": _number(step)}
        return self._read

    def put(self, name: str, value: Any) -> None:
        now = self._now()
        if current() is not None:
            held = {**self.found(), name: value}
            same = all(type(held[each]) in (int, float) for each in held) and held == now
            self.held = None if same else held
            self._began = self._shown
            return
        self.held = None
        if now.get(name) != value:
            ahead = round((value - now["position"]) / now["step"])
            collections.deque(itertools.islice(self.owner, max(ahead, 0)), maxlen=0)

    def drop(self, name: str) -> None:
        self.held = None

    @property
    def known(self) -> bool:
        """Whether it counts Python numbers."""
        return self.found().get("position") is not self._unknown


class Taken:
    """How many items a call has taken from an iterator: no number, which a branch would compute.

    Attributes:
        count: so many.
    """

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


@functools.cache
def taken(count: int) -> Taken:
    """The one for each count."""
    return Taken(count)


class AheadFields(SlotFields):
    """How many items the present call has taken from an iterator that was there before.

    While a program is captured, the iterator stays where it is, and the items are those of a copy;
    each run takes it on by as many as that run has taken.

    Attributes:
        given: those that the captured code has taken, by their numbers.
        stand_ins: what stands in for parts of them, by their numbers: the ways to them, and what.
    """

    def __init__(self, owner: Any) -> None:
        super().__init__(owner)
        self.given: dict[int, Any] = {}
        self.stand_ins: dict[int, list[tuple[tuple[int, ...], Any]]] = {}
        self._taken = taken(0)

    def found(self) -> dict[str, Any]:
        return {"taken": self._taken}

    def put(self, name: str, value: Any) -> None:
        if current() is not None:
            self._taken = value
            return
        self._taken = taken(0)
        collections.deque(itertools.islice(self.owner, value.count), maxlen=0)

    def drop(self, name: str) -> None:
        self._taken = taken(0)

    def check(self) -> None:
        """Nothing to refuse: no other code has taken an item (``program.state.opaque``)."""

    def forget(self) -> None:
        """The capture is over."""
        self._taken = taken(0)
        self.given.clear()
        self.stand_ins.clear()

    def item(self, number: int) -> Any:
        """The item that the captured code is given; ``NO_MORE`` if there is none."""
        if number not in self.given:
            self.given[number] = upcoming(self.owner, number)
        found = self.given[number]
        for way, value in self.stand_ins.get(number, ()):
            found = replaced(found, way, value)
        return found


def is_count_class(kind: type) -> bool:
    """Whether objects of ``kind`` have :class:`CountFields`."""
    return kind is itertools.count


def check_counts(*things: object) -> None:
    """Refuse to hand an ``itertools.count`` that is not where the program has it to other code.

    Raises:
        UnsupportedInGraphError: (D2S205).
    """
    capture = current()
    counts = {} if capture is None else capture.counts
    for thing in things if counts else ():
        fields = counts.get(id(thing))
        if fields is not None and fields.owner is thing and fields.held is not None:
            raise error_here(
                UnsupportedInGraphError,
                "something else than next() or a loop is done with an itertools.count of which "
                "the run decides how far it has come",
                "keep the number in a variable, and add to it",
            )


_COUNT: Final = re.compile(r"count\((-?[\d.e+-]+)(?:, (-?[\d.e+-]+))?\)")


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdecimal() else float(text)


# By identity: a metaclass may say that its classes are equal, or have no hash.
_names: dict[int, tuple[weakref.ref[type], tuple[str, ...]]] = {}


def slots_of(kind: type) -> tuple[str, ...]:
    """The names of the slots that classes of the user's give an object of ``kind``."""
    if is_count_class(kind):
        return ("position", "step")
    key = id(kind)
    known = _names.get(key)
    if known is None or known[0]() is not kind:
        names = tuple(
            name
            for base in kind.__mro__
            if "__slots__" in vars(base) and is_user_class(base)
            for name, member in vars(base).items()
            if isinstance(member, types.MemberDescriptorType)
        )
        known = _names[key] = (weakref.ref(kind, lambda _: _names.pop(key, None)), names)
    return known[1]


def missing_attribute(kind: type, name: str) -> AttributeError:
    """What Python raises where an object of ``kind`` is asked for an attribute that is not there.

    For a slot, Python 3.13 names the class with its module.
    """
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if name in slots_of(kind) and isinstance(found, types.MemberDescriptorType):
        with contextlib.suppress(TypeError):  # a class that Python makes no empty object of
            try:
                found.__get__(object.__new__(kind))
            except AttributeError as missing:
                return AttributeError(*missing.args)
    return AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")


# What is kept holds its owner, so that no other object can have the id.
_classes: weakref.WeakValueDictionary[int, ClassFields] = weakref.WeakValueDictionary()
_slots: weakref.WeakValueDictionary[int, SlotFields] = weakref.WeakValueDictionary()


def class_fields(kind: type) -> ClassFields:
    """The attributes of ``kind``; the same object for as long as somebody holds it."""
    found = _classes.get(id(kind))
    if found is None:
        found = _classes[id(kind)] = ClassFields(kind)
    return found


def slot_fields(thing: Any) -> SlotFields:
    """The slots of ``thing``; the same object for as long as somebody holds it."""
    found = _slots.get(id(thing))
    if found is None:
        kind = CountFields if is_count_class(type(thing)) else SlotFields
        kind = AheadFields if kind is SlotFields and goes_ahead(type(thing)) else kind
        found = _slots[id(thing)] = kind(thing)
    if isinstance(found, CountFields | AheadFields) and (capture := current()) is not None:
        capture.counts[id(thing)] = found
    return found


def is_object(thing: Any) -> bool:
    """Whether ``thing`` is an object with attributes of a class of the user's, and nothing more."""
    if isinstance(thing, (*CONTAINERS, tuple, enum.Enum, type, BaseException)):
        return False
    return is_user_object(thing) or bool(slots_of(type(thing)))


def steps(thing: object) -> bool:
    """Whether ``thing`` is an iterator of a class in Python, whose attributes say how far it is."""
    if not isinstance(thing, Iterator) or not is_object(thing):
        return False
    return isinstance(getattr(type(thing), "__next__", None), types.FunctionType)


def attributes_of(thing: Any) -> dict[str, Any]:
    """The attributes that an object has now."""
    slots = slot_fields(thing) if slots_of(type(thing)) else {}
    return {**dict(slots.items()), **(dict_of(thing) or {})}


def keeps(thing: Any, name: str) -> bool:
    """Whether reading an attribute of an object gives what it holds, and runs no code."""
    if not is_object(thing) or defines(type(thing), "__getattribute__"):
        return False
    return name in attributes_of(thing) and not is_computed(type(thing), name)


def is_computed(kind: type, name: str) -> bool:
    """Whether a property, or another descriptor, keeps elsewhere what is assigned to ``name``."""
    found = on_class(kind, name)
    if hasattr(type(found), PASSES):
        return False
    return hasattr(type(found), "__set__") and not isinstance(found, types.MemberDescriptorType)


def empty(kind: type) -> Any:
    """An object of a class, without attributes; no method of the user's runs."""
    base: Any = next(each for each in kind.__mro__ if not each.__flags__ & HEAP_TYPE)
    return base.__new__(kind)


def set_attributes(thing: Any, values: dict[str, Any]) -> Any:
    """Give an object these attributes, and no others; no method of its class runs."""
    slots = slots_of(type(thing))
    if slots:
        table = slot_fields(thing)
        table.clear()
        table.update({name: value for name, value in values.items() if name in slots})
    if dict_of(thing) is not None:
        fields = fields_of(thing)
        fields.clear()
        fields.update({name: value for name, value in values.items() if name not in slots})
    return thing
