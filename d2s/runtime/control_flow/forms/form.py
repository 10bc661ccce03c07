"""One form: of a tensor or number, a constant, a structure, a list whose length the run decides."""

from __future__ import annotations

import collections
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
from d2s.runtime.host.text import HostText, is_dynamic
from d2s.runtime.lists.becoming import are_alike
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.lists.items.rows import zero_rows
from d2s.runtime.lists.merging import joint_element, rows_of
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
from d2s.runtime.values.tree import PYTHONS, bare, like_by_key, members, pairs, size

Select = Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
"""``runtime.control_flow.cond.select``, which needs what needs this module."""

INDEXED: Final = (
    list,
    dict,
    collections.deque,
    collections.OrderedDict,
    collections.defaultdict,
    collections.Counter,
)
"""Python's classes of containers whose items have keys or positions, and which change."""


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


@dataclasses.dataclass(frozen=True)
class Kind:
    """The class of a structure, with what else makes one of it unlike another.

    Attributes:
        of: the class.
        more: the factory of a ``defaultdict``, the greatest length of a ``deque``.
        model: an empty container, of which others are made; ``None`` for what is no container.
    """

    of: type
    more: object = None
    model: Any = dataclasses.field(default=None, compare=False)

    @classmethod
    def of_container(cls, container: object) -> Kind:
        more = getattr(container, "default_factory", getattr(container, "maxlen", None))
        return cls(type(container), more, bare(container))


class Structure:
    """A container, tuple, named tuple, dataclass or text with a form for each of its parts."""

    def __init__(self, kind: Kind, keys: tuple[Any, ...], parts: list[Form]) -> None:
        self.kind = kind
        self.keys = keys
        self.parts = parts


class Rows:
    """A list whose length the run decides."""

    def __init__(self, target: DynamicList) -> None:
        self.element = target.element
        self.shell = target.shell()
        self.likes = [Like(row) for row in target.need_rows()]

    @classmethod
    def joint(cls, *values: object) -> Rows | None:
        """What lists, and choices between lists, of several lengths are lists of any length of."""
        lists = [_growing(leaf) for value in values for leaf in _leaves_of(value)]
        if not all(isinstance(each, DynamicList) or _is_list(each) for each in lists):
            return None
        if not are_alike([container_of(each) for each in lists]):
            return None
        element = joint_element(lists)
        if element is None:
            return None
        rows = [zero_rows(leaf) for leaf in element.leaves]
        return cls(DynamicList.of_rows("", element, rows))

    def matches(self, value: object) -> bool:
        """Whether ``value`` is such a list, or one of Python with such items."""
        if isinstance(value, Choice):
            return all(map(self.matches, value.leaves()))
        growing = _growing(value)
        if isinstance(growing, DynamicList):
            same = growing.element.form == self.element.form
            return same and are_alike([self.shell, growing])
        found = Rows.joint(self.shell, value)
        return found is not None and found.element.form == self.element.form

    def leaves(self, value: object, select: Select) -> list[Any]:
        """The rows of ``value``, which matches."""
        if isinstance(value, Choice):
            sides = (functools.partial(self.leaves, each, select) for each in _sides(value))
            found: list[Any] = select(value.flag, *sides)
            return found
        growing = _growing(value)
        if isinstance(growing, DynamicList):
            return list(growing.need_rows())
        return rows_of(
            self.element, list(value.items if isinstance(value, Frozen) else members(value))
        )


Form = Like | Constant | Structure | Rows
"""What a variable may be: one of its alternatives without its values."""


def _taken_apart(value: object) -> tuple[Kind, tuple[Any, ...], list[Any]] | None:
    """Kind, keys and parts of a structure, frozen or not."""
    container = container_of(value)
    if type(container) in INDEXED:
        held = value.by_key() if isinstance(value, Frozen) else dict(pairs(value))
        return Kind.of_container(container), tuple(held), list(map(told_apart, held.values()))
    if isinstance(value, Frozen):
        return None
    kind = Kind(type(value))
    if isinstance(value, tuple):
        return kind, tuple(range(size(value))), list(map(told_apart, members(value)))
    if type(value) is HostText:
        return kind, (len(value.parts),), list(value.parts)
    if isinstance(value, BaseException):
        return _error_apart(value)
    if is_object(value):
        found = attributes_of(value)
        return kind, tuple(found), list(map(told_apart, found.values()))
    return None


def _error_apart(error: BaseException) -> tuple[Kind, tuple[Any, ...], list[Any]] | None:
    """The same of an exception, of those that were raised while no other one was handled."""
    alone = error.__cause__ is None and error.__context__ is None
    if not alone or slots_of(type(error)) or not is_dynamic(error):
        return None
    held = vars(error)
    parts = [*error.args, *held.values()]
    return Kind(type(error)), (len(error.args), *held), list(map(told_apart, parts))


def _error_of(kind: type[Any], keys: tuple[Any, ...], parts: list[Any]) -> BaseException:
    count, *names = keys
    made: BaseException = kind.__new__(kind, *parts[:count])
    made.args = tuple(parts[:count])
    vars(made).update(zip(names, parts[count:], strict=True))
    return made


