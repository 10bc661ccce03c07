"""A long program cut into blocks, each of which Paddle prepares by itself.

Paddle looks in a block for what depends on what, for what may be written in place and for events
between streams.  That takes time that grows with the square of the number of operations, 37 seconds
for 8,000 of them, so a long block is cut into branches that are always taken::

    a = multiply(x, w)                   a, = if(true) {
    b = relu(a)                              a = multiply(x, w)
    ...                          ->          ...
    y = exp(b)                           }
    shadow_output(y)                     y, = if(true) { b = relu(a); ... }
                                         shadow_output(assign(y))

Only tensors of known sizes are handed from one to the next.  A branch shares what it hands out with
the code around it, so a result of the program is a copy, which the next run does not write into.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import build_if_op, cf_yield, pir
from d2s.paddle_bridge.preparing.inference_passes import named
from d2s.paddle_bridge.preparing.items import is_of_run
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import blocks_of

LEAST: Final = 2_000
"""Programs of fewer operations are left as they are: to prepare them takes a second at most."""

SIZE: Final = 200
"""So many operations a branch."""

FEWEST: Final = 20
"""Fewer operations between others that have blocks, or effects, stay where they are."""

_MARK: Final = "d2s_chunk"
_GIVEN: Final = named("data full full_int_array assign_value") | {
    "builtin.parameter",
    "builtin.constant",
}
"""Operations that read nothing, which come first."""

_DTYPES: Final = frozenset(
    (paddle.bool, paddle.float32, paddle.float64, paddle.int32, paddle.int64)
)
"""Those of which a branch hands out tensors; its other side fills some that nobody reads."""

_LISTS: Final = frozenset({"builtin.combine", "builtin.split", "builtin.slice"})
_END: Final = "builtin.shadow_output"


def is_chunk(operation: Any) -> bool:
    """Whether ``operation`` is a branch that was made here."""
    return operation.name() == "pd_op.if" and bool(operation.has_attr(_MARK))


def at_top(program: Any) -> Iterator[Any]:
    """The operations of the top block, as they were before it was cut."""
    for operation in program.global_block().ops:
        if is_chunk(operation):
            yield from next(iter(blocks_of(operation))).ops
        else:
            yield operation


def cut(program: Any) -> None:
    """Cut the top block of ``program`` where it is long; nothing goes back through it."""
    block = program.global_block()
    if len(block.ops) < LEAST:
        return
    groups = [group for group in _groups(block.ops) if len(group) >= FEWEST]
    if not groups:
        return
    first = block.ops[0]
    for each in block.ops[1:]:
        if each.name() in _GIVEN:
            each.move_before(first)
    with paddle.static.program_guard(program):
        paddle.pir.set_insertion_point(groups[0][0])
        always = paddle.full([], True, "bool")
        for group in groups:
            _enclose(group, always)
        pir.set_insertion_point_to_block_end(block)


def _groups(operations: list[Any]) -> Iterator[list[Any]]:
    """The plain operations, in parts that hand on nothing but tensors of known sizes."""
    places = {each.id(): at for at, each in enumerate(operations)}
    held_until, group = -1, list[Any]()
    for at, each in enumerate(operations):
        plain = _is_plain(each)
        if group and held_until < at and (len(group) >= SIZE or not plain):
            yield group
            group = []
        if each.name() in _GIVEN:
            continue
        if not plain:  # another value goes past it
            group = []
            continue
        group.append(each)
        for value in each.results():
            if not _may_leave(value):
                readers = (places[_at_top(user, places)] for user in value.all_used_ops())
                held_until = max(held_until, at, *readers)
    if group:
        yield group


def _may_leave(value: Any) -> bool:
    """Whether a branch may hand out ``value``: Paddle loses track of tensors without elements."""
    if is_fake(value):
        return True
    known = value.is_dense_tensor_type() and value.dtype in _DTYPES
    return known and all(size > 0 for size in value.shape)


def _is_plain(operation: Any) -> bool:
    """Whether an operation computes values of its own, and does nothing else in a block."""
    name = operation.name()
    if name in _LISTS:
        return True
    if not name.startswith("pd_op.") or name.endswith("_") or operation.num_regions():
        return False
    made = [value for value in operation.results() if not is_fake(value)]
    known = all(value.dtype in _DTYPES for value in made if value.is_dense_tensor_type())
    return known and not is_of_run(operation)


def _at_top(operation: Any, places: dict[int, int]) -> int:
    """The id of the operation of the top block that ``operation`` is, or is in."""
    while operation.id() not in places:
        operation = operation.get_parent_block().parent_op
    return int(operation.id())


def _enclose(group: list[Any], always: Any) -> None:
    """Put the operations into a branch that is taken."""
    own = {each.id() for each in group}
    handed: list[tuple[Any, list[Any]]] = []
    for each in group:
        for value in each.results():
            readers = [] if is_fake(value) else _readers_outside(value, own)
            if readers:
                handed.append((value, readers))
    paddle.pir.set_insertion_point(group[0])
    branch = build_if_op(always)
    with branch.true_block():
        end = paddle.full([], 0, "int32").get_defining_op()
        for each in group:
            each.move_before(end)
        cf_yield([value for value, _ in handed])
    end.erase()
    with branch.false_block():
        cf_yield([paddle.full(value.shape, 0, value.dtype) for value, _ in handed])
    branch.update_output()
    made = branch.as_operation()
    made.set_bool_attr(_MARK, True)
    for (value, readers), result in zip(handed, made.results(), strict=True):
        for reader in readers:
            _read_instead(reader, value, result)


def _readers_outside(value: Any, own: set[int]) -> list[Any]:
    found = []
    for reader in value.all_used_ops():
        at: Any = reader
        while at is not None and at.id() not in own:
            block = at.get_parent_block()
            at = None if block is None else block.parent_op
        if at is None:
            found.append(reader)
    return found


def _read_instead(reader: Any, value: Any, result: Any) -> None:
    if reader.name() == _END:
        paddle.pir.set_insertion_point(reader)
        result = paddle.assign(result)
    for at, read in enumerate(reader.operands_source()):
        if not is_fake(read) and read.id == value.id:
            reader.operand(at).set_source(result)
