"""What a variable of a static loop may be: constants, and structures of tensors.

A loop that switches a variable between ``"up"`` and ``"down"``, or binds a tuple of tensors to a
name that was not bound, carries which of its :class:`Alternatives` holds, and the leaves of each
structure; the leaves of those that do not hold are zeros that nobody reads.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.slots import Cell
from d2s.runtime.aliasing.snapshots import Frozen, container_of
from d2s.runtime.control_flow.ends import born
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.trace import current, tentatively
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import (
    attributes_of,
    empty,
    is_object,
    set_attributes,
    slot_fields,
    slots_of,
)
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tensors import (
    as_dtype,
    as_value,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
)
from d2s.runtime.values.tree import PYTHONS, is_plain, members, pairs

Select = Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
"""``runtime.control_flow.cond.select``, which needs what needs this module."""

MOST: Final = 8
"""How many different things one variable may be."""

MOST_TENSORS: Final = 4
"""How many of them are tensors: with more, each trip makes another one."""


class Constant:
    """A Python value as it is."""

    def __init__(self, value: object) -> None:
        self.value = value

    def matches(self, value: object) -> bool:
        if value is self.value:
            return True
        if type(value) is not type(self.value) or not isinstance(value, str | bytes):
            return False
        with tentatively():
            return bool(value == self.value)


class Structure:
    """A list, tuple, dict, named tuple, dataclass or text with a form for each of its parts."""

    def __init__(self, kind: type, keys: tuple[Any, ...], parts: list[Form]) -> None:
        self.kind = kind
        self.keys = keys
        self.parts = parts


class Rows:
    """A list whose length the run decides."""

    def __init__(self, target: DynamicList) -> None:
        self.element = target.element
        self.shell = target.shell()
        self.likes = [Like(row) for row in target.need_rows()]


Form = Like | Constant | Structure | Rows
"""What a variable may be: one of its alternatives without its values."""


def _taken_apart(value: object) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Type, keys and parts of a structure, frozen or not."""
    container = container_of(value)
    if is_plain(container):
        held = value.by_key() if isinstance(value, Frozen) else dict(pairs(value))
        return type(container), tuple(held), list(map(told_apart, held.values()))
    if isinstance(value, Frozen):
        return None
    if isinstance(value, tuple):
        return type(value), tuple(range(len(value))), list(map(told_apart, value))
    if type(value) is HostText:
        return HostText, (len(value.parts),), list(value.parts)
    if is_object(value):
        found = attributes_of(value)
        return type(value), tuple(found), list(map(told_apart, found.values()))
    return None


