"""The mark of a variable that is not bound, and what Python raises when one is read."""

from __future__ import annotations

import sys
from typing import Final


class Unbound:
    """The mark of a variable that is not bound; never seen by user code."""

    d2s_words = "not bound"

    def __repr__(self) -> str:
        return "UNBOUND"

    def __copy__(self) -> Unbound:
        return self

    def __deepcopy__(self, memo: object) -> Unbound:
        return self


UNBOUND: Final = Unbound()

_MESSAGE: Final = (
    "cannot access local variable '{}' where it is not associated with a value"
    if sys.version_info >= (3, 11)
    else "local variable '{}' referenced before assignment"
)
"""Python's own message; it has changed once."""


def unbound_error(name: str) -> UnboundLocalError:
    """What Python raises when the variable ``name`` is read while it is unbound."""
    return UnboundLocalError(_MESSAGE.format(name))
