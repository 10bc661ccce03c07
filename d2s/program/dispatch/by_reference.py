"""Converted functions in pickles: by reference, as Python's functions are, converted on load."""

from __future__ import annotations

import sys
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
        return name if _named(function) is made else (_again, _parts(made))
    own = getattr(instance, "__dict__", {})
    short = getattr(function, "__name__", "")
    if short not in own:
        found = getattr(instance, short, None)
        if getattr(found, "d2s_original", None) is function:  # the class has it
            return getattr, (instance, short)
    return _again, (*_parts(made), instance)


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
