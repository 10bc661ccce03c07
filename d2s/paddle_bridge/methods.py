"""Methods of classes that others take the place of for a while.

    class Table: __getitem__ = plain                     # before, and afterwards
    class Table: __getitem__ = <replaced: converting>    # while a program is captured

Python 3.13 keeps the function ``__getitem__`` of a class to call it without a lookup, and
after about a thousand changes of the class it no longer forgets that function with the next change
(3.13.0 and 3.13.5; ``tests/unit/paddle_bridge/test_methods.py`` shows it).  A program that is
captured changes the class of tensors, so a long process would get there.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

_KEPT: Final = "__getitem__"
"""The method that Python may call without a lookup."""

_STAND_IN: Final = "__d2s_stand_in__"
"""Where a function has what takes its place: Python does not own the function that it keeps."""


def stand_in(function: types.FunctionType, make: Callable[[Any], Any]) -> Any:
    """What takes the place of ``function`` as a method, which is made once and lives as long.

    Args:
        function: the method.
        make: makes it, as ``functools.wraps`` would.
    """
    known = vars(function).get(_STAND_IN)
    if known is None or known.__wrapped__ is not function:  # that of another one, copied by `wraps`
        known = make(function)
        if known is not function:
            vars(function)[_STAND_IN] = known
    return known


def set_method(owner: type, name: str, method: Any) -> None:
    """Set a method of a class, for a while or back again.

    Args:
        owner: the class.
        name: of the method.
        method: what takes its place; for ``__getitem__`` a function that outlives the class.

    Raises:
        AttributeError, TypeError: the class lets nobody set anything.
    """
    known = [vars(kind).get(name) for kind in owner.__mro__] if name == _KEPT else []
    setattr(owner, name, method)
    for function in [method, *known] if known else []:
        if isinstance(function, types.FunctionType):
            function.__defaults__ = function.__defaults__  # what Python keeps is no longer it


@contextlib.contextmanager
def methods_replaced(table: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Classes with other methods for a while.

    Args:
        table: by class and name, what the class has in place of its own.
    """
    before = {key: vars(key[0]).get(key[1]) for key in table}
    for (owner, name), method in table.items():
        setattr(owner, name, method)
    try:
        yield
    finally:
        for (owner, name), original in before.items():
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
