"""Lists that a static loop grows and nobody reads: the program goes without them (rules C2, C7).

Nobody knows that a list is never read before the capture is over.  Its TensorArrays have been
written by then, which is work for nothing, and Paddle 3.3.1 cannot differentiate a loop that
writes into an array without a gradient ("result and operand type is not equal").
"""

from __future__ import annotations

from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current

_WRITE: Final = "pd_op.array_write_"

_PURE: Final = frozenset(
    {"pd_op.array_to_tensor", "pd_op.slice", "pd_op.concat", "builtin.combine", "pd_op.assign"}
)
"""What rows are made of, for a reader that never came."""


def drop_unread(program: object, outputs: list[Any]) -> None:
    """Take what writes into TensorArrays that nobody reads out of ``program``.

    Args:
        program: a captured program.
        outputs: values that are read after the run.
    """
    kept = {value.id for value in outputs}
    arrays = [each for each in bridge.operations(program) if each.name() == "pd_op.create_array"]
    for array in arrays:
        users: list[Any] = []
        if _is_unread(array.result(0), users, kept):
            _remove([*users, array])


def _is_unread(value: Any, users: list[Any], kept: set[int]) -> bool:
    """Whether all that is made of ``value`` is thrown away; its users are noted."""
    if value.id in kept:
        return False
    for user in value.all_used_ops():
        name = user.name()
        if name != _WRITE and name not in _PURE:
            return False
        if not all(_is_unread(result, users, kept) for result in user.results()):
            return False
        users.append(user)
    return True


def _remove(operations: list[Any]) -> None:
    """Remove operations whose results are used by each other only, readers first."""
    capture = current()
    rest = {operation.id(): operation for operation in operations}
    while rest:
        for key, operation in list(rest.items()):
            if all(result.use_empty() for result in operation.results()):
                if capture is not None:  # another value may get the id of one that goes
                    capture.notes.forget([result.id for result in operation.results()])
                operation.get_parent_block().remove_op(operation)
                del rest[key]
