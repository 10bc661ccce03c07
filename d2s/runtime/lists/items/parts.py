"""How an item of a list of the run is taken apart, whatever it is made of: see ``structures``."""

from __future__ import annotations

from typing import Any

import paddle

from d2s.runtime.aliasing.snapshots import Frozen, container_of
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.items.elements import Element, OfRunLength, renumbered
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.rows import joined, sizes_of
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.tree import is_mapping, is_tuple, map_children


def thawed(item: object) -> Any:
    """What a list or dict of a snapshot holds, as it may be asked for its structure."""
    item = possible(item)
    if not isinstance(item, Frozen) or isinstance(item.container, OfRunLength):
        return container_of(item)
    held = item.by_key()
    return held if is_mapping(item.container) else list(held.values())


def parts_of(item: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
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
