"""What the items of a dynamic list are: their structure, and what is known of each leaf.

An item is one of these, and so is each part of it:

=====================  ============================================================================
:class:`Single`        a tensor or number
:class:`Ragged`        tensors of several sizes: filled up to the largest, with their sizes
:class:`Labels`        one of several texts and other constants: which one
:class:`Known`         one of several functions, layers and the like: which one
:class:`Structure`     a tuple, list, dict, named tuple or text: its parts
:class:`Inner`         a list, set or the like of any length: how many items, and rows filled up
:class:`Record`        an object of a class of the user's: its attributes
:class:`OneOf`         one of several of these: which one, and the leaves of each
=====================  ============================================================================

An element takes an item apart into the leaves that the list stores, and makes an item of stored
leaves.  It never changes: an item of another form asks for the union of both, into
whose leaves :meth:`Element.converted` brings those that are stored already.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.items.rows import Leaf, zero_rows
from d2s.runtime.lists.items.views import can_be_pooled
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.constants import CONSTANTS
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    is_numeric,
    mark_number,
    number_kind,
)


class OfRunLength:
    """A list whose length the run decides.

    Attributes:
        element: what the items are.
        frozen: it is a tuple to the reader.
        placed: it has been put into another list.
        name, shared, moves, writing: see ``storage.ItemStore``.
        model: an empty container of Python of the class that it stands for, if that is no list.
        inner: makes one of rows, which stands for one like an empty container of Python.
        note_order: notes in what order a set of Python's is put into one.
    """

    element: Element
    frozen: bool
    placed: bool
    name: str
    shared: bool
    moves: int
    writing: bool
    model: Any
    inner: Callable[[Element, list[Any], Any], Any]
    note_order: Callable[[Any], None]

    @property
    def length(self) -> paddle.Tensor:
        """The number of items."""
        raise NotImplementedError

    def need_rows(self) -> list[paddle.Tensor]:
        """The rows of the items, behind one of no item."""
        raise NotImplementedError

    def write_back(self, item: object, position: paddle.Tensor) -> None:
        """Let the item at a position be what has become of it."""
        raise NotImplementedError


COUNT: Final = Leaf(paddle.int64, (), None, True)
"""A leaf that says which of several, or how many."""

Leaves = Iterator[Any]


class Element:
    """What is known of an item, or of a part of one.

    Attributes:
        leaves: the leaves, in the order in which they are stored.
        has_mutable: there are lists or dicts in it.
        has_objects: there are objects of the user's in it.
        has_text: there is more in it than tensors and numbers, of which no tensor can be made.
    """

    leaves: list[Leaf]
    has_text: bool = False
    has_mutable: bool = False
    has_objects: bool = False

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    @property
    def form(self) -> Any:
        """The structure, whatever the sizes and gradients are; equal for two that are alike."""
        return type(self), [
            (leaf.dtype, len(leaf.shape), leaf.kind, leaf.ragged) for leaf in self.leaves
        ]

    @property
    def wants_rows(self) -> bool:
        """Whether the items are stored in rows only."""
        return self.has_text or any(leaf.ragged for leaf in self.leaves)

    def is_like(self, other: Element) -> bool:
        """Whether items of the other one are of this structure, whatever their sizes are."""
        return type(other) is type(self)

    def with_(self, other: Element) -> Element:
        """One for the items of both, which are alike."""
        raise NotImplementedError

    def flatten(self, item: Any) -> list[Any]:
        """The leaves of ``item``, which fits, as values with the dtypes of this element."""
        raise NotImplementedError

    def flatten_one_of(self, item: Choice, *, exact: bool = False) -> list[Any]:
        """The leaves of one of several items; a number is a value like others there."""

        def flat(found: Any) -> list[Any]:
            pairs = zip(self.flatten(found), self.leaves, strict=True)
            return [value if leaf.kind is None else paddle.assign(value) for value, leaf in pairs]

        made: list[Any] = each(flat, item, none=True, exact=exact)
        return made

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        """An item of its next leaves; a list or dict in it cannot be changed in place.

        Args:
            leaves: the leaves.
            host: they are what a run has given; the item is one of dygraph.
        """
        raise NotImplementedError

    def build(self, leaves: list[Any], *, host: bool = False) -> Any:
        """An item of all its leaves."""
        return self.take(iter(leaves), host=host)

    def converted(self, other: Element, rows: Leaves) -> list[Any]:
        """The rows of items of ``other``, which this one is a union with, as rows of this one."""
        if isinstance(other, Nothing) and not isinstance(self, Nothing):
            return self.fillers(paddle.shape(next(rows))[0].astype("int64"))
        return self._converted(other, rows)

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        raise NotImplementedError

    def fillers(self, count: Any) -> list[Any]:
        """The rows of ``count`` items that nobody reads."""
        return [zero_rows(leaf, count) for leaf in self.leaves]

    def ragged(self) -> Element:
        """The same for items whose open dimensions may differ."""
        return self


class Single(Element):
    """A tensor or number."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf
        self.leaves = [leaf]

    @classmethod
    def of(cls, item: object) -> Single:
        """What a tensor or number is."""
        value = leaf_value(item)
        kind = number_kind(item)
        return cls(Leaf(value.dtype, tuple(value.shape), kind, value.stop_gradient))

    def is_like(self, other: Element) -> bool:
        return isinstance(other, Single | Ragged) and _same_kind(self.leaf, other.leaf)

    def with_(self, other: Element) -> Element:
        if isinstance(other, Ragged):
            return other.with_(self)
        assert isinstance(other, Single)
        found = _joint(self.leaf, other.leaf)
        differ = self.leaf.shape != other.leaf.shape
        return Ragged(found) if differ else Single(found)

    def flatten(self, item: Any) -> list[Any]:
        return [cast_plain(leaf_value(item), self.leaf.dtype)]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        found = next(leaves)
        return found if host or self.leaf.kind is None else mark_number(found, self.leaf.kind)

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        return [next(rows)]

    def ragged(self) -> Element:
        return Ragged(self.leaf) if -1 in self.leaf.shape else self


