"""What the code of gradients must leave unchanged: all that is outside of it.

A gradient hook, or the ``backward`` of a ``PyLayer``, becomes part of the program when its capture
is over.  What it changes in lists, attributes and variables then would be changed once, not on
each backward.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.reach import is_container
from d2s.runtime.aliasing.snapshots import same_items
from d2s.runtime.aliasing.variables import State


def called_unchanged(what: str, function: Callable[..., Any], call: Callable[[], Any]) -> Any:
    """What ``call()`` gives, which changes nothing outside of itself.

    Args:
        what: what is called, for messages.
        function: it, as it was written.
        call: calls it.

    Raises:
        UnsupportedInGraphError: (D2S205) it has changed something, which is as it was again.
    """
    written = inspect.unwrap(getattr(function, "__func__", function))
    plain = written if isinstance(written, types.FunctionType) else None
    state = State((), lambda: function, plain)
    before = state.freeze()
    result = call()
    after = state.freeze()
    pairs = zip(state.names, state.padded(before), after, strict=True)
    changed = [
        repr(name.removeprefix("function.")) for name, was, now in pairs if not same_items(was, now)
    ]
    if is_container(getattr(function, "__self__", None)) and plain is None:
        changed = ["the object whose method it is"]  # seen.append, which is code of C
    if not changed:
        return result
    state.thaw(before)
    raise UnsupportedInGraphError(
        f"{what} changes {' and '.join(changed)}, which a run of the program would not do",
        cure="let it return the gradient only, and look at gradients outside",
        file=None if plain is None else plain.__code__.co_filename,
        line=None if plain is None else plain.__code__.co_firstlineno,
    )
