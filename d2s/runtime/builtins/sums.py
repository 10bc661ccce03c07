"""``sum`` of items whose number the run decides (rule E1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.sizes.empties import may_be_empty
from d2s.runtime.builtins.reductions import Rows, is_dynamic, refused, rows_of
from d2s.runtime.control_flow.cond import ifelse
from d2s.runtime.lists.dynamic_list import DynamicList, of_columns
from d2s.runtime.lists.items.elements import Single
from d2s.runtime.lists.items.structures import OneOf
from d2s.runtime.lists.iteration import items_of
from d2s.runtime.loops.comprehensions import whole_of
from d2s.runtime.python.casts import over
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.mixed import Mixed, note_mixed
from d2s.runtime.values.tensors import cast_plain, is_tensor, mark_number, number_kind


def sum_(things: Iterable[Any], /, start: Any = 0) -> Any:
    """``sum``."""
    if current() is None:
        return sum(things, start)
    things = whole_of(things)
    if isinstance(things, Choice):
        return over(lambda found: sum_(found, start), things)
    rows = rows_of(things, "sum")
    if rows is not None:
        numbers = None if is_tensor(start) else _numbers_among(things)
        if numbers is None:
            return _sum_of_rows(rows, start)
        every, found = numbers
        return ifelse(every, lambda: sum_(found, start), lambda: _sum_of_rows(rows, start))
    items = list(items_of(things))
    if not (is_dynamic(start) or any(map(is_dynamic, items))):
        return sum(items, start)
    total = start
    for item in items:
        total = total + item
    return total


def _numbers_among(things: object) -> tuple[bridge.Value, DynamicList] | None:
    """Whether all of some tensors and Python numbers are numbers, and a list of these.

    ``None`` where the list never has both.
    """
    if not isinstance(things, DynamicList) or not isinstance(things.element, OneOf):
        return None
    options = things.element.options
    kinds = [isinstance(each, Single) and each.leaf.kind is not None for each in options]
    if not any(kinds) or all(kinds):
        return None
    if kinds.count(True) > 1:
        raise refused("sum() is asked for tensors and numbers of two types")
    place = kinds.index(True)
    tag, *columns = things.need_rows()
    return paddle.all(tag == place), of_columns(options[place], [columns[place]], things.name)


def _sum_of_rows(rows: Rows, start: Any) -> Any:
    """``sum`` of items whose number the run decides."""
    total = rows.stacked.sum(0)
    wanted = rows.stacked.dtype
    if wanted == paddle.bool:
        wanted = paddle.int64
    total = cast_plain(total, wanted)
    first = _as_row(start, total)
    if first is not None:
        total = paddle.concat([first.unsqueeze(0), _of_the_size(rows, first)]).cumsum(0)[-1]
    if rows.kind is not None:
        mark_number(total, int if rows.kind is bool else rows.kind)
    whole = first is not None or (type(start) is int and start == 0)
    return _sum_of_some(rows.stacked, start, total if whole else start + total)


def _sum_of_some(stacked: bridge.Value, start: object, total: bridge.Value) -> Any:
    """``total``, and of no items the number that ``sum`` begins with."""
    kind = number_kind(start)
    if kind is None or not bridge.is_value(total) or not may_be_empty(stacked):
        return total
    none = paddle.shape(stacked)[0] == 0
    if number_kind(total) is None:
        return note_mixed(total, Mixed(none, start))
    return total if number_kind(total) is kind else Choice(none, start, total)


def _as_row(start: Any, total: bridge.Value) -> bridge.Value | None:
    """``start`` as a row before those that are added, so that floats are added in Python's order.

    ``sum(0)`` adds in an order of its own, which rounds otherwise; ``None`` where no order matters,
    or ``start`` is not like the rows.
    """
    if not paddle.is_floating_point(total):
        return None
    if type(start) in (int, float):
        return paddle.full_like(total, start)
    alike = bridge.is_value(start) and start.dtype == total.dtype
    return start if alike and list(start.shape) == list(total.shape) else None


def _of_the_size(rows: Rows, like: bridge.Value) -> bridge.Value:
    """The rows: where there are none, an open size of theirs is 1, whatever the run has."""
    if -1 not in list(rows.stacked.shape)[1:]:
        return rows.stacked
    sizes = paddle.shape(like)
    return paddle.expand(rows.stacked, [-1, *(sizes[at] for at in range(len(like.shape)))])
