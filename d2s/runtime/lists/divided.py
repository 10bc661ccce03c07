"""A list, dict, set or deque that several branches have divided becomes one again.

One branch that appends leaves two lists, each with the length that a reader would see.  A second
one would leave four, an unrolled loop more than anybody can capture::

    kept = []
    for limit in range(8):
        if x.sum() > limit:
            kept.append(x * limit)      # 256 lists, or one whose length the run decides

So from the third on the alternatives are joined into one :class:`DynamicList`, or what stands for
a dict, set or deque.  What that cannot hold (tensors of several dtypes or shapes, a list with two
names) stays apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from d2s.runtime.aliasing.holders import (
    choices_with,
    holders_of_alternative,
    is_in_an_alternative,
    names_of,
)
from d2s.runtime.aliasing.origins import is_outer, note_form, origin_of
from d2s.runtime.aliasing.variables import State
from d2s.runtime.aliasing.waiting import check_waiting
from d2s.runtime.lists.becoming import KINDS, are_alike, shell_of
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element, Known
from d2s.runtime.lists.items.structures import OneOf, Structure
from d2s.runtime.lists.merging import joint_element, rows_of
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import LEAVES

Select = Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
"""``runtime.control_flow.cond.select``: one of two values, by a bool value."""

FEW: Final = 2
"""So many lists stay apart."""

SOME: Final = 8
"""So many stay apart whose items may differ in a dimension that only the run knows, and dicts whose
values are of several kinds, or change."""

MANY: Final = 16
"""So many lists of functions, layers and the like stay apart."""


def join_again(state: State, select: Select) -> None:
    """Put one container in the place of too many between which tensors choose.

    Args:
        state: the variables after a branch.
        select: how one of two values is taken.
    """
    for slot in state.slots:
        _join_in(slot.get(), slot.set, select, tree.DEPTH)


def _join_in(value: Any, bind: Callable[[Any], object], select: Select, depth: int) -> None:
    """The same for one variable, and for what the container in it holds."""
    if isinstance(value, Choice):
        element = _common(value)
        root = origin_of(value)
        if element is not None and not _is_known_elsewhere(value, root, bind):
            first = value.leaves()[0]
            made = shell_of(first, value.name, element).like(rows_of_all(value, element, select))
            bind(made)
            check_waiting(value)
            note_form(root, made)
    elif depth and tree.is_indexed(value):
        for key, item in tree.pairs(value):
            if type(item) not in LEAVES and (isinstance(item, Choice) or tree.is_indexed(item)):
                _join_in(item, partial(tree.put, value, key), select, depth - 1)


def _common(value: Choice) -> Element | None:
    """What the items of all that ``value`` may be are, where one container can stand for all."""
    if value.size <= FEW:
        return None
    lists = value.leaves()
    if not all(type(each) in KINDS or isinstance(each, DynamicList) for each in lists):
        return None
    element = joint_element(lists) if are_alike(lists) else None
    return None if element is None or value.size <= _few(element, lists[0]) else element


def _few(element: Element, container: Any) -> int:
    """So many containers of such items stay apart."""
    if isinstance(container, dict):
        values = element.parts[1] if isinstance(element, Structure) else element
        if isinstance(values, OneOf) or values.has_mutable:
            return SOME
    if isinstance(element, Known):
        return MANY
    return SOME if any(size < 0 for leaf in element.leaves for size in leaf.shape) else FEW


def _is_known_elsewhere(value: Choice, root: object, bind: Callable[[Any], object]) -> bool:
    """Whether somebody else holds one of the containers, or may: not all are what became of one."""
    if root is None and any(map(is_outer, value.leaves())):
        return True
    bind(None)
    try:
        return any(
            names_of(each) or choices_with(each) or is_in_an_alternative(each)
            for each in value.leaves()
        ) or any(holder.live for holder in holders_of_alternative(_changing_in(value)))
    finally:
        bind(value)


def _changing_in(value: Choice) -> list[Any]:
    """Lists and dicts that are items of what ``value`` may be; the joint list has copies."""
    plain = [each for each in value.leaves() if not isinstance(each, DynamicList)]
    return [item for each in plain for item in tree.members(each) if tree.is_indexed(item)]


def rows_of_all(value: Any, element: Element, select: Select) -> list[Any]:
    """The rows of the list that holds, of all that ``value`` may be."""
    if isinstance(value, Choice):
        rows: list[Any] = select(
            value.flag,
            lambda: rows_of_all(value.true, element, select),
            lambda: rows_of_all(value.false, element, select),
        )
        return rows
    if isinstance(value, DynamicList):
        return element.converted(value.element, iter(value.need_rows()))
    return rows_of(element, tree.entries(value))