def _put_together(kind: Kind, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    if kind.of is HostText:
        return HostText(tuple(parts))
    if issubclass(kind.of, BaseException):
        return _error_of(kind.of, keys, parts)
    if issubclass(kind.of, tuple):
        return tuple.__new__(kind.of, parts)
    held = dict(zip(keys, parts, strict=True))
    if kind.model is not None:
        return like_by_key(kind.model, held)
    return set_attributes(born(empty(kind.of)), held)


def form_of(
    value: object, *, trip: bool, grows: bool = False, around: frozenset[int] = frozenset()
) -> Form | None:
    """The form of one alternative; ``None`` when it has none.

    Args:
        value: the alternative.
        trip: a trip has left it, which may be captured once more.
        grows: a list that is several ones, or holds what has no form, is one of any length.
        around: the ids of the objects that it is in, of which none may be in itself.
    """
    if isinstance(value, Like):
        return value
    if is_numeric(value):
        return Like(value)
    growing = _growing(value)
    if isinstance(growing, DynamicList):
        return Rows(growing)
    if isinstance(value, Choice):
        return Rows.joint(value) if grows else None
    of_the_trip = trip and _is_of_the_trip(value)
    kept = is_object(value) and not (of_the_trip or dataclasses.is_dataclass(value))
    apart = None if kept else _taken_apart(value)
    if apart is not None:
        if id(value) in around:
            return None
        inside = around | {id(value)}
        found = [form_of(part, trip=trip, grows=grows, around=inside) for part in apart[2]]
        parts = [form for form in found if form is not None]
        if len(parts) == len(found):
            return Structure(*apart[:2], parts)
        return Rows.joint(value) if grows else None
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
    if isinstance(thing, BaseException):
        slots = (*slots, *thing.args, thing.__cause__, thing.__context__)
    return [*slots, *(dict_of(thing) or {}).values()]


def fits(form: Form, value: object) -> bool:
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
    if isinstance(form, Rows):
        return form.matches(value)
    if isinstance(form, Structure):
        apart = None if isinstance(value, Choice) else _taken_apart(value)
        return (
            apart is not None
            and apart[0] == form.kind
            and apart[1] == form.keys
            and all(map(fits, form.parts, apart[2]))
        )
    return not isinstance(value, Frozen) and form.matches(value)


def leaves_in(form: Form, value: object, select: Select) -> list[Any]:
    """The values in ``value``, which fits."""
    if isinstance(form, Like):
        return [as_value(value)]
    if isinstance(form, Rows):
        return form.leaves(value, select)
    if isinstance(form, Structure):
        apart = _taken_apart(value)
        assert apart is not None
        return [
            leaf
            for part, item in zip(form.parts, apart[2], strict=True)
            for leaf in leaves_in(part, item, select)
        ]
    return []


def as_both(test: object, body: Callable[[], Any], orelse: Callable[[], Any]) -> list[Any]:
    """What stands for the leaves of two values, where only shapes and gradients matter."""
    found = []
    for one, other in zip(body(), orelse(), strict=True):
        like = Like(one)
        widen(like, other)
        found.append(_zeros(like))
    return found


def widen(like: Like, leaf: paddle.Tensor) -> bool:
    """Open dimensions that differ, and let gradients through; whether anything changes."""
    shape = [a if a == b else -1 for a, b in zip(like.shape, list(leaf.shape), strict=True)]
    stop = like.stop_gradient and leaf.stop_gradient
    changed = (shape, stop) != (like.shape, like.stop_gradient)
    like.shape, like.stop_gradient = shape, stop
    return changed


def has_rows(form: Form) -> bool:
    """Whether there is a list of the run in what has this form."""
    parts = form.parts if isinstance(form, Structure) else []
    return isinstance(form, Rows) or any(map(has_rows, parts))


def likes_of(form: Form) -> Iterator[Like]:
    """A description of each leaf of what has this form."""
    if isinstance(form, Like):
        yield form
    elif isinstance(form, Rows):
        yield from form.likes
    elif isinstance(form, Structure):
        for part in form.parts:
            yield from likes_of(part)


def built(form: Form, leaves: Iterator[Any]) -> Any:
    """What has this form and these leaves."""
    if isinstance(form, Like):
        value = next(leaves)
        return value if form.kind is None else mark_number(value, form.kind)
    if isinstance(form, Rows):
        return form.shell.like([next(leaves) for _ in form.likes])
    if isinstance(form, Structure):
        return _put_together(form.kind, form.keys, [built(part, leaves) for part in form.parts])
    return form.value


def _leaves_of(value: object) -> list[Any]:
    return list(value.leaves()) if isinstance(value, Choice) else [value]


def _sides(value: Choice) -> tuple[Any, Any]:
    return value.true, value.false


def _growing(value: object) -> Any:
    """The list of the run in a snapshot; else the value or snapshot."""
    container = container_of(value)
    return container if isinstance(container, DynamicList) else value


def _is_list(value: object) -> bool:
    """Whether a value or snapshot is a list of Python's own class."""
    return type(container_of(value)) is list


def sample_of(form: Form) -> Any:
    """Something of this form, with zeros in it."""
    return built(form, map(_zeros, likes_of(form)))


def _zeros(like: Like) -> paddle.Tensor:
    made = like.zeros()
    made.stop_gradient = like.stop_gradient
    return made


def of_any_length(form: Form, value: object) -> Form | None:
    """What ``form`` and ``value`` are but for how long the lists in them are; ``None``: nothing.

    Lists of different lengths are one whose length the run decides.
    """
    if fits(form, value):
        return form
    apart = None if isinstance(value, Choice) else _taken_apart(value)
    if isinstance(form, Structure) and apart is not None and apart[:2] == (form.kind, form.keys):
        parts = [of_any_length(*each) for each in zip(form.parts, apart[2], strict=True)]
        found = [part for part in parts if part is not None]
        return Structure(form.kind, form.keys, found) if len(found) == len(parts) else None
    is_list = isinstance(form, Rows) or (isinstance(form, Structure) and form.kind.of is list)
    return Rows.joint(sample_of(form), value) if is_list else None
