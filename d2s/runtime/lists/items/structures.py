"""Items with parts, and items of several kinds: see ``elements``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.snapshots import Frozen, container_of
from d2s.runtime.host.text import HostText, formatted_text
from d2s.runtime.lists.items.elements import (
    COUNT,
    Element,
    Labels,
    Leaves,
    OfRunLength,
    Single,
    chosen,
    cut,
    labels_of,
    renumbered,
)
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.rows import columns_of, joined, sizes_of, zero_rows
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.mixed import told_apart
from d2s.runtime.values.tensors import cast_plain
from d2s.runtime.values.tree import is_mapping
from d2s.runtime.values.unbound import UNBOUND

MOST: Final = 8
"""How many different things an item may be."""


class Structure(Element):
    """A tuple, list, dict, named tuple or text with parts."""

    def __init__(self, kind: type, keys: tuple[Any, ...], parts: list[Element]) -> None:
        self.kind = kind
        self.keys = keys
        self.parts = parts
        self.leaves = [leaf for part in parts for leaf in part.leaves] or [COUNT]
        self.has_text = kind is HostText or any(part.has_text for part in parts)
        self.has_mutable = kind in (list, dict) or any(part.has_mutable for part in parts)

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
        """The same for lists of any length."""
        joint = functools.reduce(union, self.parts) if self.parts else None
        return Inner(self.kind, joint)

    def flatten(self, item: Any) -> list[Any]:
        item = _thawed(item)
        if isinstance(item, Choice):
            found: list[Any] = each(self.flatten, item, none=True)
            return found
        if not self.parts:
            return [paddle.full([], 0, "int64")]
        _, _, items = _parts(item) or (None, None, [])
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
        make: Callable[[list[Any]], Any] = getattr(self.kind, "_make", tuple)
        return make(parts)

    def converted(self, other: Element, rows: Leaves) -> list[Any]:
        assert isinstance(other, Structure)
        if not self.parts:
            return [next(rows)]
        pairs = zip(self.parts, other.parts, strict=True)
        return [row for mine, theirs in pairs for row in mine.converted(theirs, rows)]

    def ragged(self) -> Element:
        return Structure(self.kind, self.keys, [part.ragged() for part in self.parts])


class Inner(Element):
    """A list or tuple whose length the run decides.

    Attributes:
        kind: ``list`` or ``tuple``.
        element: what its items are; ``None`` if it never has one.
    """

    def __init__(self, kind: type, element: Element | None) -> None:
        self.kind = kind
        self.has_mutable = kind is list or (element is not None and element.has_mutable)
        self.element = None if element is None else element.ragged()
        held = [] if self.element is None else self.element.leaves
        self.leaves = [
            COUNT,
            *(leaf._replace(shape=(-1, *leaf.shape), kind=None, ragged=True) for leaf in held),
        ]

    has_text = True

    @property
    def form(self) -> Any:
        return Inner, self.kind, None if self.element is None else self.element.form

    def is_like(self, other: Element) -> bool:
        return isinstance(other, Inner | Structure) and other.kind is self.kind

    def with_(self, other: Element) -> Element:
        theirs = other.as_inner() if isinstance(other, Structure) else other
        assert isinstance(theirs, Inner)
        if self.element is None or theirs.element is None:
            return Inner(self.kind, self.element or theirs.element)
        return Inner(self.kind, union(self.element, theirs.element))

    def flatten(self, item: Any) -> list[Any]:
        item = _thawed(item)
        if isinstance(item, Choice):
            found: list[Any] = each(self.flatten, item, none=True)
            return found
        if self.element is None:
            return [paddle.full([], 0, "int64")]
        if isinstance(item, OfRunLength):
            rows = self.element.converted(item.element, iter(item.need_rows()))
            return [cast_plain(item.length, "int64"), *rows]
        columns = [self.element.fillers(1)]
        columns += [[leaf.unsqueeze(0) for leaf in self.element.flatten(part)] for part in item]
        rows = [
            joined(list(column), ragged=leaf.ragged)
            for column, leaf in zip(zip(*columns, strict=True), self.element.leaves, strict=True)
        ]
        return [paddle.full([], len(item), "int64"), *rows]

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        length = next(leaves)
        if self.element is None:
            return self.kind() if host or self.kind is tuple else FixedList()
        rows = [next(leaves) for _ in self.element.leaves]
        if host:
            held = [row[1 : int(length) + 1] for row in rows]
            columns = columns_of(held, self.element.leaves)
            return self.kind(
                self.element.build(list(row), host=True) for row in zip(*columns, strict=True)
            )
        whole = [cut(row, [0], [length + 1]) for row in rows]
        return OfRunLength.inner(self.element, whole, self.kind is tuple)

    def converted(self, other: Element, rows: Leaves) -> list[Any]:
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
        flat = [_flattened(row) for row in held]
        made = self.element.converted(other.element, iter(flat))
        return [
            length,
            *(paddle.reshape(row, [count, longest, *sizes_of(row)[1:]]) for row in made),
        ]

    def _of_parts(self, other: Structure, rows: Leaves) -> list[Any]:
        """Of lists of one length."""
        taken = [[next(rows) for _ in part.leaves] for part in other.parts] or [[next(rows)]]
        count = paddle.shape(taken[0][0])[0].astype("int64")
        length = paddle.full([1], len(other.parts), "int64").expand([count])
        if self.element is None:
            return [length]
        columns = [self.element.fillers(count)]
        columns += [
            self.element.converted(part, iter(held))
            for part, held in zip(other.parts, taken, strict=False)  # of no part there is a leaf
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


class OneOf(Element):
    """One of several."""

    def __init__(self, options: list[Element]) -> None:
        self.options = [option.ragged() for option in options]
        self.has_mutable = any(option.has_mutable for option in options)
        self.leaves = [COUNT, *(leaf for option in self.options for leaf in option.leaves)]

    has_text = True

    @property
    def numeric(self) -> bool:
        """Whether each is a tensor or number, of one shape, that a tensor can have the place of."""
        leaves = [option.leaf for option in self.options if isinstance(option, Single)]
        shapes = {leaf.shape for leaf in leaves}
        tensors = [leaf for leaf in leaves if leaf.kind is None]
        return len(leaves) == len(self.options) and len(shapes) == len(tensors) == 1

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
        item = told_apart(_thawed(item))
        if isinstance(item, Choice):
            found: list[Any] = each(self.flatten, item, none=True, exact=True)
            return found
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

    def converted(self, other: Element, rows: Leaves) -> list[Any]:
        theirs = other.options if isinstance(other, OneOf) else [other]
        tag = next(rows) if isinstance(other, OneOf) else None
        held = {
            self._place(option): (option, [next(rows) for _ in option.leaves]) for option in theirs
        }
        first = next(iter(held.values()))[1][0] if tag is None else tag
        count = paddle.shape(first)[0].astype("int64")
        if tag is None:
            tag = paddle.full([1], next(iter(held)), "int64").expand([count])
        else:
            tag = renumbered(tag, list(held))
        made = [tag]
        for at, option in enumerate(self.options):
            if at in held:
                known, mine = held[at]
                made += option.converted(known, iter(mine))
            else:
                made += option.fillers(count)
        return made

    def ragged(self) -> Element:
        return self


def union(one: Element, other: Element) -> Element:
    """One for the items of both."""
    if one == other:
        return one
    if isinstance(one, OneOf):
        return one.with_(other)
    if isinstance(other, OneOf) or not one.is_like(other):
        return OneOf([one]).with_(other)
    return one.with_(other)


def element_of(item: Any) -> Element:
    """What an item is.

    Raises:
        ContainerInGraphError: (D2S207) there is something else in it than values and constants.
    """
    item = told_apart(_thawed(item))
    labels = labels_of(item)
    if labels is not None:
        return Labels(labels)
    if isinstance(item, Choice):
        found = [element_of(each_) for each_ in item.leaves() if each_ is not UNBOUND]
        return functools.reduce(union, found)
    if isinstance(item, OfRunLength) and item.model is None:
        return Inner(tuple if item.frozen else list, item.element)
    parts = _parts(item)
    if parts is None:
        return Single.of(item)
    kind, keys, items = parts
    return Structure(kind, keys, list(map(element_of, items)))


def _thawed(item: Any) -> Any:
    """What a list or dict of a snapshot holds, as it may be asked for its structure."""
    item = possible(item)
    if not isinstance(item, Frozen) or isinstance(item.container, OfRunLength):
        return container_of(item)
    held = item.by_key()
    return held if is_mapping(item.container) else list(held.values())


def _parts(item: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Type, keys and parts of an item that is a structure."""
    if type(item) is HostText and all(_is_plain_part(part) for part in item.parts):
        keys = tuple((None, "") if isinstance(part, str) else part[1:] for part in item.parts)
        return HostText, keys, [p if isinstance(p, str) else p[0] for p in item.parts]
    plain = getattr(type(item), "d2s_plain", type(item))  # what was read out of a list is plain
    if plain in (list, tuple) or (isinstance(item, tuple) and hasattr(item, "_make")):
        return plain, (len(item),), list(item)
    if plain is dict:
        return dict, tuple(item), list(item.values())
    return None


def _is_plain_part(part: Any) -> bool:
    """Whether a part of a text is text, or something that is formatted in a constant way."""
    return isinstance(part, str) or all(
        each_ is None or isinstance(each_, str) for each_ in part[1:]
    )


def _flattened(row: paddle.Tensor) -> paddle.Tensor:
    """The first two dimensions as one."""
    return paddle.reshape(row, [-1, *sizes_of(row)[2:]])
