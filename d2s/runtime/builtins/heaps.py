"""``heapq`` of lists whose items, or whose length, the run decides."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.runtime.builtins.compared import order_keys
from d2s.runtime.lists.becoming import become
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.ordering import Heap, columns_of_order
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.trace import current, open_trace
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.constants import holds_tensors


def _of_run(heap: Any, *items: Any) -> Any:
    """``heap`` as a list of the run; ``None`` where Python knows all that is compared."""
    if current() is None or isinstance(heap, DynamicList):
        return heap if isinstance(heap, DynamicList) else None
    if type(heap) is not list or not any(map(holds_tensors, [*heap, *items])):
        return None
    return become(heap, element_of((items or heap)[0]))


def _heap(heap: DynamicList, places: Any, count: Any) -> Heap:
    keys = order_keys(heap)
    return Heap(columns_of_order(keys.element, keys.item_rows(), heap.name), places, count)


def _places(heap: DynamicList) -> Any:
    return paddle.arange(0, heap.length, dtype="int64")


def _zero() -> Any:
    return paddle.full([], 0, "int64")


def heappush(heap: Any, item: Any, /) -> None:
    """``heapq.heappush``."""
    mine = _of_run(heap, item)
    if mine is None:
        heapq.heappush(heap, item)
        return
    mine.append(item)
    whole = _heap(mine, _places(mine), mine.length)
    whole.down(_zero(), mine.length - 1)
    mine.reorder(whole.order)


def heappop(heap: Any, /) -> Any:
    """``heapq.heappop``."""
    mine = _of_run(heap)
    if mine is None:
        return heapq.heappop(heap)
    raise_when(mine.length == 0, IndexError("index out of range"))
    found = mine[0]
    last = mine.length - 1
    first = paddle.reshape(last, [1])
    _settle(mine, paddle.concat([first, _places(mine)[1:]])[:last], last)
    return found


def _settle(heap: DynamicList, places: Any, count: Any) -> None:
    """Let a heap be these of its items, of which the first may be at a wrong place."""
    whole = _heap(heap, places, count)
    whole.up(_zero())
    heap.reorder(whole.order)


def heapreplace(heap: Any, item: Any, /) -> Any:
    """``heapq.heapreplace``."""
    mine = _of_run(heap, item)
    if mine is None:
        return heapq.heapreplace(heap, item)
    raise_when(mine.length == 0, IndexError("index out of range"))
    found = mine[0]
    mine[0] = item
    _settle(mine, _places(mine), mine.length)
    return found


def heapify(heap: Any, /) -> None:
    """``heapq.heapify``."""
    mine = _of_run(heap)
    if mine is None:
        heapq.heapify(heap)
        return
    whole = _heap(mine, _places(mine), mine.length)
    whole.build()
    mine.reorder(whole.order)


def _of_each(operate: Callable[..., Any]) -> Callable[..., Any]:
    """``operate``, on each of several lists where a tensor has decided which one it is."""

    @functools.wraps(operate)
    def run(heap: Any, /, *items: Any) -> Any:
        if not isinstance(heap, Choice):
            return operate(heap, *items)
        return open_trace().branching.over(lambda side: run(side, *items), heap, changes=True)

    return run


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    heapq.heappush: _of_each(heappush),
    heapq.heappop: _of_each(heappop),
    heapq.heapreplace: _of_each(heapreplace),
    heapq.heapify: _of_each(heapify),
}
"""Functions of C."""
