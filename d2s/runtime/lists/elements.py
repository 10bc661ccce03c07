"""What the items of a dynamic list are: their structure, and what is known of each leaf.

An item may be a tensor or number, or a tuple, dict with fixed keys, named tuple or list of them,
one of several constants, a text, or ``None`` on some runs.  An :class:`Element` takes an item apart
into the leaves that the list stores, and makes an item of stored leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.host.text import HostText, formatted_text
from d2s.runtime.lists.likeness import Maybe, labels_of, maybe
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    is_tensor,
    mark_number,
    number_kind,
)


class OfRunLength:
    """A list whose length the run decides: no item of another one."""


class Leaf(NamedTuple):
    """What is known of one leaf of every item."""

    dtype: Any
    shape: list[int]
    kind: type | None
    stop_gradient: bool


Make = Callable[[list[Any]], Any]
"""From leaves to an item."""


class Element:
    """What is known of an item: its structure, and dtype, shape and number type of each leaf.

    Attributes:
        leaves: the leaves.
        form: the structure; ``None`` for a tensor or number alone.
        tables: the constants one of which a leaf counts off, by the leaf's position.
        has_text: there are texts in it, or other constants such as ``None``.
    """

    def __init__(self, item: object) -> None:
        self.leaves: list[Leaf] = []
        self.tables: dict[int, list[Any]] = {}
        self.has_text = False
        self.form, self._build, self._host = self._scan(item)
        if not self.leaves:
            raise error_here(
                ContainerInGraphError,
                "an item without any tensor or number is put into a list whose length a tensor "
                "decides",
                "put tensors, numbers or tuples of them into it",
            )

    def _scan(self, item: object) -> tuple[Any, Make, Make]:
        labels = labels_of(item)
        if labels is not None:
            return self._scan_label(list(labels))
        parts = _parts(item)
        self.has_text = self.has_text or (parts is not None and parts[0] in (HostText, Maybe))
        if parts is not None:
            kind, keys, items = parts
            scanned = [self._scan(part) for part in items]
            make = _maker(kind, keys)
            return (
                (kind, keys, tuple(part[0] for part in scanned)),
                lambda leaves: make([part[1](leaves) for part in scanned], True),
                lambda leaves: make([part[2](leaves) for part in scanned], False),
            )
        if isinstance(item, Choice):
            item = item.get()
        value = leaf_value(item)
        position = len(self.leaves)
        self.leaves.append(
            Leaf(value.dtype, list(value.shape), number_kind(item), value.stop_gradient)
        )

        def leaf(leaves: list[Any]) -> Any:
            kind = self.leaves[position].kind
            found = leaves[position]
            return found if kind is None else mark_number(found, kind)

        return None, leaf, lambda leaves: leaves[position]

    def _scan_label(self, table: list[Any]) -> tuple[Any, Make, Make]:
        """One of several constants: the leaf says which one."""
        position = len(self.leaves)
        self.leaves.append(Leaf(paddle.int64, [], None, True))
        self.tables[position] = table
        self.has_text = True

        def chosen(leaves: list[Any]) -> Any:
            result = table[-1]
            for index in reversed(range(len(table) - 1)):
                result = Choice(leaves[position] == index, table[index], result, "item")
            return result

        return "label", chosen, lambda leaves: table[int(leaves[position])]

    def _tag(self, position: int, item: object) -> Any:
        """Which of the constants ``item`` is, as a value; -1 for one that is not known yet."""
        places = {constant: index for index, constant in enumerate(self.tables[position])}
        if not isinstance(item, Choice):
            (constant, *_) = labels_of(item) or (None,)
            return paddle.full([], places.get(constant, -1), "int64")
        tag: Any = None
        for constant, holds in item.alternatives():
            mine = paddle.full([], places.get(constant, -1), "int64")
            tag = mine if tag is None else paddle.where(holds, mine, tag)
        return tag

    def _unknown(self, position: int, item: object) -> list[Any]:
        """The constants of ``item`` that are not known yet."""
        return [each for each in labels_of(item) or () if each not in self.tables[position]]

    def build(self, leaves: list[Any]) -> Any:
        """An item of a program; a list or dict in it cannot be changed in place."""
        return self._build(leaves)

    def build_host(self, leaves: list[Any]) -> Any:
        """An item of the leaves that a run has given."""
        return self._host(leaves)

    def flatten(self, item: object) -> list[Any]:
        """The leaves of ``item`` as values with the dtypes of this element."""
        other = Element(item)
        if other.form != self.form:
            raise error_here(
                ContainerInGraphError,
                "items of different structure are put into one list whose length a tensor decides",
                "give every item the same structure",
            )
        for mine, theirs in zip(self.leaves, other.leaves, strict=True):
            numbers = mine.kind is not None or theirs.kind is not None
            if mine.kind is not theirs.kind or (not numbers and mine.dtype != theirs.dtype):
                raise error_here(
                    ContainerInGraphError,
                    f"{words(mine)} and {words(theirs)} are put into one list whose length a "
                    "tensor decides",
                    "give every item the same type",
                )
            if len(mine.shape) != len(theirs.shape):
                raise error_here(
                    ContainerInGraphError,
                    f"tensors of shape {mine.shape} and of shape {theirs.shape} are put into one "
                    "list whose length a tensor decides",
                    "give every item the same number of dimensions",
                )
        return [
            self._tag(position, part)
            if position in self.tables
            else cast_plain(leaf_value(part), self.leaves[position].dtype)
            for position, part in enumerate(leaves_of(item))
        ]

    def check_join(self, other: Element) -> None:
        """Refuse to join lists whose items are not of one type."""
        if other.form != self.form:
            raise error_here(
                ContainerInGraphError,
                "lists with items of different structure are joined",
                "give every item the same structure",
            )
        for mine, theirs in zip(self.leaves, other.leaves, strict=True):
            if mine.dtype != theirs.dtype or mine.kind is not theirs.kind:
                raise error_here(
                    ContainerInGraphError,
                    f"a list of {words(mine)} and a list of {words(theirs)} are joined, whose "
                    "lengths tensors decide",
                    "give every item the same type",
                )

    def relaxed(self, item: object) -> Any | None:
        """``item`` where it shows that a dimension or gradient differs between items."""
        for position, (part, leaf) in enumerate(zip(leaves_of(item), self.leaves, strict=True)):
            if position in self.tables:
                if self._unknown(position, part):
                    return item
                continue
            value = leaf_value(part)
            if not value.stop_gradient and leaf.stop_gradient:
                return item
            if any(a not in (b, -1) for a, b in zip(leaf.shape, value.shape, strict=True)):
                return item
        return None

    def widen(self, item: object) -> None:
        """Let dimensions that differ in ``item`` be open, and gradients through."""
        for position, (part, leaf) in enumerate(zip(leaves_of(item), self.leaves, strict=True)):
            if position in self.tables:
                self.tables[position].extend(self._unknown(position, part))
                continue
            value = leaf_value(part)
            shape = [a if a == b else -1 for a, b in zip(leaf.shape, value.shape, strict=True)]
            stop = leaf.stop_gradient and value.stop_gradient
            self.leaves[position] = leaf._replace(shape=shape, stop_gradient=stop)


def words(leaf: Leaf) -> str:
    """What a leaf is, for messages."""
    name = str(leaf.dtype).rsplit(".", 1)[-1]
    if leaf.kind is not None:
        return f"a Python {leaf.kind.__name__}"
    return f"{'an' if name[0] == 'i' else 'a'} {name} tensor"


def _parts(item: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Type, keys and parts of an item that is a structure."""
    if isinstance(item, OfRunLength):
        raise error_here(
            ContainerInGraphError,
            "a list whose length a tensor decides is put into another one",
            "stack it first, or put it into a tuple or dict outside of the loop",
        )
    found = maybe(item)
    if found is not None:
        return Maybe, (), [found.absent, found.present]
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
    return isinstance(part, str) or all(each is None or isinstance(each, str) for each in part[1:])


