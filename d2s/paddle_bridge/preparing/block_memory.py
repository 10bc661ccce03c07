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
own, with Paddle's in-place pass switched off, which would share more.  What a block hands out
without having computed it gets a copy, too.
"""

from __future__ import annotations

from itertools import filterfalse
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.preparing.chunks import is_chunk
from d2s.paddle_bridge.preparing.inference_passes import FRESH, named
from d2s.paddle_bridge.preparing.written_loops import Places, write_in_place
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import HOST, arguments_of, inside, operations, parts_of

OWN: Final = FRESH | named(
    "add_n all any arange argsort assign bernoulli cast concat conv2d "
    "cross_entropy_with_softmax cumsum depthwise_conv2d dropout embedding expand expand_as "
    "flatten flip full full_int_array full_like full_with_tensor gather gather_nd gather_tree "
    "gaussian group_norm hardsigmoid hardswish index_sample index_select layer_norm "
    "linspace masked_select mish multinomial nonzero one_hot p_norm pad pad3d pool2d "
    "put_along_axis randint repeat_interleave reshape roll scatter searchsorted set_value "
    "set_value_with_tensor shape64 slice split split_with_num squared_l2_norm squeeze "
    "strided_slice swiglu take_along_axis tile topk transpose tril triu unbind uniform unsqueeze"
)
"""Operations whose results are tensors of their own as long as no pass makes them in-place."""

OF_SEVERAL: Final = named("einsum")
"""Operations of which that can be said when they are given several tensors."""

_ARRAYS: Final = named(
    "array_length array_read array_to_tensor array_write_ create_array create_array_like "
    "tensor_to_array"
)
"""Operations of TensorArrays, which copy what goes in and out."""

_STACKS: Final = frozenset({"cf.stack_create", "cf.tuple_push", "cf.tuple_pop", "cf.has_elements"})
"""Operations of the stacks on which blocks save for gradients; what goes in is copied."""

GRADIENTS: Final = frozenset(
    f"{name}_grad"
    for name in named(
        "abs acos add asin atan bmm ceil clip concat conv2d cos cosh cross_entropy_with_softmax "
        "cumsum divide dot dropout elementwise_pow elu embedding erf exp expand expand_as expm1 "
        "flatten floor fmax fmin gather gather_nd gelu index_select layer_norm leaky_relu log "
        "log10 log1p log2 log_softmax logsumexp matmul max maximum mean min minimum multiply "
        "p_norm pad pow prod put_along_axis reciprocal relu relu6 remainder reshape roll round "
        "rsqrt scatter set_value set_value_with_tensor sigmoid silu sin sinh slice softmax "
        "softplus sqrt square squeeze stack strided_slice subtract sum swish take_along_axis "
        "tan tanh tile topk transpose tril triu unsqueeze where"
    )
)
"""Gradients whose results are tensors of their own."""

_UPDATES: Final = named("adagrad_ adam_ adamw_ momentum_ rmsprop_ sgd_")
"""Steps of optimizers, which write where the program's state lies."""

_ENDS: Final = ("cf.yield", "builtin.shadow_output")
_GIVEN: Final = ("pd_op.data", "builtin.parameter")

_KNOWN: Final = (
    OWN
    | GRADIENTS
    | _ARRAYS
    | _STACKS
    | named("if while")
    | {"builtin.combine", "builtin.split", *_GIVEN, *_ENDS}
)

_AT_THE_TOP: Final = _UPDATES | named("create_array")
"""Operations that are known there only."""

_IN_STEP: Final = named(
    "abs add assign divide exp maximum minimum multiply relu scale sigmoid sin cos sqrt square "
    "subtract tanh"
)
"""Operations that read each element just before they write the same element."""


def count_blocks(program: Any) -> int:
    """How many sides of branches and bodies of loops there are in it."""
    made_by = ("pd_op.if", "pd_op.while")
    return sum(
        each.num_regions()
        for each in operations(program)
        if each.name() in made_by and not is_chunk(each)
    )