def _put_together(kind: type, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    if kind is HostText:
        return HostText(tuple(parts))
    if kind is list:
        return parts
    if kind is dict:
        return dict(zip(keys, parts, strict=True))
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    return set_attributes(born(empty(kind)), dict(zip(keys, parts, strict=True)))


def form_of(value: object, *, trip: bool, around: frozenset[int] = frozenset()) -> Form | None:
    """The form of one alternative; ``None`` when it has none.

    Args:
        value: the alternative.
        trip: a trip has left it, which may be captured once more.
        around: the ids of the objects that it is in, of which none may be in itself.
    """
    if isinstance(value, Like):
        return value
    if is_numeric(value):
        return Like(value)
    growing = value.container if isinstance(value, Frozen) else value
    if isinstance(growing, DynamicList):
        return Rows(growing)
    if isinstance(value, Choice):
        return None
    of_the_trip = trip and _is_of_the_trip(value)
    kept = is_object(value) and not (of_the_trip or dataclasses.is_dataclass(value))
    apart = None if kept else _taken_apart(value)
    if apart is not None:
        if id(value) in around:
            return None
        inside = around | {id(value)}
        found = [form_of(part, trip=trip, around=inside) for part in apart[2]]
        parts = [form for form in found if form is not None]
        return Structure(*apart[:2], parts) if len(parts) == len(found) else None
    return None if isinstance(value, Frozen) or of_the_trip else Constant(value)


def _is_of_the_trip(thing: object) -> bool:
    """Whether an object or function holds what the trip has computed: each trip makes another one.

    The variables of the loop itself are no reason: each capture of the loop gives them values.
    """
    capture = current()
    known = capture.blocks[-1].cells if capture is not None and capture.blocks else frozenset()
    stack, seen = [thing], set[int]()
    while stack:
        part = stack.pop()
        if bridge.is_value(part):
            if bridge.is_inner(part):
                return True
        elif id(part) not in seen and not isinstance(part, type | types.ModuleType):
            seen.add(id(part))
            stack += _held(part, known)
    return False


def _held(thing: object, known: frozenset[int]) -> list[Any]:
    """What is right below an object, function or container; cells that are ``known`` left out."""
    if isinstance(thing, Choice):
        return [thing.flag, thing.true, thing.false]
    if isinstance(thing, PYTHONS):
        return members(thing)
    if isinstance(thing, types.MethodType):
        return [thing.__self__, thing.__func__]
    if isinstance(thing, functools.partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if isinstance(thing, types.FunctionType):
        cells = [cell for cell in thing.__closure__ or () if id(cell) not in known]
        defaults = [thing.__defaults__, thing.__kwdefaults__]
        return [*defaults, *(Cell(cell).get() for cell in cells), vars(thing)]
    slots = slot_fields(thing).values() if slots_of(type(thing)) else ()
    return [*slots, *(dict_of(thing) or {}).values()]


def _fits(form: Form, value: Any) -> bool:
    """Whether ``value`` has this form."""
    if isinstance(form, Like):
        kind = number_kind(value)
        if kind is not None or form.kind is not None:
            return kind is form.kind
        return (
            is_tensor(value)
            and value.dtype == as_dtype(form.dtype)
            and len(value.shape) == len(form.shape)
        )
    growing = value.container if isinstance(value, Frozen) else value
    if isinstance(form, Rows):
        return isinstance(growing, DynamicList) and growing.element.form == form.element.form
    if isinstance(form, Structure):
        apart = _taken_apart(value)
        return (
            apart is not None
            and apart[0] is form.kind
            and apart[1] == form.keys
            and all(map(_fits, form.parts, apart[2]))
        )
    return not isinstance(value, Frozen) and form.matches(value)


def _leaves(form: Form, value: Any) -> list[Any]:
    """The values in ``value``, which fits."""
    if isinstance(form, Like):
        return [as_value(value)]
    if isinstance(form, Rows):
        growing = value.container if isinstance(value, Frozen) else value
        return list(growing.need_rows())
    if isinstance(form, Structure):
        apart = _taken_apart(value)
        assert apart is not None
        return [
            leaf
            for part, item in zip(form.parts, apart[2], strict=True)
            for leaf in _leaves(part, item)
        ]
    return []


def _likes(form: Form) -> Iterator[Like]:
    if isinstance(form, Like):
        yield form
    elif isinstance(form, Rows):
        yield from form.likes
    elif isinstance(form, Structure):
        for part in form.parts:
            yield from _likes(part)


def _built(form: Form, leaves: Iterator[Any]) -> Any:
    if isinstance(form, Like):
        value = next(leaves)
        return value if form.kind is None else mark_number(value, form.kind)
    if isinstance(form, Rows):
        return form.shell.like([next(leaves) for _ in form.likes])
    if isinstance(form, Structure):
        return _put_together(form.kind, form.keys, [_built(part, leaves) for part in form.parts])
    return form.value


def _alternatives(value: object) -> list[tuple[Any, Any]]:
    """Every alternative of ``value`` with its flag; ``Choice``s inside a tuple are no matter."""
    if isinstance(value, Choice):
        return value.alternatives()
    return [(value, None)]


class Alternatives:
    """The forms that a variable may have, in the order in which they were met."""

    def __init__(self, forms: list[Form] | None = None) -> None:
        self.forms: list[Form] = list(forms or ())

    @classmethod
    def of(cls, *values: object) -> Alternatives | None:
        """What may be one of ``values``, each of which may be a ``Choice``; ``None`` if too much.

        The first is from before a loop; a trip may have left the others.
        """
        made = cls()
        fit = all(made.add(value, trip=number > 0) for number, value in enumerate(values))
        return made if fit else None

    def likes(self) -> list[Like]:
        """A description of each leaf."""
        return [like for form in self.forms for like in _likes(form)]

    def add(self, value: object, *, trip: bool = False) -> bool:
        """Take in the form of ``value``, or of its alternatives; whether that is possible.

        Args:
            value: what the variable may be.
            trip: a trip has left it.
        """
        for item, _ in _alternatives(value):
            at = None if isinstance(item, Like) else self.position(item)
            if at is None:
                form = form_of(item, trip=trip)
                if form is None or len(self.forms) == MOST or self._is_full_for(form):
                    return False
                self.forms.append(form)
            else:
                self._widen(at, item)
        return True

    def _is_full_for(self, form: Form) -> bool:
        """Whether one more tensor is too much."""
        kinds = [each.kind for each in (form, *self.forms) if isinstance(each, Like)]
        return isinstance(form, Like) and kinds.count(None) > MOST_TENSORS

    def position(self, value: object) -> int | None:
        """Which of the forms ``value`` has."""
        for index, form in enumerate(self.forms):
            if _fits(form, value):
                return index
        return None

    def _widen(self, at: int, value: object) -> bool:
        """Open dimensions that differ, and let gradients through; whether anything changes."""
        changed = False
        pairs = zip(_likes(self.forms[at]), _leaves(self.forms[at], value), strict=True)
        for like, leaf in pairs:
            shape = [a if a == b else -1 for a, b in zip(like.shape, list(leaf.shape), strict=True)]
            stop = like.stop_gradient and leaf.stop_gradient
            changed = changed or shape != like.shape or stop != like.stop_gradient
            like.shape, like.stop_gradient = shape, stop
        return changed

    def with_(self, value: object) -> Alternatives | None:
        """These, if ``value`` fits into them unchanged; else wider ones; ``None``: impossible."""
        same = True
        made = Alternatives(self.forms)
        for item, _ in _alternatives(value):
            at = made.position(item)
            if at is None:
                same = False
                if not made.add(item, trip=True):
                    return None
            elif made._widen(at, item):
                same = False
        return self if same else made

    def flatten(self, value: object, select: Select) -> tuple[Any, list[Any]]:
        """Which of the forms holds, as an int64 value, and the leaves of all of them.

        Args:
            value: what has one of the forms.
            select: how one of two leaves is chosen.
        """
        tag: Any = None
        found: dict[int, list[Any]] = {}
        for item, holds in reversed(_alternatives(value)):
            at = self.position(item)
            assert at is not None
            mine = paddle.full([], at, "int64")
            tag = mine if tag is None or holds is None else paddle.where(holds, mine, tag)
            leaves = _leaves(self.forms[at], item)
            before = found.get(at)
            if before is not None and holds is not None:
                leaves = [
                    a if a is b else select(holds, _kept(a), _kept(b))
                    for a, b in zip(leaves, before, strict=True)
                ]
            found[at] = leaves
        return tag, [
            leaf
            for at, form in enumerate(self.forms)
            for leaf in found.get(at) or [like.zeros() for like in _likes(form)]
        ]

    def build(self, tag: paddle.Tensor, leaves: list[Any], name: str) -> Any:
        """What the variable is, of which form and leaves."""
        rest = iter(leaves)
        made = [_built(form, rest) for form in self.forms]
        result = made[-1]
        for at in reversed(range(len(made) - 1)):
            result = Choice(tag == at, made[at], result, name)
        return result


def _kept(thing: object) -> Callable[[], Any]:
    return lambda: thing


def settled(thing: object) -> Any:
    """``thing`` with one value in the place of each choice in a tuple, where that can be."""
    if isinstance(thing, Choice):
        return thing.spread(settled)
    if not isinstance(thing, tuple):
        return thing
    items = [
        item.get(check=False)
        if isinstance(item, Choice) and item.single and len(item.leaves()) == len(item._usable())
        else settled(item)
        for item in thing
    ]
    return type(thing)._make(items) if hasattr(thing, "_make") else tuple(items)