def _text(keys: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    """The parts of a text, of how they are formatted and what they are."""
    return tuple((part, *key) for part, key in zip(parts, keys, strict=True))


def _maker(kind: type, keys: tuple[Any, ...]) -> Callable[[list[Any], bool], Any]:
    if kind is Maybe:
        return lambda parts, fixed: (
            Choice(parts[0], None, parts[1], "item") if fixed else None if parts[0] else parts[1]
        )
    if kind is HostText:
        return lambda parts, fixed: (HostText if fixed else formatted_text)(_text(keys, parts))
    if kind is list:
        return lambda parts, fixed: FixedList(parts) if fixed else parts
    if kind is dict:
        return lambda parts, fixed: (FixedDict if fixed else dict)(zip(keys, parts, strict=True))
    if hasattr(kind, "_make"):
        return lambda parts, fixed: kind._make(parts)
    return lambda parts, fixed: tuple(parts)


def leaf_value(item: object) -> paddle.Tensor:
    """A tensor or number that a list is to store, as a value of the program."""
    if isinstance(item, Choice):
        item = item.get()
    if not (is_tensor(item) or number_kind(item) is not None):
        raise error_here(
            ContainerInGraphError,
            f"a value of type {type(item).__name__!r} is put into a list whose length a tensor "
            "decides",
            "put tensors, numbers or tuples of them into it",
        )
    return as_value(item)


def leaves_of(item: object) -> list[Any]:
    """The leaves of an item: tensors, numbers and constants."""
    parts = None if labels_of(item) is not None else _parts(item)
    if parts is None:
        return [item]
    return [leaf for part in parts[2] for leaf in leaves_of(part)]


def _fixed(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        raise error_here(
            ContainerInGraphError,
            f"a {name} that is an item of a list whose length a tensor decides is changed in place",
            "make a new one, and assign it to the place in the list",
        )

    return method


class FixedList(list[Any]):
    """A list that was read out of a growing one: a change in place would be lost."""

    d2s_plain = list


class FixedDict(dict[Any, Any]):
    """A dict that was read out of a growing list: a change in place would be lost."""

    d2s_plain = dict


for _name in (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(FixedList, _name, _fixed("list"))
for _name in (
    "pop", "popitem", "clear", "update", "setdefault", "__setitem__", "__delitem__", "__ior__",
):  # fmt: skip
    setattr(FixedDict, _name, _fixed("dict"))
