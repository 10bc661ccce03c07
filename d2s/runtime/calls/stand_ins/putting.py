"""What is given a list of the run: methods that put its items into a container, and others."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.calls.converter import converter
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.trace import error_here


def _append_all(container: list[object], items: Iterable[object]) -> None:
    for item in items:
        container.append(item)


def _append_all_left(container: collections.deque[object], items: Iterable[object]) -> None:
    for item in items:
        container.appendleft(item)


def _add_all(container: set[object], items: Iterable[object]) -> None:
    for item in items:
        container.add(item)


_LOOPS: Final[dict[tuple[type, str], Any]] = {
    (list, "extend"): _append_all,
    (collections.deque, "extend"): _append_all,
    (collections.deque, "extendleft"): _append_all_left,
    (set, "update"): _add_all,
}
"""What the methods do, one item after the other, by class and name."""


def operator_of(method: types.BuiltinMethodType) -> Callable[..., Any] | None:
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


def of_lists(function: object, given: Iterable[object]) -> D2SError | None:
    """The refusal of a list of the run among what ``function`` is given, if there is one."""
    found = next((item for item in given if isinstance(item, DynamicList)), None)
    if found is None:
        return None
    name = getattr(function, "__name__", "a function")
    return error_here(
        ContainerInGraphError,
        f"{name}() is given {found.name!r}, a list whose length a tensor decides",
        "use the methods of the list, sorted() and min(), or functions of Paddle on a stack of it",
    )


def refuse_lists(function: object, given: Iterable[object]) -> None:
    """Refuse lists of the run before Paddle sees them: in some functions that ends the process."""
    refusal = of_lists(function, given)
    if refusal is not None:
        raise refusal
