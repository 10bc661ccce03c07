"""What a ``defaultdict`` outside of the function calls for a missing key, while it is captured.

Python's own code calls it, so the captured code would not see what it does: it is converted.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

from d2s.runtime.calls.call import call
from d2s.runtime.trace import current

_CALLED: Final = (
    *(types.FunctionType, types.MethodType, types.MethodWrapperType),
    functools.partial,
)


class Factories:
    """The factories of some dicts, each in the hands of :class:`_Converting` until :meth:`undo`."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, Any]] = []

    def convert(self, table: Any) -> Any:
        """The factory of ``table``, which is converted from here on; ``None`` if it is a class."""
        make = table.default_factory
        if type(make) not in _CALLED:
            return None
        self._known.append((table, make))
        table.default_factory = functools.partial(_converted, make)
        return make

    def undo(self) -> None:
        """Give them back."""
        while self._known:
            table, make = self._known.pop()
            table.default_factory = make


def _converted(make: Any) -> Any:
    return (make if current() is None else call(make))()
