"""A list that several branches have divided becomes one list again.

One branch that appends leaves two lists, each with the length that a reader would see.  A second
one would leave four, an unrolled loop more than anybody can capture::

    kept = []
    for limit in range(8):
        if x.sum() > limit:
            kept.append(x * limit)      # 256 lists, or one whose length the run decides

So from the third on the alternatives are joined into one :class:`DynamicList`.  What that cannot
hold (tensors of several dtypes or shapes, a list with two names) stays apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import choices_with, names_of
from d2s.runtime.aliasing.origins import note_form, origin_of
from d2s.runtime.aliasing.slots import Slot
from d2s.runtime.aliasing.variables import State
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.lists.merging import rows_of
from d2s.runtime.trace import tentatively
from d2s.runtime.values.choice import Choice

Select = Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
"""``runtime.control_flow.cond.select``: one of two values, by a bool value."""

FEW: Final = 2
"""So many lists stay apart."""

SOME: Final = 8
"""So many stay apart whose items may differ in a dimension that only the run knows."""


def join_again(state: State, select: Select) -> None:
    """Put one list in the place of too many between which tensors choose.

    Args:
        state: the variables after a branch.
        select: how one of two values is taken.
    """
    for slot in state.slots:
        value = slot.get()
        if not isinstance(value, Choice) or value.size <= FEW:
            continue
        lists = value.leaves()
        if not all(type(each) is list or isinstance(each, DynamicList) for each in lists):
            continue
        element = _element(lists)
        if element is None or (value.size <= SOME and _is_open(element)):
            continue
        if not _is_known_elsewhere(slot, value, lists):
            root = origin_of(value)
            made = DynamicList(value.name, element).like(_rows(value, element, select))
            slot.set(made)
            note_form(root, made)


def _is_known_elsewhere(slot: Slot, value: Choice, lists: list[Any]) -> bool:
    """Whether another variable holds one of the lists, or may."""
    slot.set(None)
    try:
        return any(names_of(each) or choices_with(each) for each in lists)
    finally:
        slot.set(value)


def _element(lists: list[Any]) -> Element | None:
    """What the items of all of these lists are; ``None`` if one cannot be in a list of the run."""
    with tentatively():
        try:
            return functools.reduce(
                union,
                [
                    element
                    for items in lists
                    for element in (
                        [items.element]
                        if isinstance(items, DynamicList)
                        else map(element_of, items)
                    )
                ],
            )
        except ContainerInGraphError:
            return None


def _is_open(element: Element) -> bool:
    return any(size < 0 for leaf in element.leaves for size in leaf.shape)


def _rows(value: Any, element: Element, select: Select) -> list[Any]:
    """The rows of the list that holds, of all that ``value`` may be."""
    if isinstance(value, Choice):
        rows: list[Any] = select(
            value.flag,
            lambda: _rows(value.true, element, select),
            lambda: _rows(value.false, element, select),
        )
        return rows
    if isinstance(value, DynamicList):
        return element.converted(value.element, iter(value.need_rows()))
    return rows_of(element, value)
