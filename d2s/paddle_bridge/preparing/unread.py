"""A program that is about to run, without what nobody reads.

Capture makes copies and sizes for readers that do not come, and lets a branch hand out what a
reader behind it might want.  Paddle's passes leave them in branches and loops, and each costs as
much on each trip as what is read::

    y, n = if(c) {                             y, n = if(c) {
        s = assign(x)                              z = pad(x)
        z = pad(s)                                 yield(z, c)
        m = cast(k)                    ->      }
        yield(z, m)
    }
    n is not read                              n is not read

What fails on some runs stays: it fails in dygraph, too.
"""

from __future__ import annotations

from typing import Any, Final

from d2s.paddle_bridge.preparing.block_memory import OWN
from d2s.paddle_bridge.preparing.inference_passes import FRESH, named
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import blocks_of, operations, remove_unread

_SAFE: Final = named(
    "assign bitwise_not cast full full_int_array full_like logical_not pad scale shape shape64"
) | {"builtin.combine"}
"""Operations that neither fail nor do anything but compute."""

_READERS: Final = FRESH | OWN
"""Operations that make tensors of their own of what they are given."""

_OF_NUMBERS: Final = named(
    "add bitwise_and bitwise_or equal greater_equal greater_than less_equal less_than logical_and "
    "logical_or multiply not_equal stack subtract unsqueeze where"
)
"""Operations of which that can be said where all that they are given is of one element."""


def drop_unread(program: Any) -> None:
    """Take out of blocks, and of the program, what is not read."""
    for operation in list(operations(program)):
        if operation.name() == "pd_op.assign":
            _read_through(operation)
    _drop_in(program.global_block())


def _drop_in(block: Any) -> None:
    for operation in reversed(list(block.ops)):
        if operation.name() == "pd_op.if":
            _hand_out_nothing(operation)
        for inner in blocks_of(operation):
            _drop_in(inner)
        if _is_safe(operation):
            remove_unread(operation)


def _hand_out_nothing(branch: Any) -> None:
    """Let the sides hand out the condition in the place of what is not read."""
    unread = [at for at, result in enumerate(branch.results()) if result.use_empty()]
    for side in blocks_of(branch):
        for at in unread:
            side.ops[-1].operand(at).set_source(branch.operand_source(0))


def _is_safe(operation: Any) -> bool:
    name, given = operation.name(), operation.operands_source()
    if name in _SAFE:
        return True
    if name == "pd_op.slice":  # an index may be out of bounds, a range is not
        return not operation.attrs()["decrease_axis"] or _is_size(given[0])
    return name in _OF_NUMBERS and all(map(_is_number, given))


def _is_size(value: Any) -> bool:
    maker = value.get_defining_op()
    return maker is not None and maker.name() in ("pd_op.shape", "pd_op.shape64")


def _is_number(value: Any) -> bool:
    if value.is_combine():
        return all(map(_is_number, value.get_defining_op().operands_source()))
    return bool(value.is_dense_tensor_type()) and all(size == 1 for size in value.shape)


def _read_through(copy: Any) -> None:
    """Let operations that only read a copy, in its block, read what it is a copy of."""
    source, block = copy.operand_source(0), copy.get_parent_block()
    maker = source.get_defining_op()
    known = maker is None or maker.name() in _READERS or maker.name() in ("pd_op.if", "pd_op.while")
    if not known or not source.is_dense_tensor_type():
        return
    users = copy.result(0).all_used_ops()
    if any(user.name().endswith("_") for user in (*source.all_used_ops(), *users)):
        return  # what reads it behind a write into it reads what was written
    for user in users:
        if user.get_parent_block() != block or not _only_reads(user):
            continue
        read = [value.id for value in user.operands_source() if not is_fake(value)]
        twice = source.id in read or read.count(copy.result(0).id) > 1
        if twice and user.name() != "builtin.combine":
            continue  # it may write over what it reads once
        for operand in user.operands():
            if not is_fake(operand.source()) and operand.source().id == copy.result(0).id:
                operand.set_source(source)


def _only_reads(user: Any) -> bool:
    if user.name() == "builtin.combine":
        return all(
            each.name() in ("pd_op.concat", "pd_op.stack") for each in user.result(0).all_used_ops()
        )
    return user.name() in _READERS
