"""How an item of a list of the run is taken apart, whatever it is made of: see ``structures``."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.snapshots import Frozen, container_of
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.items.elements import (
    Element,
    Leaves,
    OfRunLength,
    Single,
    listed_of,
    renumbered,
)
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.rows import joined, sizes_of
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.constants import CONSTANTS, same_constant
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.tensors import number_kind
from d2s.runtime.values.tree import bare, is_mapping, is_tuple, map_children, members, refill

MODELS: Final = (
    set,
    frozenset,
    collections.deque,
    collections.Counter,
    collections.OrderedDict,
    collections.defaultdict,
)
"""Classes of containers that are of any length as items, whatever is in them."""


def model_of(item: object) -> Any:
    """An empty container like one whose length the run decides; ``None`` for other things."""
    if isinstance(item, OfRunLength):
        plain: Any = () if item.frozen else []
        return plain if item.model is None else item.model
    return bare(item) if type(item) in MODELS else None


def made_like(model: object, items: Iterable[Any]) -> Any:
    """A container like an empty one, with these items; of a dict, pairs."""
    return refill(bare(model), dict(items) if is_mapping(model) else items)


def class_facts(container: object) -> tuple[Any, ...]:
    """What two containers have in common one of which can stand for both."""
    factory = getattr(container, "default_factory", None)
    return type(container), factory, getattr(container, "maxlen", None)


def thawed(item: object) -> Any:
    """What a list or dict of a snapshot holds, as it may be asked for its structure."""
    item = possible(item)
    if not isinstance(item, Frozen) or isinstance(item.container, OfRunLength):
        return container_of(item)
    held = item.by_key()
    contents = held if is_mapping(item.container) else list(held.values())
    model = model_of(item.container)
    return contents if model is None else refill(model, contents)


def parts_of(item: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Type, keys and parts of an item that is a structure."""
    if type(item) is HostText and all(_is_plain_part(part) for part in item.parts):
        keys = tuple((None, "") if isinstance(part, str) else part[1:] for part in item.parts)
        return HostText, keys, [p if isinstance(p, str) else p[0] for p in item.parts]
    plain = getattr(type(item), "d2s_plain", type(item))  # what was read out of a list is plain
    if plain in (list, tuple) or (isinstance(item, tuple) and hasattr(item, "_make")):
        held = members(item)
        return plain, (len(held),), held
    if plain is dict:
        return dict, tuple(item), list(item.values())
    return None


def _is_plain_part(part: Any) -> bool:
    """Whether a part of a text is text, or something that is formatted in a constant way."""
    return isinstance(part, str) or all(
        each_ is None or isinstance(each_, str) for each_ in part[1:]
    )


def one_of(
    joint: Element, options: list[tuple[Element, list[Any]] | None], tag: paddle.Tensor
) -> list[Any]:
    """The rows of items as those of ``joint``; ``tag`` says which option each item is.

    Args:
        joint: a union with each of them.
        options: what they are, and the rows of each; any rows will do for an absent one.
        tag: a number for each item.
    """
    known = [each for each in options if each is not None]
    made = [joint.converted(part, iter(rows)) for part, rows in known]
    if len(made) == 1:
        return made[0]
    before = [sum(each is not None for each in options[:at]) for at in range(len(options))]
    numbers = [0 if each is None else at for each, at in zip(options, before, strict=True)]
    count = paddle.shape(tag)[0].astype("int64")
    places = paddle.arange(0, count, dtype="int64") + renumbered(tag, numbers) * count
    return [
        paddle.gather(joined(list(column), ragged=leaf.ragged), places)
        for column, leaf in zip(zip(*made, strict=True), joint.leaves, strict=True)
    ]


def rows_of_items(structure: Any, rows: Leaves) -> list[list[Any]]:
    """The rows of each item of a ``Structure``; of a dict, those of the pairs."""
    held = [[next(rows) for _ in part.leaves] for part in structure.parts] or [[next(rows)]]
    if structure.kind is not dict or not structure.parts:
        return held
    count = paddle.shape(held[0][0])[0].astype("int64")
    keys = [
        pair.parts[0].flatten(key)
        for pair, key in zip(structure.as_items(), structure.keys, strict=True)
    ]
    return [
        [*(leaf.unsqueeze(0).expand([count, *leaf.shape]) for leaf in key), *mine]
        for key, mine in zip(keys, held, strict=True)
    ]


def own(part: object) -> Any:
    """A list or dict of an object that was read, which is changed as any other."""
    if isinstance(part, FixedList):
        return list(map(own, part))
    if isinstance(part, FixedDict):
        return {key: own(item) for key, item in part.items()}
    if isinstance(part, Choice):
        return part.like(own(part.true), own(part.false))
    return map_children(own, part) if is_tuple(part) else part


def flattened(row: paddle.Tensor) -> paddle.Tensor:
    """The first two dimensions as one."""
    return paddle.reshape(row, [-1, *sizes_of(row)[2:]])


class Constant(Element):
    """An attribute that all objects have in common."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.leaves = []

    @property
    def form(self) -> Any:
        return Constant, self.value if type(self.value) in CONSTANTS else id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and (
            other.value is self.value or same_constant(other.value, self.value)
        )

    __hash__ = None

    def as_variable(self, name: str) -> Element:
        """The same for numbers, or members of enumerations, that differ."""
        listed = listed_of(self.value)
        if listed is not None:
            return listed
        if number_kind(self.value) is None:
            capture = current()
            if capture is not None and is_object(self.value):
                capture.wishes.add(type(self.value))
            raise error_here(
                ContainerInGraphError,
                f"the attribute {name!r} of objects in a list whose length a tensor decides, a "
                f"{type(self.value).__name__}, is another one in some of them",
                "let all of them have the same, or a tensor, number or text",
            )
        return Single.of(self.value)

    def flatten(self, item: Any) -> list[Any]:
        return []

    def take(self, leaves: Leaves, *, host: bool = False) -> Any:
        return self.value

    def _converted(self, other: Element, rows: Leaves) -> list[Any]:
        return []
