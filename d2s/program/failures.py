"""Which line of the user's has made an operation that fails on a run.

Paddle keeps the call stack of every operation and shows it when one fails; but of an operation
inside of a branch or loop it shows only that the ``if`` or ``while`` has failed, with the message
of the operation.  The message names the kind of operation in some way, and the operations of
that kind know their lines.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location, user_line
from d2s.errors import ContainerInGraphError
from d2s.operators.hosts import traceback_at

_OURS: Final = re.compile(r"\[operator < pd_op\.(if|while) > error\]")


_VARYING: Final = "The dims of input in ArrayToTensor must be equal"


def _writes_any_shape(operation: Any) -> bool:
    """Whether ``operation`` writes a tensor with an open dimension into a TensorArray."""
    return operation.name() == "pd_op.array_write_" and -1 in operation.operand_source(1).shape


def _varying(program: Any) -> ContainerInGraphError:
    """The error of a list that a static loop has given items of several shapes."""
    operations = list(bridge.operations(program))
    loops = [operation for operation in operations if operation.name() == "pd_op.while"]
    writes = [inner for loop in loops for inner in _within(loop) if _writes_any_shape(inner)]
    stacks = [operation for operation in operations if operation.name() == "pd_op.array_to_tensor"]
    places: dict[tuple[str, int], None] = {}
    for operation in writes or stacks:
        file, line = user_line(bridge.callstack(operation))
        if file is not None and line is not None:
            places[file, line] = None
    one_file, one_line = next(iter(places)) if len(places) == 1 else (None, None)
    listed = "" if len(places) == 1 else "; ".join(f"{one}:{other}" for one, other in places)
    return ContainerInGraphError(
        "items of different shapes are put into a list in a loop that a tensor ends"
        + (f" (at one of {listed})" if listed else ""),
        cure="give every item the same shape, for example with paddle.nn.functional.pad, or end "
        "the loop by a Python number",
        file=one_file,
        line=one_line,
    )


def point_out(error: Exception, program: Any) -> Exception:
    """``error`` of a run of ``program``, with the user's line in a note where Paddle has none.

    When only one line can be meant, it is the innermost of the traceback too.
    """
    if _VARYING in str(error):
        return _varying(program)
    found = _OURS.search(str(error))
    if found is None or 'File "' in str(error):
        return error
    places = _places(str(error), program, found[1])
    if not places:
        return error
    lines = "; ".join(f"{file}:{line}" for file, line in places)
    text = f"d2s: the operation that failed was made at {lines}"
    if len(places) > 1:
        text = f"d2s: the operation that failed was made at one of these lines: {lines}"
    if sys.version_info >= (3, 11):
        error.add_note(text)
    else:
        error.args = (f"{error}\n{text}",)
    if len(places) == 1:
        (place,) = places
        return error.with_traceback(traceback_at(Location(*place, "<program>")))
    return error


def _places(text: str, program: Any, kind: str) -> list[tuple[str, int]]:
    """Lines of the operations inside of branches or loops that ``text`` may speak of."""
    words = {_plain(word) for word in re.findall(r"[A-Za-z_]+", text)}
    words |= {word.removesuffix("op") for word in words}
    inside = [
        operation
        for outer in bridge.operations(program)
        if outer.name() == f"pd_op.{kind}"
        for operation in _within(outer)
    ]
    named = [item for item in inside if _plain(item.name().split(".")[-1]) in words]
    places: dict[tuple[str, int], None] = {}
    for operation in named or inside:
        file, line = user_line(bridge.callstack(operation))
        if file is not None and line is not None:
            places[file, line] = None
    return list(places)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _within(operation: Any) -> Iterator[Any]:
    for block in operation.blocks():
        for inner in block.ops:
            yield inner
            yield from _within(inner)
