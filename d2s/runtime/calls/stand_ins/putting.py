"""What is given a list or array of the run, or an iterator, and mostly takes all of its items."""

from __future__ import annotations

import collections
import io
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from d2s.errors import ContainerInGraphError, D2SError, NotStaticError
from d2s.runtime.calls.converter import converter
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.iteration import moving
from d2s.runtime.trace import error_here
from d2s.runtime.values.objects import attribute, owner_of
from d2s.runtime.values.tensors import is_array, is_tensor
from d2s.runtime.values.tree import any_leaf


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
        f"{name}() is given {f'{found.name!r}, ' * bool(found.name)}a list whose length a tensor "
        "decides",
        "use the methods of the list, sorted() and min(), or functions of Paddle on a stack of it",
    )


def refuse_lists(function: object, given: Iterable[object]) -> None:
    """Refuse lists of the run before Paddle sees them: in some functions that ends the process."""
    refusal = of_lists(function, given)
    if refusal is not None:
        raise refusal


def of_arrays(error: Exception, function: Callable[..., Any], given: list[Any]) -> Exception | None:
    """The refusal of an array of NumPy that a function of Paddle, Python or C does not take.

    What is said of it in C ("a bytes-like object is required") is nothing that dygraph raises.
    """
    of_paddle = _home_of(function) == "paddle" or is_tensor(owner_of(function))
    if isinstance(error, D2SError) or not any_leaf(is_array, given):
        return None
    name = attribute(function, "__name__", "a function").lstrip("_")
    if of_paddle:
        return error_here(
            NotStaticError,
            f"{name}() of Paddle is given an array of NumPy, which it does not take in a program",
            "give it paddle.to_tensor() of the array; an InputSpec makes a tensor of an argument",
        )
    home = _home_of(function)
    if home in sys.stdlib_module_names:
        refused = isinstance(error, TypeError | BufferError)
    else:
        refused = not (home == "numpy" or isinstance(function, _OF_PYTHON))
    if not refused:
        return None
    return error_here(
        NotStaticError,
        f"{name}(), which stays Python, needs the numbers of an array that each run decides",
        "call it outside of the converted function, or from a function under @d2s.host",
    )


_OF_PYTHON: Final = (types.FunctionType, types.MethodType)


def _home_of(function: Callable[..., Any]) -> str:
    """The package that a function is of; of a method, that of its class; OpenCV's tell nothing."""
    owner = owner_of(function)
    home: Any = attribute(function, "__module__", None)
    if home is None and owner is not None:
        home = owner.__name__ if isinstance(owner, types.ModuleType) else type(owner).__module__
    of_class = attribute(function, "__objclass__", None)
    if home is None and of_class is not None:
        home = of_class.__module__
    return str(home or "").partition(".")[0]


def taken_from(*given: object) -> None:
    """Code that is not converted is ``given`` things, and takes the items of an iterator.

    Raises:
        UnsupportedInGraphError: (D2S205) a branch must not move it.
    """
    for thing in given:
        if isinstance(thing, Iterator) and not isinstance(thing, io.IOBase):
            moving(thing)
