"""Room for deep code.

Trees are walked by recursion, and branches are captured inside of each other, with several calls
for each level of the user's code.  Python's usual limit would be reached by code that Python itself
takes.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Final

LIMIT: Final = 4000
"""Calls inside each other; the stack of a thread holds more than that."""

_lock = threading.Lock()
_inside = 0
_before = 0


@contextlib.contextmanager
def deep() -> Iterator[None]:
    """Let calls go deeper for a while; several threads may be inside at once.

    >>> import sys
    >>> before = sys.getrecursionlimit()
    >>> with deep():
    ...     sys.getrecursionlimit() >= LIMIT
    True
    >>> sys.getrecursionlimit() == before
    True
    """
    global _before, _inside
    with _lock:
        if _inside == 0:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, LIMIT))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                with contextlib.suppress(RecursionError):  # far down already: it stays higher
                    sys.setrecursionlimit(_before)
