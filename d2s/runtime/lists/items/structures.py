"""Items with parts, and items of several kinds: see ``elements``."""

from __future__ import annotations

import enum
import functools
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.host.text import HostText, formatted_text
from d2s.runtime.lists.items.elements import (
    COUNT,
    Element,
    Leaves,
    Nothing,
    OfRunLength,
    Single,
    chosen,
    cut,
    is_from_outside,
    leaf_value,
    listed_of,
    renumbered,
)
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.parts import (
    Constant,
    class_facts,
    flattened,
    made_like,
    model_of,
    one_of,
    own,
    parts_of,
    rows_of_items,
    thawed,
)
from d2s.runtime.lists.items.rows import columns_of, joined, sizes_of, zero_rows
from d2s.runtime.lists.items.sizes import is_cut
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, empty, is_object, set_attributes
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, cast_plain
from d2s.runtime.values.tree import entries, is_hashed, is_mapping
from d2s.runtime.values.unbound import UNBOUND

MOST: Final = 8
"""How many different things an item may be."""

MOST_TUPLES: Final = 4
"""Of so many different lengths may tuples be, before they are tuples of any length."""


class Structure(Element):
    """A tuple, list, dict, named tuple or text with parts."""

    def __init__(self, kind: type, keys: tuple[Any, ...], parts: list[Element]) -> None:
        self.kind = kind
        self.keys = keys
        self.parts = parts
        self.leaves = [leaf for part in parts for leaf in part.leaves] or [COUNT]
        self.has_text = kind is HostText or any(part.has_text for part in parts)
        self.has_mutable = kind in (list, dict) or any(part.has_mutable for part in parts)
        self.has_objects = any(part.has_objects for part in parts)

    @property
    def form(self) -> Any:
        return self.kind, self.keys, [part.form for part in self.parts]

    def is_like(self, other: Element) -> bool:
        if isinstance(other, Inner):
            return other.kind is self.kind
        same = isinstance(other, Structure) and other.kind is self.kind
        return same and (self.kind is list or vars(other)["keys"] == self.keys)

    def with_(self, other: Element) -> Element:
        if isinstance(other, Structure) and other.keys == self.keys:
            pairs = zip(self.parts, other.parts, strict=True)
            return Structure(self.kind, self.keys, [union(one, two) for one, two in pairs])
        return self.as_inner().with_(other)

    def as_inner(self) -> Inner:
        """The same for containers of any length."""
        items = self.as_items()
        return Inner(self.kind(), functools.reduce(union, items) if items else None)

    def as_items(self) -> list[Element]:
        """The parts; of a dict, pairs of them with their keys."""
        if self.kind is not dict:
            return self.parts
        pairs = zip(map(element_of, self.keys), self.parts, strict=True)
        return [Structure(tuple, (2,), list(pair)) for pair in pairs]

    def flatten(self, item: Any) -> list[Any]:
        item = thawed(item)
        if isinstance(item, Choice):
            return self.flatten_one_of(item)
        if not self.parts:
            return [paddle.full([], 0, "int64")]
        _, _, items = parts_of(item) or (None, None, [])
        pairs = zip(self.parts, items, strict=True)
        return [leaf for part, held in pairs for leaf in part.flatten(held)]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        if not self.parts:
            next(leaves)
        parts = [part.take(leaves, host=host) for part in self.parts]
        if self.kind is HostText:
            pairs = zip(parts, self.keys, strict=True)
            return (formatted_text if host else HostText)(
                tuple((part, *key) for part, key in pairs)
            )
        if self.kind is dict:
            return (dict if host else FixedDict)(zip(self.keys, parts, strict=True))
        if self.kind is list:
            return parts if host else FixedList(parts)
        kind = self.kind if hasattr(self.kind, "_make") else tuple
        return tuple.__new__(kind, parts)  # _make would ask for a length of the user's

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        assert isinstance(other, Structure)
        if not self.parts:
            return [next(rows)]
        pairs = zip(self.parts, other.parts, strict=True)
        return [row for mine, theirs in pairs for row in mine.converted(theirs, rows)]

    def ragged(self) -> Element:
        return Structure(self.kind, self.keys, [part.ragged() for part in self.parts])


