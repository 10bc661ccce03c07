"""Arrays of the run that share their memory: a write into one of them is seen in the others."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.python.arrays.contents import RunArray
from d2s.runtime.trace import error_here

Function = Callable[..., Any]

FIXED: Final = "read-only"
"""The ``part`` of an array that nobody may write into."""


class _Link:
    """That an array is a view of another one.

    Attributes:
        base: the other one; a weak reference where it is not known which part of it the view is.
        take: from the contents of the base to those of the view.
        put: from both to the contents of the base.
    """

    def __init__(self, base: object, take: Function | None, put: Function | None) -> None:
        self.base = base
        self.take = take
        self.put = put


_links: dict[int, tuple[Any, _Link]] = {}
_views: dict[int, tuple[Any, list[Any]]] = {}


def _noted(table: dict[int, tuple[Any, Any]], array: RunArray, entry: object) -> None:
    key = id(array)
    table[key] = (weakref.ref(array, lambda _: table.pop(key, None)), entry)


def _of(table: dict[int, tuple[Any, Any]], array: RunArray) -> Any:
    found = table.get(id(array))
    return found[1] if found is not None and found[0]() is array else None


def view(base: RunArray, take: Function, put: Function) -> RunArray:
    """A view of ``base``: a write into either is seen in both."""
    made = RunArray.made(paddle.assign(take(base.value)))
    made.value.stop_gradient = True
    if base.scalar:
        return made
    return _linked(made, base, _Link(base, take, put))


def unknown_view(made: RunArray, base: RunArray) -> None:
    """Note that ``made`` shares its memory with ``base``, in a way that is not known."""
    _linked(made, base, _Link(weakref.ref(base), None, None))


def _linked(made: RunArray, base: RunArray, link: _Link) -> RunArray:
    made.part = base.part = "part"
    _noted(_links, made, link)
    known = _of(_views, base)
    if known is None:
        known = []
        _noted(_views, base, known)
    known.append(weakref.ref(made))
    return made


def memory_of(array: RunArray) -> RunArray:
    """The array that ``array`` is a view of, at any distance."""
    while (link := _of(_links, array)) is not None:
        base = link.base if link.take is not None else link.base()
        if base is None:
            break
        array = base
    return array


def write(array: RunArray, value: paddle.Tensor) -> None:
    """Give ``array`` other contents, and all arrays that share its memory.

    Raises:
        UnsupportedInGraphError: (D2S304 in tensors) it is not known which parts they share.
    """
    value.stop_gradient = True
    if array.part == FIXED:
        raise ValueError("assignment destination is read-only")
    if array.part and _of(_links, array) is None and _of(_views, array) is None:
        raise _strange()  # a branch or loop has handed it on
    array.value = value
    root = array
    while (link := _of(_links, root)) is not None:
        if link.put is None:
            if link.base() is not None:
                raise _strange()
            break
        link.base.value = link.put(link.base.value, root.value)
        root = link.base
    _spread(root, array)


def _spread(base: RunArray, written: RunArray) -> None:
    """Give the views of ``base`` its contents."""
    for reference in _of(_views, base) or ():
        part = reference()
        if part is None:
            continue
        take = _of(_links, part).take
        if take is None:
            raise _strange()
        if part is not written:
            part.value = paddle.assign(take(base.value))
            part.value.stop_gradient = True
        _spread(part, written)


def _strange() -> Exception:
    return error_here(
        UnsupportedInGraphError,
        "an array is written that shares its memory with another one, in a way that d2s cannot "
        "follow",
        "write into a .copy() of it",
    )
