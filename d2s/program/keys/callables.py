"""The plain function inside of what a user has converted: a method, a partial, an object."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, cast

from d2s.runtime.calls.callables import call_method


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