class Nothing(Single):
    """What the items of a container are to which none has been put: a union with others is them."""

    def __init__(self) -> None:
        super().__init__(COUNT._replace(kind=int))


class Ragged(Element):
    """Tensors of one dtype and rank, of any sizes."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf._replace(ragged=True)
        sizes = COUNT._replace(shape=(len(leaf.shape),))
        self.leaves = [sizes, self.leaf]

    def is_like(self, other: Element) -> bool:
        return isinstance(other, Single | Ragged) and _same_kind(self.leaf, other.leaf)

    def with_(self, other: Element) -> Element:
        assert isinstance(other, Single | Ragged)
        return Ragged(_joint(self.leaf, other.leaf))

    def flatten(self, item: Any) -> list[Any]:
        value = cast_plain(leaf_value(item), self.leaf.dtype)
        return [paddle.shape(value).astype("int64"), value]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        sizes, value = next(leaves), next(leaves)
        axes = [axis for axis, size in enumerate(self.leaf.shape) if size < 0]
        if host:
            return value[tuple(slice(0, int(size)) for size in sizes.tolist())]
        made = cut(value, axes, [sizes[axis] for axis in axes])
        capture = current()
        if capture is not None:
            capture.notes.cut[made.id] = made
        return made

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        if isinstance(other, Ragged):
            return [next(rows), next(rows)]
        row = next(rows)
        sizes = paddle.shape(row).astype("int64")
        return [paddle.expand(sizes[1:].unsqueeze(0), [sizes[0], len(self.leaf.shape)]), row]

    def ragged(self) -> Element:
        return self


class Listed(Element):
    """One of several things that are there when the program is captured.

    Attributes:
        table: them.
    """

    def __init__(self, table: tuple[Any, ...]) -> None:
        self.table = table
        self.leaves = [COUNT]

    has_text = True

    @staticmethod
    def key(thing: object) -> Any:
        """What is equal for two that are one."""
        return thing

    @property
    def form(self) -> Any:
        return type(self), tuple(map(self.key, self.table))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and self.form == other.form

    __hash__ = None

    def with_(self, other: Element) -> Element:
        assert isinstance(other, Listed)
        found = {self.key(thing): thing for thing in (*self.table, *other.table)}
        return type(self)(tuple(found.values()))

    def flatten(self, item: Any) -> list[Any]:
        places = {self.key(thing): index for index, thing in enumerate(self.table)}
        if not isinstance(item, Choice):
            return [paddle.full([], places[self.key(item)], "int64")]
        tag: Any = None
        for thing, holds in item.alternatives():
            mine = paddle.full([], places[self.key(thing)], "int64")
            tag = mine if tag is None else paddle.where(holds, mine, tag)
        return [tag]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        tag = next(leaves)
        if host:
            return self.table[int(tag)]
        return chosen(tag, list(self.table))

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        assert isinstance(other, Listed)
        keys = list(map(self.key, self.table))
        return [renumbered(next(rows), [keys.index(self.key(thing)) for thing in other.table])]


class Labels(Listed):
    """One of several constants: texts, bytes, ``None``, members of enumerations."""


class Known(Listed):
    """One of several objects of Python that no run makes anew, such as functions and layers."""

    @staticmethod
    def key(thing: object) -> Any:
        return id(thing)


def labels_of(item: object) -> tuple[Any, ...] | None:
    """The constants one of which ``item`` is; ``None`` if it is something else."""
    found = item.leaves() if isinstance(item, Choice) else [item]
    fixed = str, bytes, type(None)
    if all(type(each_) in fixed or isinstance(each_, enum.Enum) for each_ in found):
        return tuple(dict.fromkeys(found))
    return None


def listed_of(item: object) -> Listed | None:
    """What an item is that is one of several things that no run makes anew; ``None`` otherwise."""
    labels = labels_of(item)
    if labels is not None:
        return Labels(labels)
    found = item.leaves() if isinstance(item, Choice) else [item]
    if current() is None or not all(map(_is_fixed, found)):
        return None
    return Known(tuple({id(thing): thing for thing in found}.values()))


def _is_fixed(thing: object) -> bool:
    """Whether an object is the same one on all runs, and in all trips of a loop."""
    capture = current()
    if isinstance(thing, types.FunctionType):
        defaults = (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
        return not thing.__closure__ and all(type(each_) in CONSTANTS for each_ in defaults)
    if isinstance(thing, types.MethodType):
        owner = thing.__self__
        pooled = capture is None or type(owner) in capture.pools
        return _is_fixed(owner) or (is_object(owner) and not pooled and is_from_outside(owner))
    if isinstance(thing, types.BuiltinFunctionType):
        return thing.__self__ is None or isinstance(thing.__self__, types.ModuleType)
    if isinstance(thing, type | paddle.dtype):
        return True
    if type(thing) in (slice, range, frozenset):
        return all(type(part) in CONSTANTS for part in _within(thing))
    if isinstance(thing, paddle.nn.Layer):
        return capture is not None and capture.born.get(id(thing)) is not thing
    return is_object(thing) and not can_be_pooled(type(thing)) and is_from_outside(thing)


def _within(thing: object) -> Any:
    return (thing.start, thing.stop, thing.step) if isinstance(thing, slice) else thing


def is_from_outside(thing: object) -> bool:
    """Whether an object is the caller's, or a part of the state."""
    capture = current()
    return capture is not None and (
        capture.callers.get(id(thing)) is thing
        or any(record.object is thing for record in capture.watched())
    )