class Inner(Element):
    """A list, tuple, set or another container whose length the run decides.

    Attributes:
        model: an empty one.
        kind: its class.
        element: what its items are, of a dict the pairs; ``None`` if it never has one.
    """

    def __init__(self, model: object, element: Element | None) -> None:
        self.model: Any = model
        self.kind = type(model)
        self.facts = class_facts(model)
        mutable = self.kind not in (tuple, frozenset)
        self.has_mutable = mutable or (element is not None and element.has_mutable)
        self.has_objects = element is not None and element.has_objects
        self.element = None if element is None else element.ragged()
        held = [] if self.element is None else self.element.leaves
        self.leaves = [
            COUNT,
            *(leaf._replace(shape=(-1, *leaf.shape), kind=None, ragged=True) for leaf in held),
        ]

    has_text = True

    def as_inner(self) -> Inner:
        """See :class:`Structure`."""
        return self

    @property
    def form(self) -> Any:
        return Inner, self.facts, None if self.element is None else self.element.form

    def is_like(self, other: Element) -> bool:
        if isinstance(other, Inner):
            return other.facts == self.facts
        return isinstance(other, Structure) and other.kind is self.kind

    def with_(self, other: Element) -> Element:
        theirs = other.as_inner() if isinstance(other, Structure) else other
        assert isinstance(theirs, Inner)
        if self.element is None or theirs.element is None:
            return Inner(self.model, self.element or theirs.element)
        return Inner(self.model, union(self.element, theirs.element))

    def flatten(self, item: Any) -> list[Any]:
        item = thawed(item)
        if isinstance(item, Choice):
            return self.flatten_one_of(item)
        if self.element is None:
            return [paddle.full([], 0, "int64")]
        if isinstance(item, OfRunLength):
            rows = self.element.converted(item.element, iter(item.need_rows()))
            return [cast_plain(item.length, "int64"), *rows]
        if is_hashed(self.model) and not is_mapping(self.model):
            OfRunLength.note_order(item)
        held = entries(item)
        columns = [self.element.fillers(1)]
        columns += [[leaf.unsqueeze(0) for leaf in self.element.flatten(part)] for part in held]
        rows = [
            joined(list(column), ragged=leaf.ragged)
            for column, leaf in zip(zip(*columns, strict=True), self.element.leaves, strict=True)
        ]
        return [paddle.full([], len(held), "int64"), *rows]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        length = next(leaves)
        if self.element is None:
            return made_like(self.model, []) if host or self.kind is tuple else self._empty()
        rows = [next(leaves) for _ in self.element.leaves]
        if host:
            held = [row[1 : int(length) + 1] for row in rows]
            columns = columns_of(held, self.element.leaves)
            made = (self.element.build(list(row), host=True) for row in zip(*columns, strict=True))
            return made_like(self.model, made)
        whole = [cut(row, [0], [length + 1]) for row in rows]
        return OfRunLength.inner(self.element, whole, self.model)

    def _empty(self) -> Any:
        """One to which the function may still put items."""
        if self.kind is list:
            return FixedList()
        blank: Element = Nothing()
        if is_mapping(self.model):
            blank = Structure(tuple, (2,), [blank, Nothing()])
        return OfRunLength.inner(blank, blank.fillers(1), self.model)

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        if isinstance(other, Structure):
            return self._of_parts(other, rows)
        assert isinstance(other, Inner)
        length = next(rows)
        if self.element is None:
            return [length]
        count = paddle.shape(length)[0].astype("int64")
        if other.element is None:
            return [length, *(zero_rows(leaf, count) for leaf in self.leaves[1:])]
        held = [next(rows) for _ in other.element.leaves]
        if self.element.form == other.element.form:
            return [length, *held]
        longest = paddle.shape(held[0])[1].astype("int64")
        flat = [flattened(row) for row in held]
        made = self.element.converted(other.element, iter(flat))
        return [
            length,
            *(paddle.reshape(row, [count, longest, *sizes_of(row)[1:]]) for row in made),
        ]

    def _of_parts(self, other: Structure, rows: Leaves) -> list[Any]:
        """Of lists of one length."""
        taken = rows_of_items(other, rows)
        count = paddle.shape(taken[0][0])[0].astype("int64")
        length = paddle.full([1], len(other.parts), "int64").expand([count])
        if self.element is None:
            return [length]
        columns = [self.element.fillers(count)]
        columns += [
            self.element.converted(part, iter(held))
            for part, held in zip(other.as_items(), taken, strict=False)  # of no part one leaf
        ]
        return [
            length,
            *(
                joined([row.unsqueeze(1) for row in column], axis=1, ragged=leaf.ragged)
                for column, leaf in zip(
                    zip(*columns, strict=True), self.element.leaves, strict=True
                )
            ),
        ]


