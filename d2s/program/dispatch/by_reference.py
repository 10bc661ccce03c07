"""Converted functions in pickles: by reference, as Python's functions are, converted on load."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Callable
from typing import Any


def reduced(made: Any, instance: Any) -> Any:
    """What ``__reduce__`` of a converted function gives.

    Args:
        made: the converted function.
        instance: the object whose method it is, or ``None``.
    """
    function = made.d2s_original
    name = getattr(function, "__qualname__", "")
    if instance is None:
        if _goes_along(function):
            return _arrived, (*_text_of(function), *_parts(made))
        return name if _named(function) is made else (_again, _parts(made))
    own = getattr(instance, "__dict__", {})
    short = getattr(function, "__name__", "")
    if short not in own:
        found = getattr(instance, short, None)
        if getattr(found, "d2s_original", None) is function:  # the class has it
            return getattr, (instance, short)
    if _goes_along(function):
        return _arrived, (*_text_of(function), *_parts(made), instance)
    return _again, (*_parts(made), instance)


def _goes_along(function: Any) -> bool:
    """Whether cloudpickle asks (of Ray, Dask or joblib, too), for a function of the script.

    It takes along what is in ``__main__``, as that of the process that loads it is another one.
    """
    of_script = isinstance(function, types.FunctionType) and function.__module__ == "__main__"
    frame = sys._getframe() if of_script else None
    while frame is not None:
        if "cloudpickle" in str(frame.f_globals.get("__name__")).split("."):
            return True
        frame = frame.f_back
    return False


def _text_of(function: Any) -> tuple[str, list[str]]:
    """The file of a function, and its lines."""
    file = function.__code__.co_filename
    return file, linecache.getlines(file)


def _arrived(file: str, lines: list[str], kind: Any, function: Any, *rest: Any) -> Any:
    """:func:`_again`, of a function whose file the process that loads it need not have."""
    function.__code__ = function.__code__.replace(co_filename=file)
    if linecache.getlines(file) != lines:
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    return _again(kind, function, *rest)


def _parts(made: Any) -> tuple[Any, ...]:
    return type(made), made.d2s_original, made._spec, made._options


def _named(function: Any) -> Any:
    """What the module of ``function`` has under its name."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found


def _again(
    kind: Callable[..., Any],
    function: Any,
    spec: Any,
    options: dict[str, Any],
    instance: Any = None,
) -> Any:
    """A converted function, made anew where it is loaded."""
    made = kind(function, spec, instance=instance, **options)
    if instance is not None:
        made.hold()  # a method that was pickled alone has the only reference
    return made