def leaf_value(item: object) -> paddle.Tensor:
    """A tensor or number that a list is to store, as a value of the program."""
    if isinstance(item, Choice):
        item = item.get()
    if not (is_numeric(item)):
        capture = current()
        if capture is not None and is_object(item):
            capture.wishes.add(type(item))
        word = _class_of(item).__name__
        raise error_here(
            ContainerInGraphError,
            f"{_SPECIAL.get(word, f'a value of type {word!r}')} is put into a list whose length a "
            "tensor decides",
            _INSTEAD.get(word, "put tensors, numbers or tuples of them into it"),
        )
    return as_value(item)


_INSTEAD: Final = {
    **dict.fromkeys(("generator", "range"), "put a list of the same into it: list(...)"),
    "slice": "put its bounds into it, as a tuple",
    "str": "put what it is made of into it, and join or format that where the text is used",
}
"""What to put into a list of the run in the place of an object of Python, by its class."""


_SPECIAL: Final = {"str": "a text of which the run decides how many parts it has, or their format"}
"""Things of which only some cannot be in a list of the run."""


def _class_of(item: object) -> type:
    """The class that ``item`` has to a reader."""
    of_run = getattr(type(item), "d2s_type", None)
    found: type = getattr(type(item), "d2s_plain", type(item)) if of_run is None else of_run(item)
    return found


def _same_kind(one: Leaf, other: Leaf) -> bool:
    """Whether two leaves are numbers of one type, or tensors of one dtype and rank."""
    if one.kind is not None or other.kind is not None:
        return one.kind is other.kind
    return one.dtype == other.dtype and len(one.shape) == len(other.shape)


def _joint(one: Leaf, other: Leaf) -> Leaf:
    """Where sizes differ the dimension is open; gradients pass if one lets them."""
    shape = [a if a == b else -1 for a, b in zip(one.shape, other.shape, strict=True)]
    stop = one.stop_gradient and other.stop_gradient
    return one._replace(shape=tuple(shape), stop_gradient=stop)


def chosen(tag: paddle.Tensor, things: list[Any]) -> Any:
    """The thing that ``tag`` counts off."""
    result = things[-1]
    for index in reversed(range(len(things) - 1)):
        result = Choice(tag == index, things[index], result, "item")
    return result


def renumbered(tags: paddle.Tensor, places: list[int]) -> paddle.Tensor:
    """Other numbers for the same things."""
    if places == list(range(len(places))):
        return tags
    return paddle.gather(paddle.to_tensor(places, dtype="int64"), tags)


def cut(value: paddle.Tensor, axes: list[int], ends: list[Any]) -> paddle.Tensor:
    """``value`` up to ``ends`` along some axes."""
    if not axes:
        return value
    made = paddle.slice(value, axes, [0] * len(axes), ends)
    made.stop_gradient = value.stop_gradient
    return made
