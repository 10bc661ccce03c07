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


class _Replaced:
    """A method that is no function, which Python looks up each time.

    As Python does not own a function that it keeps, a replaced one could even be gone by then.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self.function if owner is None else types.MethodType(self.function, owner)


def replace_method(owner: type, name: str, method: Any) -> None:
    """Set a method of a class, to be set back with ``setattr``.

    Args:
        owner: the class.
        name: of the method.
        method: what takes its place: a function, or another kind of descriptor.

    Raises:
        AttributeError, TypeError: the class lets nobody set anything.
    """
    if name != _KEPT or not isinstance(method, types.FunctionType):
        setattr(owner, name, method)
        return
    for kind in owner.__mro__:
        before = vars(kind).get(name)
        if isinstance(before, types.FunctionType):
            before.__defaults__ = before.__defaults__  # Python asks for it anew
    setattr(owner, name, _Replaced(method))


@contextlib.contextmanager
def methods_replaced(table: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Classes with other methods for a while.

    Args:
        table: by class and name, what the class has in place of its own.
    """
    before = {key: vars(key[0]).get(key[1]) for key in table}
    for (owner, name), method in table.items():
        replace_method(owner, name, method)
    try:
        yield
    finally:
        for (owner, name), original in before.items():
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
