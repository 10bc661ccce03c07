"""Blocks that may keep what they compute: nothing writes over a value that is still to be read.

A block shares what it hands out with the code around it.  Where values stay in their places until a
run ends (see ``memory``), the same operation writes into the same memory on the next trip, while
the value of the last trip is a variable of the loop there::

    while(c, a, b) {                      while(c, a, b) {
        s = add(a, b)                         s = add(a, b)
        t = assign(b)     <- the memory       t = assign(b)
        yield(.., t, s)      of a: read?      yield(.., t, s)
    }                                     }

``t`` may be written there if nobody reads ``a`` any more.  What is computed too early gets a copy
at the end of the block.  Only for programs of operations that are known to make tensors of their
own, whose blocks hand out what they have computed themselves (capture copies the rest), and with
Paddle's in-place pass switched off, which would share more.
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.preparing.inference_passes import FRESH, named
from d2s.paddle_bridge.walks import inside, operations

OWN: Final = FRESH | named(
    "add_n all any arange argsort assign cast concat conv2d cumsum embedding expand expand_as "
    "flatten flip full full_int_array full_like gather gather_nd index_select layer_norm nonzero "
    "one_hot p_norm pad put_along_axis reshape roll scatter set_value set_value_with_tensor "
    "shape64 slice split split_with_num squeeze strided_slice take_along_axis tile topk transpose "
    "tril triu unbind unsqueeze"
)
"""Operations whose results are tensors of their own as long as no pass makes them in-place."""

_ARRAYS: Final = named("array_length array_read array_to_tensor array_write_ create_array")
"""Operations of TensorArrays, which copy what goes in and out."""

_ENDS: Final = ("cf.yield", "builtin.shadow_output")
_GIVEN: Final = ("pd_op.data", "builtin.parameter")

_KNOWN: Final = (
    OWN | _ARRAYS | named("if while") | {"builtin.combine", "builtin.split", *_GIVEN, *_ENDS}
)

_IN_STEP: Final = named(
    "abs add assign divide exp maximum minimum multiply relu scale sigmoid sin cos sqrt square "
    "subtract tanh"
)
"""Operations that read each element just before they write the same element."""


def has_blocks(program: Any) -> bool:
    """Whether there is a branch or loop in it."""
    return any(each.name() in ("pd_op.if", "pd_op.while") for each in operations(program))


def copy_for_blocks(program: Any) -> bool:
    """Put in the copies that a program with blocks needs to keep its values.

    Args:
        program: a program that is only run; changed in place.

    Returns:
        Whether it may keep them; if not, it is as it was.
    """
    top = program.global_block()
    if not all(_is_known(each, top) for each in operations(program)):
        return False
    loops = [each for each in operations(program) if _is_loop(each)]
    with paddle.static.program_guard(program):
        for loop in loops:
            _in_time(next(iter(loop.blocks())))
        pir.set_insertion_point_to_block_end(top)
    return True


def _is_loop(operation: Any) -> bool:
    return operation is not None and operation.name() == "pd_op.while"


def _is_known(operation: Any, top: Any) -> bool:
    """Whether we know where an operation's values are; those that a block hands out are its own."""
    name, block = operation.name(), operation.get_parent_block()
    if name not in _KNOWN or (name == "pd_op.create_array" and block != top):
        return False
    if name in _ENDS or (_is_loop(operation) and block != top):
        first = 1 if name == "cf.yield" and _is_loop(block.parent_op) else 0
        return all(_is_own(value, block, top) for value in operation.operands_source()[first:])
    return not _is_loop(operation) or all(
        value.is_dense_tensor_type() for value in operation.operands_source()
    )


def _is_own(value: Any, block: Any, top: Any) -> bool:
    """Whether ``value`` has memory that ``block`` alone knows: others would write there."""
    maker = value.get_defining_op()
    if not value.is_dense_tensor_type() or maker is None or maker.get_parent_block() != block:
        return False
    return maker.name() in OWN or (block == top and maker.name() in _GIVEN)


def _in_time(body: Any) -> None:
    """Copies at the end of what a loop's body computes while its variable is still to be read."""
    places = {operation.id(): place for place, operation in enumerate(body.ops)}
    last: dict[int, int] = {}
    for place, operation in enumerate(body.ops):
        for below in [operation, *inside(operation)]:
            for value in below.operands_source():
                last[value.id] = max(place, last.get(value.id, -1), *_through(below, places))
    end = body.ops[-1]
    for index, argument in enumerate(body.args()):
        value = end.operand_source(index + 1)
        maker = value.get_defining_op()
        written, read = places[maker.id()], last.get(argument.id, -1)
        if read > written or (read == written and not _is_in_step(maker, argument)):
            pir.set_insertion_point(end)
            end.operand(index + 1).set_source(paddle.assign(value))


def _through(operation: Any, places: dict[int, int]) -> list[int]:
    """Where the readers of a list of values are; Paddle's lists refer to their values."""
    if operation.name() != "builtin.combine":
        return []
    return [_place(user, places) for user in operation.result(0).all_used_ops()]


def _place(operation: Any, places: dict[int, int]) -> int:
    while operation.id() not in places:
        operation = operation.get_parent_block().parent_op
    return places[operation.id()]


def _is_in_step(maker: Any, argument: Any) -> bool:
    shape = list(argument.shape)
    return (
        maker.name() in _IN_STEP
        and -1 not in shape
        and all(list(result.shape) == shape for result in maker.results())
        and all(result.dtype == argument.dtype for result in maker.results())
    )
