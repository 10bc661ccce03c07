"""Which items of a list of the run equal a thing, as Python compares them: by all of its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.items.elements import Element, Known, Labels, OfRunLength, Single, labels_of
from d2s.runtime.lists.items.parts import Constant, model_of
from d2s.runtime.lists.items.pools import columns_of_attribute, wish_for
from d2s.runtime.lists.items.rows import Leaf, as_numbers, filled_up, relaxed
from d2s.runtime.lists.items.structures import (
    Inner,
    OneOf,
    Structure,
    element_of,
    union,
)
from d2s.runtime.lists.items.views import is_view, number_of
from d2s.runtime.lists.lending import is_itself_only
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, cast_plain, joint_kind, number_kind

Flags = Any
"""A 1-D bool value; ``None`` where no item can be equal."""


def equal_rows(element: Element, rows: list[paddle.Tensor], item: Any) -> paddle.Tensor:
    """For each item of these leaves whether it equals ``item``, a 1-D bool value."""
    found = _equal(element, iter(rows), item)
    return paddle.zeros_like(rows[0], "bool") if found is None else found


def equal_pairs(element: Element, one: list[Any], other: list[Any]) -> paddle.Tensor:
    """For each item of one list and each of another one whether they are equal, a 2-D bool value.

    Args:
        element: what the items of both are.
        one, other: their rows.
    """
    found: Any = None
    sides = [comparable(element, iter(side)) for side in (one, other)]
    for (mine, leaf), (theirs, _) in zip(*sides, strict=True):
        pair = filled_up([mine, theirs], 0) if leaf.ragged else [mine, theirs]
        flat = [paddle.flatten(row, 1) if len(row.shape) > 1 else row.unsqueeze(1) for row in pair]
        same = (flat[0].unsqueeze(1) == flat[1].unsqueeze(0)).all(-1)
        found = same if found is None else found & same
    return relaxed(found, [-1, -1])


def comparable(element: Element, rows: Iterator[Any]) -> list[tuple[Any, Leaf]]:
    """The rows by which items are told apart, each with its leaf: 1 and 1.0 are one number."""
    if isinstance(element, Structure) and element.parts:
        return [pair for part in element.parts for pair in comparable(part, rows)]
    if isinstance(element, Inner) and element.kind not in (list, tuple):
        raise _refusal()
    mine = [next(rows) for _ in element.leaves]
    if isinstance(element, OneOf) and element.of_numbers:
        column = as_numbers(mine)
        return [(column, element.leaves[1])]
    return list(zip(mine, element.leaves, strict=True))


def _equal(element: Element, rows: Iterator[Any], item: Any) -> Flags:
    mine = [next(rows) for _ in element.leaves]
    if isinstance(item, Choice):
        return _one_of_several(element, mine, item)
    if isinstance(element, OneOf):
        tag, rest = mine[0], iter(mine[1:])
        found: Flags = None
        for at, option in enumerate(element.options):
            part = _equal(option, rest, item)
            if part is not None:
                found = _or(found, part & (tag == at))
        return found
    if isinstance(element, Single):
        return _same_numbers(element, mine[0], item)
    if isinstance(element, Labels):
        known = labels_of(item) is not None and item in element.table
        return mine[0] == element.table.index(item) if known else None
    if isinstance(element, Known) and all(map(is_itself_only, (*element.table, item))):
        places = [at for at, thing in enumerate(element.table) if thing is item]
        return mine[0] == places[0] if places else None
    if isinstance(element, Structure):
        return _same_parts(element, mine, item)
    if isinstance(element, Inner):
        return _same_lists(element, mine, item)
    wish_for(element)
    raise _refusal()


def _one_of_several(element: Element, rows: list[Any], item: Choice) -> Flags:
    found: Flags = None
    for part, holds in item.alternatives():
        same = _equal(element, iter(rows), part)
        if same is not None:
            found = _or(found, same & holds)
    return found


def _or(one: Flags, other: Flags) -> Flags:
    return other if one is None else one | other


def _same_numbers(element: Single, row: paddle.Tensor, item: Any) -> Flags:
    mine, theirs = element.leaf.kind, number_kind(item)
    if mine is None:
        raise _refusal()
    if theirs is None:
        return None
    dtype = NUMBER_DTYPES[int if joint_kind(mine, theirs) is bool else joint_kind(mine, theirs)]
    return cast_plain(row, dtype) == cast_plain(as_value(item), dtype)


def _same_parts(element: Structure, rows: list[Any], item: Any) -> Flags:
    if isinstance(item, OfRunLength):
        inner = element.as_inner()
        return _same_lists(inner, inner.converted(element, iter(rows)), item)
    other = element_of(item) if _plain_type(item) is element.kind else None
    if not isinstance(other, Structure) or other.keys != element.keys:
        return None
    if not element.parts:
        return rows[0] == 0
    found: Flags = None
    rest = iter(rows)
    kind: Any = element.kind
    if is_view(item) and kind.d2s_equality != ():
        return _equal_objects(kind, rows[0], item)
    for part, held in zip(element.parts, item, strict=True):
        same = _equal(part, rest, held)
        if same is None:
            return None
        found = same if found is None else found & same
    return found


def _plain_type(item: object) -> type:
    """The class of an item; a list that was read out of one of the run is a list."""
    found: type = getattr(type(item), "d2s_plain", type(item))
    return found


def _equal_objects(kind: Any, numbers: Any, item: Any) -> Flags:
    """Objects of a class that says which are equal: a data class, by its attributes."""
    same = numbers == number_of(item)
    if kind.d2s_equality is None:
        raise _refusal()
    found: Flags = paddle.ones_like(numbers, "bool")
    for name in kind.d2s_equality:
        part, rows = columns_of_attribute(kind.d2s_kind, name)
        if isinstance(part, Constant):
            continue
        mine = [paddle.gather(row, numbers + 1) for row in rows]
        held = getattr(item, name)
        if isinstance(part, Single) and part.leaf.kind is None:
            if any(size != 1 for size in part.leaf.shape):
                return same  # Python asks for the truth of such tensors, and gets none
            equal = paddle.reshape(mine[0] == held, [-1])
        else:
            equal = _equal(part, iter(mine), held)
        if equal is None:
            return same
        found = found & equal
    return same | found


def _same_lists(element: Inner, rows: list[Any], item: Any) -> Flags:
    """Lists of one length, and all their items."""
    of_run = isinstance(item, OfRunLength)
    if element.kind not in (list, tuple):
        if number_kind(item) is not None or labels_of(item) is not None:
            return None
        raise _refusal()
    kind = type(model_of(item)) if of_run else _plain_type(item)
    if kind is not element.kind:
        return None
    joint = union(element, element_of(item))
    assert isinstance(joint, Inner)
    length, *mine = joint.converted(element, iter(rows))
    size, *theirs = joint.flatten(item)
    same = length == size
    if joint.element is None:
        return same
    if not isinstance(joint.element, Single) or joint.element.leaf.kind is None:
        raise _refusal()
    one, other = filled_up([mine[0], theirs[0].unsqueeze(0)], 0)
    beyond = paddle.arange(paddle.shape(one)[1].astype("int64")) > size
    first = paddle.arange(paddle.shape(one)[1].astype("int64")) == 0
    return same & ((one == other) | beyond | first).all(1)


def _refusal() -> Exception:
    return error_here(
        ContainerInGraphError,
        "tensors, or lists of other things than numbers, are compared with the items of a list "
        "whose length a tensor decides",
        "keep a list of the numbers that are compared",
    )