class Record(Element):
    """An object of a class of the user's: its attributes."""

    has_text = has_mutable = has_objects = True

    def __init__(self, kind: type, names: tuple[str, ...], parts: list[Element]) -> None:
        self.kind = kind
        self.names = names
        self.parts = parts
        self.leaves = [COUNT, *(leaf for part in parts for leaf in part.leaves)]

    @classmethod
    def of(cls, item: Any) -> Record:
        """What an object is."""
        held = attributes_of(item)
        return cls(type(item), tuple(held), [attribute_element(value) for value in held.values()])

    @property
    def form(self) -> Any:
        return self.kind, self.names, [part.form for part in self.parts]

    def is_like(self, other: Element) -> bool:
        return isinstance(other, Record) and (other.kind, other.names) == (self.kind, self.names)

    def with_(self, other: Element) -> Element:
        assert isinstance(other, Record)
        both = zip(self.names, self.parts, other.parts, strict=True)
        return Record(self.kind, self.names, [joint_attribute(*each_) for each_ in both])

    def flatten(self, item: Any) -> list[Any]:
        if isinstance(item, Choice):
            return self.flatten_one_of(item)
        held = attributes_of(item)
        pairs = zip(self.names, self.parts, strict=True)
        rows = [leaf for name, part in pairs for leaf in part.flatten(held[name])]
        return [paddle.full([], 0, "int64"), *rows]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        next(leaves)
        parts = [part.take(leaves, host=host) for part in self.parts]
        held = parts if host else map(own, parts)
        made = set_attributes(empty(self.kind), dict(zip(self.names, held, strict=True)))
        if host and hasattr(self.kind, "d2s_parts"):  # an array of the run, which is NumPy's there
            inside, make = made.d2s_parts()
            return make([value for _, value in inside])
        capture = current()
        if capture is not None and not host:
            capture.born[id(made)] = made
        return made

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        assert isinstance(other, Record)
        first = next(rows)
        made = [first]
        for name, mine, theirs in zip(self.names, self.parts, other.parts, strict=True):
            if isinstance(theirs, Constant) and not isinstance(mine, Constant):
                variable = theirs.as_variable(name)
                one = as_value(theirs.value) if isinstance(variable, Single) else 0 * first[0]
                whole = paddle.expand(one, [paddle.shape(first)[0]])
                made += mine.converted(variable, iter([whole]))
            else:
                made += mine.converted(theirs, rows)
        return made

    def ragged(self) -> Element:
        return Record(self.kind, self.names, [part.ragged() for part in self.parts])


def attribute_element(value: object) -> Element:
    """What an attribute of an object is; of an object from outside all have the same."""
    if isinstance(value, Choice):
        return element_of(value)
    if is_object(value):
        return Constant(value) if is_from_outside(value) else Record.of(value)
    fixed = type(value) in NUMBER_DTYPES or callable(value) or isinstance(value, enum.Enum)
    return Constant(value) if fixed else element_of(value)


def joint_attribute(name: str, one: Element, other: Element) -> Element:
    """One for an attribute of both."""
    if one == other:
        return one
    one = one.as_variable(name) if isinstance(one, Constant) else one
    return union(one, other.as_variable(name) if isinstance(other, Constant) else other)


