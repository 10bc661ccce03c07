"""Methods that put all items of a list of the run into a list, deque or set of Python."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.calls.converter import converter
from d2s.runtime.lists.dynamic_list import DynamicList


def _append_all(container: Any, items: Any) -> None:
    for item in items:
        container.append(item)


def _append_all_left(container: Any, items: Any) -> None:
    for item in items:
        container.appendleft(item)


def _add_all(container: Any, items: Any) -> None:
    for item in items:
        container.add(item)


_LOOPS: Final[dict[tuple[type, str], Any]] = {
    (list, "extend"): _append_all,
    (collections.deque, "extend"): _append_all,
    (collections.deque, "extendleft"): _append_all_left,
    (set, "update"): _add_all,
}
"""What the methods do, one item after the other, by class and name."""


def operator_of(method: Any) -> Callable[..., Any] | None:
    """The operator of a method that takes all items of something; ``None`` for other methods.

    Where a tensor decides how many items there are, it is the loop that the user could write.
    """
    container = method.__self__
    loop = _LOOPS.get((type(container), method.__name__))
    if loop is None:
        return None

    def put(*given: object, **options: object) -> Any:
        if len(given) == 1 and isinstance(given[0], DynamicList):
            return converter().convert(loop)(container, *given)
        return method(*given, **options)

    return put
