"""Weak references: what a program reads, it keeps alive, so no reference would ever be dead."""

from __future__ import annotations

import weakref
from typing import Any, Final

from d2s.runtime.values.objects import attribute

CURE: Final = (
    "keep the object itself in an attribute, or look the reference up outside of the converted "
    "function"
)

WEAK: Final = (
    weakref.ProxyType,
    weakref.CallableProxyType,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
    weakref.finalize,
)
"""What stands for an object, or holds some, without keeping them alive; no reference itself."""

_MODULES: Final = frozenset(("weakref", "_weakref", "_weakrefset"))


def is_weak(callee: Any) -> bool:
    """Whether calling ``callee`` makes, asks or changes weak references."""
    return isinstance(callee, weakref.ref) or attribute(callee, "__module__") in _MODULES


def cause(what: str) -> str:
    """What is said of weak references under the name ``what``."""
    return f"the function uses {what}, but a program keeps alive whatever it has read"
