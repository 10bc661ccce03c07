"""The plain function inside of what a user has converted: a method, a partial, an object."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, cast

from d2s.runtime.calls.callables import call_method
from d2s.runtime.calls.spellings import rewrapped
from d2s.runtime.values.objects import is_library


def plain_function(function: Any) -> types.FunctionType:
    """The plain function inside a method, partial or decorated callable."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(call_method(function), types.FunctionType):
            function = call_method(function)
        else:
            break
    return cast(types.FunctionType, function)


def written(function: Any) -> types.FunctionType:
    """The function to read: that inside of a library's wrapper, as of ``paddle.no_grad()``."""
    plain = plain_function(function)
    found: Any = plain
    while is_library(getattr(getattr(found, "__code__", None), "co_filename", "")):
        found = getattr(found, "__wrapped__", None)
    return found if isinstance(found, types.FunctionType) else plain


def replaceable(function: Any) -> types.FunctionType:
    """The innermost function that another one can take the place of: see ``with_inner``."""
    plain, inner = plain_function(function), written(function)
    return plain if _in_wrapper(plain, inner, inner) is None else inner


def with_inner(function: Any, inner: object, replaced: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``replaced`` in the place of ``inner``, which is ``replaceable`` in it."""
    return with_plain(function, _in_wrapper(plain_function(function), inner, replaced))


def _in_wrapper(wrapper: Any, inner: object, replaced: Callable[..., Any]) -> Any:
    """``replaced`` in the wrappers that are around ``inner``; ``None`` if they do not call that."""
    if wrapper is inner:
        return replaced
    next_ = getattr(wrapper, "__wrapped__", None)
    found = None if next_ is None else _in_wrapper(next_, inner, replaced)
    return None if found is None else rewrapped(wrapper, next_, found)


def with_plain(function: Any, plain: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``plain`` in the place of the plain function inside of it."""
    if isinstance(function, types.MethodType):
        return types.MethodType(with_plain(function.__func__, plain), function.__self__)
    if isinstance(function, functools.partial):
        inner = with_plain(function.func, plain)
        return functools.partial(inner, *function.args, **function.keywords)
    if isinstance(function, types.FunctionType):
        return plain
    return types.MethodType(plain, function)


def iterators_in(function: object) -> list[Any]:
    """Iterators that a partial holds: as with an argument, what is taken of them is refused."""
    if not isinstance(function, functools.partial):
        return []
    held = (*function.args, *function.keywords.values())
    return [thing for thing in held if isinstance(thing, Iterator)]


def reference(instance: Any) -> Callable[[], Any]:
    """Gives an object that is kept alive only where it cannot be referenced weakly."""
    try:
        return weakref.ref(instance)
    except TypeError:
        return lambda: instance
