"""The order of objects of a list of the run whose class has an ``__lt__`` of the user's.

For ``sorted`` and ``heapq`` each two of the items are compared once, in a loop; an item is known by
how many are less than it.  ``max`` and ``min`` go through the items, as Python does.
"""

from __future__ import annotations

from typing import Any

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.control_flow.cond import select
from d2s.runtime.lists.dynamic_list import DynamicList, of_columns
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.loops.comprehensions import list_
from d2s.runtime.loops.for_sources import OfTheRun, Trips
from d2s.runtime.python.casts import bool_
from d2s.runtime.python.comparing import COMPARISONS
from d2s.runtime.trace import error_here, tentatively
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.tensors import condition, is_tensor, mark_number


def is_by_method(element: Element) -> bool:
    """Whether a method of the user's says which of two items, or parts of them, is less."""
    kind: Any = getattr(element, "kind", None)
    if hasattr(kind, "d2s_kind"):
        return bool(kind.d2s_order is None)
    return any(map(is_by_method, getattr(element, "parts", ())))


def order_keys(whole: DynamicList) -> DynamicList:
    """What the items of ``whole`` are put in order by, if nobody gives keys."""
    return _ranks(whole) if is_by_method(whole.element) else whole


def _item(whole: DynamicList, place: paddle.Tensor) -> Any:
    return whole.element.build([row[place + 1] for row in whole.need_rows()])


def _ranks(whole: DynamicList) -> DynamicList:
    """How many items are less than each."""
    whole.need_rows()
    count = whole.length
    pairs = Indexed(mark_number(count * count, int), lambda place: place)
    less = COMPARISONS["<"]

    def is_less(place: paddle.Tensor) -> Any:
        return bool_(less(_item(whole, place // count), _item(whole, place % count)))

    flags = paddle.reshape(list_(pairs, is_less).stacked(), [-1, 1])
    table = paddle.reshape(paddle.cast(flags, "int64"), paddle.stack([count, count]))
    ranks = table.sum(0)
    with tentatively():
        refusal = error_here(
            ContainerInGraphError,
            f"the items of {whole.name!r}, whose length a tensor decides, are put in order by "
            "an __lt__ by which they are in no order: one is less than another, which is less than "
            "it, or than a third one that is not greater than it",
            "give a key that is a number, or a tuple of numbers",
        )
    expected = paddle.cast(ranks.unsqueeze(1) < ranks.unsqueeze(0), "int64")
    raise_when((table != expected).any(), refusal)
    return of_columns(element_of(mark_number(paddle.zeros([], "int64"), int)), [ranks], whole.name)


def extreme(whole: DynamicList, keys: DynamicList, *, highest: bool) -> Any:
    """The first item whose key is greater, or less, than those before it."""
    whole.need_rows()
    keys.need_rows()
    first = paddle.full([], 0, "int64")
    best, place = _item(keys, first), mark_number(first, int)
    beats = COMPARISONS[">" if highest else "<"]

    def trip(index: paddle.Tensor) -> None:
        nonlocal best, place
        key = _item(keys, index)
        wins = condition(beats(key, best))
        if is_tensor(wins):
            best = select(wins, lambda: key, lambda: best)
            place = select(wins, lambda: index, lambda: place)
        elif wins:
            best, place = key, index

    rest = Indexed(mark_number(keys.length - 1, int), lambda index: mark_number(index + 1, int))
    OfTheRun(rest).run(Trips(trip, ("best", "place")))
    return whole[place]