def copy_for_blocks(program: Any) -> bool:
    """Put in the copies that a program with blocks needs to keep its values.

    Args:
        program: as it is about to run; changed in place.

    Returns:
        Whether it may keep them; if not, it is as it was.
    """
    top = program.global_block()
    if not all(_is_known(each, top) for each in operations(program)):
        return False
    with paddle.static.program_guard(program):
        handed = write_in_place(program)
        for operation in list(operations(program)):
            _copy_what_is_others(operation, top, handed)
        for operation in list(operations(program)):
            if _is_loop(operation):
                _in_time(next(iter(operation.blocks())), handed)
        pir.set_insertion_point_to_block_end(top)
    return True


def _is_loop(operation: Any) -> bool:
    return operation is not None and operation.name() == "pd_op.while"


def _is_known(operation: Any, top: Any) -> bool:
    """Whether we know where an operation's values are."""
    name = operation.name()
    if name in _AT_THE_TOP:
        return bool(operation.get_parent_block() == top)
    if name not in _KNOWN:
        return _is_known_here(operation)
    if not _is_loop(operation):
        given = operation.operands_source() if name in _ENDS else ()
        return all(_is_array(value) or value.is_dense_tensor_type() for value in given)
    # A loop of a gradient carries TensorArrays, which it reads and writes, and hands on.
    (body,) = operation.blocks()
    handed = [value.id for value in body.ops[-1].operands_source()[1:]]
    kept = [
        argument.id == value for argument, value in zip(arguments_of(body), handed, strict=True)
    ]
    _, *given = operation.operands_source()
    return all(
        value.is_dense_tensor_type() or (_is_array(value) and same)
        for value, same in zip(given, kept, strict=True)
    )


def _is_known_here(operation: Any) -> bool:
    """Whether we know that of the operation, by what it is given."""
    name, given = operation.name(), operation.operands_source()
    if name.startswith(HOST):  # it clones what it hands to Python
        return True
    if name in OF_SEVERAL:
        return len(parts_of(given[0])) > 1
    if name != "pd_op.assign_value_":
        return False
    (place,) = given  # where it writes a constant of the text: nobody else is to see that
    maker = place.get_defining_op()
    return bool(
        maker is not None
        and maker.name() == "pd_op.full"
        and maker.get_parent_block() == operation.get_parent_block()
        and len(place.all_used_ops()) == 1
    )


def _is_array(value: Any) -> bool:
    return bool(value.is_dense_tensor_array_type())


def _copy_what_is_others(operation: Any, top: Any, handed: Places) -> None:
    """Let blocks hand out, and loops in blocks begin with, what the same block has computed.

    The memory of other values is known elsewhere, and written to from there.
    """
    block, name = operation.get_parent_block(), operation.name()
    if name not in _ENDS and (block == top or not _is_loop(operation)):
        return
    first = 1 if name == "cf.yield" and _is_loop(block.parent_op) else 0
    for index in range(first, operation.num_operands()):
        value = operation.operand_source(index)
        if name == "cf.yield" and not first and block.parent_op.result(index).use_empty():
            continue  # whatever it is
        is_handed = (operation.id(), index) in handed
        if not (is_handed or _is_array(value) or _is_own(value, block, top)):
            pir.set_insertion_point(operation)
            operation.operand(index).set_source(paddle.assign(value))


def _is_own(value: Any, block: Any, top: Any) -> bool:
    maker = value.get_defining_op()
    if maker is None or maker.get_parent_block() != block:
        return False
    return maker.name() in OWN | GRADIENTS or (block == top and maker.name() in _GIVEN)


def _in_time(body: Any, handed: Places) -> None:
    """Copies at the end of what a loop's body computes while its variable is still to be read."""
    places = {operation.id(): place for place, operation in enumerate(body.ops)}
    last: dict[int, int] = {}
    for place, operation in enumerate(body.ops):
        for below in [operation, *inside(operation)]:
            for value in filterfalse(is_fake, below.operands_source()):
                last[value.id] = max(place, last.get(value.id, -1), *_through(below, places))
    end = body.ops[-1]
    for index, argument in enumerate(arguments_of(body)):
        value = end.operand_source(index + 1)
        if _is_array(value) or (end.id(), index + 1) in handed:
            continue
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