class OneOf(Element):
    """One of several."""

    def __init__(self, options: list[Element]) -> None:
        self.options = [option.ragged() for option in options]
        self.has_mutable = any(option.has_mutable for option in options)
        self.has_objects = any(option.has_objects for option in options)
        self.leaves = [COUNT, *(leaf for option in self.options for leaf in option.leaves)]

    has_text = True

    @property
    def numeric(self) -> bool:
        """Whether each is a tensor or number, of one shape, that a tensor can have the place of."""
        leaves = [option.leaf for option in self.options if isinstance(option, Single)]
        shapes = {leaf.shape for leaf in leaves}
        tensors = [leaf for leaf in leaves if leaf.kind is None]
        return len(leaves) == len(self.options) and len(shapes) == len(tensors) == 1

    @property
    def of_numbers(self) -> bool:
        """Whether each is a Python number."""
        return all(isinstance(each, Single) and each.leaf.kind is not None for each in self.options)

    def as_tensors(self, rows: list[Any]) -> Any:
        """The rows of what is numeric, of the dtype that its tensors have."""
        tag, *columns = rows
        dtype = next(leaf.dtype for leaf in self.leaves[1:] if leaf.kind is None)
        whole = paddle.concat([cast_plain(column, dtype) for column in columns])
        count = paddle.shape(tag)[0].astype("int64")
        return paddle.gather(whole, paddle.arange(0, count, dtype="int64") + tag * count)

    @property
    def form(self) -> Any:
        return OneOf, [option.form for option in self.options]

    def with_(self, other: Element) -> Element:
        options = list(self.options)
        for mine in other.options if isinstance(other, OneOf) else [other]:
            at = next((at for at, known in enumerate(options) if known.is_like(mine)), None)
            if at is None:
                options.append(mine)
            else:
                options[at] = union(options[at], mine)
        tuples: list[Any] = [each for each in options if getattr(each, "kind", None) is tuple]
        if len(tuples) > MOST_TUPLES:
            joint = functools.reduce(lambda one, other: one.as_inner().with_(other), tuples)
            options = [*(each for each in options if each not in tuples), joint]
        if len(options) > MOST:
            raise error_here(
                ContainerInGraphError,
                f"items of more than {MOST} different structures are put into one list whose "
                "length a tensor decides",
                "give every item the same structure",
            )
        return options[0] if len(options) == 1 else OneOf(options)

    def _place(self, element: Element) -> int:
        """Which of the options the items of an element are."""
        return next(at for at, known in enumerate(self.options) if known.is_like(element))

    def flatten(self, item: Any) -> list[Any]:
        item = told_apart(thawed(item))
        if isinstance(item, Choice):
            return self.flatten_one_of(item, exact=True)
        at = self._place(element_of(item))
        found = [paddle.full([], at, "int64")]
        for place, option in enumerate(self.options):
            if place == at:
                found += option.flatten(item)
            else:
                found += [row.squeeze(0) for row in option.fillers(1)]
        return found

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        tag = next(leaves)
        made = [option.take(leaves, host=host) for option in self.options]
        return made[int(tag)] if host else chosen(tag, made)

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        theirs = other.options if isinstance(other, OneOf) else [other]
        tag = next(rows) if isinstance(other, OneOf) else None
        places = [self._place(option) for option in theirs]
        held = [(option, [next(rows) for _ in option.leaves]) for option in theirs]
        first = held[0][1][0] if tag is None else tag
        count = paddle.shape(first)[0].astype("int64")
        if tag is None:
            tag = paddle.full([1], 0, "int64").expand([count])
        made = [renumbered(tag, places)]
        for at, option in enumerate(self.options):
            mine = [each if place == at else None for place, each in zip(places, held, strict=True)]
            made += one_of(option, mine, tag) if at in places else option.fillers(count)
        return made

    def ragged(self) -> Element:
        return self


def union(one: Element, other: Element) -> Element:
    """One for the items of both."""
    if one == other:
        return one
    if isinstance(one, Nothing) or isinstance(other, Nothing):
        return other if isinstance(one, Nothing) else one
    if isinstance(one, OneOf):
        return one.with_(other)
    if isinstance(other, OneOf) or not one.is_like(other):
        return OneOf([one]).with_(other)
    return one.with_(other)


def element_of(item: object) -> Element:
    """What an item is.

    Raises:
        ContainerInGraphError: (D2S207) there is something else in it than values and constants.
    """
    item = told_apart(thawed(item))
    listed = listed_of(item)
    if listed is not None:
        return listed
    if isinstance(item, Choice):
        found = [element_of(each_) for each_ in item.leaves() if each_ is not UNBOUND]
        return functools.reduce(union, found)
    model = model_of(item)
    if model is not None:
        return _of_any_length(model, item)
    parts = parts_of(item)
    if parts is None:
        if is_object(item) and not is_from_outside(item):
            return Record.of(item)
        single = Single.of(item)
        return single.ragged() if is_cut(leaf_value(item)) else single
    kind, keys, items = parts
    return Structure(kind, keys, list(map(element_of, items)))


def _of_any_length(model: object, item: object) -> Inner:
    """What a container of the run is, or one of Python that is always of any length."""
    if isinstance(item, OfRunLength):
        parts = getattr(item.element, "parts", [item.element])
        blank = all(isinstance(part, Nothing) for part in parts) and parts
        return Inner(model, None if blank else item.element)
    held = list(map(element_of, entries(item)))
    return Inner(model, functools.reduce(union, held) if held else None)
