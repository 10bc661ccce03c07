"""``heapq.nlargest`` and ``nsmallest``, ``bisect``: the order of items that the run decides.

Python's documentation gives the first two as ``sorted(things, key=key, reverse=True)[:n]``.  The
search halves a range of positions; which half, is asked of comparisons that are all made before::

    bisect_left([a, b, c], x)   ->   below = [a < x, b < x, c < x];  the search, as 0-D tensors
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.builtins.reductions import sorted_
from d2s.runtime.lists.iteration import items_of
from d2s.runtime.loops.comprehensions import list_of
from d2s.runtime.python.logic import not_
from d2s.runtime.trace import current
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.tensors import as_value, condition, mark_number

Key = Callable[[Any], Any]


def nlargest(n: int, iterable: Iterable[Any], key: Key | None = None) -> Any:
    """``heapq.nlargest``."""
    if current() is None:
        return heapq.nlargest(n, iterable, key)
    return list_of(sorted_(iterable, key=key, reverse=True)[: max(n, 0)])


def nsmallest(n: int, iterable: Iterable[Any], key: Key | None = None) -> Any:
    """``heapq.nsmallest``."""
    if current() is None:
        return heapq.nsmallest(n, iterable, key)
    return list_of(sorted_(iterable, key=key)[: max(n, 0)])


def bisect_left(
    a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> Any:
    """``bisect.bisect_left``."""
    if current() is None or not (holds_tensors(x) or holds_tensors(a)):
        return bisect.bisect_left(a, x, lo, hi, key=key)
    return _searched(lambda item: item < x, a, lo, hi, key)


def bisect_right(
    a: Sequence[Any], x: Any, lo: int = 0, hi: int | None = None, *, key: Key | None = None
) -> Any:
    """``bisect.bisect_right``."""
    if current() is None or not (holds_tensors(x) or holds_tensors(a)):
        return bisect.bisect_right(a, x, lo, hi, key=key)
    return _searched(lambda item: not_(x < item), a, lo, hi, key)


def _searched(
    goes_up: Callable[[Any], Any], a: Iterable[Any], lo: int, hi: int | None, key: Key | None
) -> Any:
    """The position between ``lo`` and ``hi`` at which the search ends."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    items = list(items_of(a))
    hi = len(items) if hi is None else hi
    if lo >= hi:
        return lo
    tests = [condition(goes_up(item if key is None else key(item))) for item in items[:hi]]
    if not any(map(bridge.is_value, tests)):
        return bisect.bisect_left([not test for test in tests], True, lo, hi)
    ups = paddle.stack([paddle.reshape(as_value(test), []).astype("bool") for test in tests])
    low, high = paddle.full([], lo, "int64"), paddle.full([], hi, "int64")
    for _ in range((hi - lo).bit_length()):
        middle = paddle.minimum((low + high) // 2, paddle.full([], hi - 1, "int64"))
        up = paddle.gather(ups.astype("int64"), middle).reshape([]) > 0
        goes_on = low < high
        low, high = (
            paddle.where(paddle.logical_and(goes_on, up), middle + 1, low),
            paddle.where(paddle.logical_and(goes_on, paddle.logical_not(up)), middle, high),
        )
    return mark_number(paddle.reshape(low, []), int)


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    bisect.bisect_left: bisect_left,
    bisect.bisect_right: bisect_right,
}
"""Functions of C that take a callback as ``key``."""

OF_PYTHON: Final[dict[Any, Callable[..., Any]]] = {
    heapq.nlargest: nlargest,
    heapq.nsmallest: nsmallest,
}
"""Functions of Python that do, as the third argument."""
