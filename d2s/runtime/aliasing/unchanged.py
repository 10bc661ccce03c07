"""What gradients must find unchanged: what they read, and what is outside of the code they run.

A gradient hook, or the ``backward`` of a ``PyLayer``, becomes part of the program when its capture
is over.  What it changes in lists, attributes and variables then would be changed once, not on
each backward.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InplaceError, UnsupportedInGraphError
from d2s.runtime.aliasing.chosen import may_be
from d2s.runtime.aliasing.reach import is_container
from d2s.runtime.aliasing.snapshots import same_items
from d2s.runtime.aliasing.variables import State
from d2s.runtime.aliasing.views.sharing import Sharing
from d2s.runtime.trace import current, error_here, tentatively


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


def note_overwritten(old: paddle.Tensor, name: str) -> None:
    """Note what was computed with ``old``, and whose gradient reads it, before it is written."""
    capture = current()
    if capture is None or not capture.gradients:
        return
    read = [
        result
        for value in (old, *Sharing(old).others(), *may_be(old))
        for result in bridge.read_by_gradients(value)
    ]
    if read:
        with tentatively():
            error = error_here(
                InplaceError,
                f".{name}() changes a tensor that was used before, and the gradient of what was "
                "computed with it would be that of the new contents in dygraph",
                "use a .clone() before, or change the tensor before it is used",
            )
        for result in read:
            capture.notes.overwritten.setdefault(result.id, (result, error))


def check_overwritten(outputs: Iterable[Any]) -> None:
    """Refuse gradients that read what was written since: dygraph's are those of the new contents.

    Args:
        outputs: where gradients begin.

    Raises:
        InplaceError: (D2S304) there is such a one.
    """
    capture = current()
    overwritten = {} if capture is None else capture.notes.overwritten
    if overwritten:
        for number in bridge.gradients_go_to(outputs) & overwritten.keys():
            raise overwritten[number][1]
