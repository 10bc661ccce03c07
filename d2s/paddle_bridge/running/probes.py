"""Probes in a copy of a program: host operators that tell which operation runs next.

In trace mode operations run one by one in the order of the program, so that what a probe tells is
true of the operation behind it.  ``errors`` finds with them the operation that has failed,
``stopwatch`` what each takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import paddle

from d2s.paddle_bridge.host_operations import host_operation
from d2s.paddle_bridge.names import pir, switch_to_static_graph
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import CONSTANTS, HOST, blocks_of, erase_unread

LOOP: Final = "pd_op.while"
_PROBE: Final = "d2s_probe"

SILENT: Final = frozenset(
    {
        "builtin.combine", "builtin.constant", "builtin.parameter", "builtin.shadow_output",
        "builtin.split", "cf.stack_create", "cf.tuple_pop", "cf.tuple_push", "cf.yield",
        "pd_op.data", "pd_op.full", "pd_op.full_int_array",
    }
)  # fmt: skip
"""Operations that are no work of the user's, or cannot fail."""


class Spot(NamedTuple):
    """An operation, and the numbers of the branches and loops around it."""

    operation: Any
    around: tuple[int, ...]


def numbered(program: Any) -> list[Spot]:
    """Every operation in the order of the program."""
    found: list[Spot] = []

    def walk(block: Any, around: tuple[int, ...]) -> None:
        for operation in block.ops:
            number = len(found)
            found.append(Spot(operation, around))
            for inner in blocks_of(operation):
                walk(inner, (*around, number))

    walk(program.global_block(), ())
    return found


class Listener:
    """What probes tell."""

    def about_to(self, number: int, tensors: tuple[Any, ...]) -> None:
        """An operation runs next.

        Args:
            number: of the operation.
            tensors: what it is given, see :func:`readable`.
        """

    def trip(self, number: int) -> None:
        """A trip of the loop ``number`` begins."""


class _Present(threading.local):
    """Who listens to the probes of this thread."""

    record: Listener | None = None


PRESENT: Final = _Present()


def readable(operation: Any) -> list[int]:
    """The positions of operands that are single tensors, have a name and are no constants."""
    if operation.num_regions() or not operation.name().startswith("pd_op."):
        return []
    count = min(operation.num_operands(), len(operation.get_input_names()))
    return [
        index
        for index, value in enumerate(operation.operands_source()[:count])
        if not is_fake(value)
        and value.is_dense_tensor_type()
        and getattr(value.get_defining_op(), "name", str)() not in CONSTANTS
    ]


@switch_to_static_graph  # type: ignore[untyped-decorator]
def probed(
    program: Any, suspects: set[int], *, first: int = 0, at_end: int = 0, effects: bool = False
) -> tuple[Any, Callable[[Any], Any]]:
    """A copy of ``program`` with probes, and what finds the copy of a value.

    Args:
        program: the program.
        suspects: before which operations there is a probe; a trip of a loop has one, too.
        first: what is added to the number of an operation.
        at_end: so many probes follow the last operation, with the numbers after it.
        effects: leave what prints and calls Python; probes see no tensors then, so that the copy
            can be differentiated as well.
    """
    mapping = pir.IrMapping()
    copy = program.clone(mapping)
    spots = numbered(copy)
    looped = {number for suspect in suspects for number in spots[suspect].around}
    with paddle.static.program_guard(copy):
        for number, (operation, _) in enumerate(spots):
            if number in looped and operation.name() == LOOP:
                (body,) = operation.blocks()
                pir.set_insertion_point(body.ops[0])
                _probe(0)(paddle.full([], -1 - first - number, "int64"))
            if number in suspects:
                pir.set_insertion_point(operation)
                seen = [] if effects else readable(operation)
                given = [operation.operand_source(index) for index in seen]
                _probe(len(given))(paddle.full([], first + number, "int64"), *given)
        for number in range(len(spots), len(spots) + at_end):
            pir.set_insertion_point_to_block_end(copy.global_block())
            _probe(0)(paddle.full([], first + number, "int64"))
    if not effects:
        erase_unread(copy, HOST)
        erase_unread(copy, "pd_op.print")
    return copy, mapping.look_up


_probes: Final[dict[int, Any]] = {}


def _probe(count: int) -> Any:
    """The host operator that tells of an operation with ``count`` tensors; made once."""
    known = _probes.get(count)
    if known is None:
        known = host_operation(_told, _done, f"{_PROBE}_{count}", inputs=1 + count, results=1)
        _probes[count] = known
    return known


def _told(number: Any, *tensors: Any) -> Any:
    """What a probe does."""
    record, index = PRESENT.record, int(number)
    if record is not None:
        if index < 0:
            record.trip(-1 - index)
        else:
            record.about_to(index, tensors)
    return paddle.full([], True, "bool")


def _done(*_: Any) -> Any:
    return paddle.static.MetaTensor(shape=[], dtype=paddle.bool)
