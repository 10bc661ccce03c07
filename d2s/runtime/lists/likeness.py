"""Descriptions of values that outlive them: dtype, shape and number type.

When a capture of a loop is dropped, its values are gone (touching one is a crash); what was
learned from them is kept in these descriptions, and zeros of the same kind are made from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.host.text import HostText
from d2s.runtime.trace import current
from d2s.runtime.values.cases import optional_parts
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import NUMBER_DTYPES, is_tensor, mark_number, number_kind, zeros_of
from d2s.runtime.values.tree import (
    is_mapping,
    is_sequence,
    is_tuple,
    like,
    map_children,
    members,
    pairs,
)


class Like:
    """Dtype, shape and number type of a value of a capture that was dropped."""

    def __init__(self, value: object) -> None:
        self.kind = number_kind(value)
        made = value if is_tensor(value) else None
        self.dtype = made.dtype if made is not None else NUMBER_DTYPES[self.kind or int]
        self.shape = list(made.shape) if made is not None else []
        self.stop_gradient = made is None or made.stop_gradient

    def zeros(self) -> paddle.Tensor:
        """A value like it."""
        return zeros_of(self.shape, self.dtype)


class Labels:
    """Constants, such as texts, one of which a tensor chooses; as an item of a list."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


class Maybe:
    """A tensor or number, or ``None``; as an item of a list."""

    def __init__(self, absent: object, present: object) -> None:
        self.absent = absent
        self.present = present


def maybe(item: object) -> Maybe | None:
    """``item`` where a tensor decides whether it is ``None`` or a tensor or number."""
    if isinstance(item, Maybe):
        return item
    parts = optional_parts(item) if isinstance(item, Choice) else None
    if parts is None or parts[0] is not None or parts[2] is None:
        return None
    return Maybe(mark_number(paddle.assign(parts[1]), bool), parts[2])


def labels_of(item: object) -> tuple[Any, ...] | None:
    """The texts, bytes and ``None`` one of which ``item`` is; ``None`` if it is something else."""
    if isinstance(item, Labels):
        return item.values
    found = item.leaves() if isinstance(item, Choice) else [item]
    if all(type(each) in (str, bytes, type(None)) for each in found):
        return tuple(dict.fromkeys(found))
    return None


def wants_gradients() -> bool:
    """Whether the program that is being captured is to be differentiated."""
    capture = current()
    return capture is not None and capture.gradients


def description_of(item: object) -> Any:
    """A description of an item of a dropped capture, as zeros can be made from it."""
    labels = labels_of(item)
    if labels is not None:
        return Labels(labels)
    if isinstance(item, HostText):
        return _text_of(item, description_of)
    found = maybe(item)
    if found is not None:
        return Maybe(True, description_of(found.present))
    if isinstance(item, Choice):
        return description_of(item.get(check=False))
    if isinstance(item, Frozen):
        if is_mapping(item.container):
            return {key: description_of(part) for key, part in item.items}
        return [description_of(part) for part in item.items]
    if is_sequence(item) or isinstance(item, list):  # a list among the rows of another one, too
        parts = [description_of(part) for part in members(item)]
        return like(item, parts) if is_tuple(item) else parts
    if is_mapping(item):
        return {key: description_of(part) for key, part in pairs(item)}
    return Like(item) if is_tensor(item) or number_kind(item) is not None else item


def _text_of(text: HostText, use: Callable[[object], object]) -> HostText:
    """The same text with ``use`` of what is formatted in it."""
    return HostText(
        tuple(part if isinstance(part, str) else (use(part[0]), *part[1:]) for part in text.parts)
    )


def common(known: Any, found: Any) -> Any:
    """A description of both: a dimension that differs is open, gradients pass if one lets them."""
    if isinstance(known, Like) and isinstance(found, Like):
        if known.dtype == found.dtype and len(known.shape) == len(found.shape):
            sizes = zip(known.shape, found.shape, strict=True)
            found.shape = [a if a == b else -1 for a, b in sizes]
            found.stop_gradient = known.stop_gradient and found.stop_gradient
        return found
    if isinstance(known, Maybe) and isinstance(found, Maybe):
        return Maybe(True, common(known.present, found.present))
    if isinstance(known, Labels) and isinstance(found, Labels):
        return Labels(tuple(dict.fromkeys((*known.values, *found.values))))
    if type(known) is type(found):
        if is_mapping(known) and list(known) == list(found):
            return {key: common(known[key], found[key]) for key in known}
        if is_sequence(known) and len(known) == len(found):
            return like(found, [common(a, b) for a, b in zip(known, found, strict=True)])
    return found


def sample(shape: object) -> Any:
    """An item made from its description."""
    if isinstance(shape, Like):
        zeros = shape.zeros()
        zeros.stop_gradient = shape.stop_gradient
        return zeros if shape.kind is None else mark_number(zeros, shape.kind)
    if isinstance(shape, Maybe):
        return Maybe(True, sample(shape.present))
    if isinstance(shape, HostText):
        return _text_of(shape, sample)
    return map_children(sample, shape) if is_sequence(shape) or is_mapping(shape) else shape
