"""A captured program made ready for its gradients and its run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.errors import LoopGradientError
from d2s.paddle_bridge.capturing.leaves import let_be_copy
from d2s.paddle_bridge.gradients.repairs import differentiate, gradient_function
from d2s.paddle_bridge.names import (
    RunnableProgram,
    all_values_of,
    general_passes,
    ir_backward,
    pir,
    pir_partial_program,
)
from d2s.paddle_bridge.preparing.block_memory import copy_for_blocks, count_blocks
from d2s.paddle_bridge.preparing.chunks import cut
from d2s.paddle_bridge.preparing.constants import Constants
from d2s.paddle_bridge.preparing.equals import merges_in_time
from d2s.paddle_bridge.preparing.inference_passes import drop_copies, hoist_constants, named
from d2s.paddle_bridge.preparing.items import check_items, gather_items
from d2s.paddle_bridge.preparing.unread import drop_unread
from d2s.paddle_bridge.versions import TRIED
from d2s.paddle_bridge.walks import (
    arguments_of,
    blocks_of,
    inside,
    keywords_of,
    operations,
    parts_of,
    values_of,
)

_SECOND: Final = ("_double_grad", "_triple_grad")
"""How the names of operations end that differentiate a derivative."""


_NOT_IN_STEP: Final = named(
    "addmm baddbmm fill_diagonal_tensor index_add index_elementwise_put "
    "index_elementwise_put_with_tensor index_put masked_fill put_along_axis scatter "
    "set_value_with_tensor"
)
"""Operations that may write over their first operand before they have read the others."""


def copy_what_is_read_twice(program: Any) -> None:
    """Give an operation that reads its first operand once more, as another one, a copy of it.

    The in-place pass sees that nobody else reads it, and lets the operation write over it:
    ``addmm(y, y, y)`` becomes ``addmm_``.  After equal operations have become one, that is
    ``addmm(x + 1, x + 1, x + 1)``, too.
    """
    with paddle.static.program_guard(program):
        for operation in list(operations(program)):
            if operation.name() not in _NOT_IN_STEP:
                continue
            first, *others = operation.operands_source()
            read = [value for value in others if not pir.is_fake_value(value)]
            read += [part for value in read if value.is_combine() for part in parts_of(value)]
            if any(value.id == first.id for value in read):
                paddle.pir.set_insertion_point(operation)
                copy = paddle.assign(first)
                copy.stop_gradient = first.stop_gradient
                operation.operand(0).set_source(copy)
        pir.set_insertion_point_to_block_end(program.global_block())


def copy_what_is_saved_twice(program: Any) -> None:
    """Give blocks that save a value for their gradients once more a copy of it.

    Paddle names what it saves after the value, so both are one tensor where they are read, and
    what writes over one of them, as ``logical_not_`` does with a condition, writes over the other.
    Values are saved twice after equal operations have become one.
    """
    saved: set[int] = set()
    with paddle.static.program_guard(program):
        for operation in list(operations(program)):
            if operation.name() != "cf.tuple_push":
                continue
            for index, value in enumerate(operation.operands_source()):
                if index and value.id in saved and value.is_dense_tensor_type():
                    paddle.pir.set_insertion_point(operation)
                    copy = paddle.assign(value)
                    copy.stop_gradient = value.stop_gradient
                    operation.operand(index).set_source(copy)
                saved.add(value.id)
        pir.set_insertion_point_to_block_end(program.global_block())


def _general_passes(program: Any, **options: Any) -> None:
    """Paddle's passes, after which no block reads a list of values that was made around it.

    The passes merge equal operations, those inside a block with those around it.  A block that
    reads a merged list of values without reading the values themselves frees them when it ends:
    for the next reader, "Tensor holds no memory".  So such a block makes its own list.

    Where derivatives are differentiated, equal operations stay two: what they are merged into is
    read twice by one operation, which the in-place pass lets write over it in between.  They do
    too where the pass would not come to an end (see ``equals``).
    """
    gather_items(program)
    second = any(operation.name().endswith(_SECOND) for operation in operations(program))
    if second or not merges_in_time(program):
        options["enable_cse"] = False
    general_passes(program, **options)

    def treat(block: Any, inside: bool) -> None:
        own: set[int] = set()
        for operation in list(block.ops):
            for operand in operation.operands() if inside else ():
                value = operand.source()
                if not pir.is_fake_value(value) and value.is_combine() and value.id not in own:
                    paddle.pir.set_insertion_point(operation)
                    operand.set_source(paddle._C_ops.builtin_combine(parts_of(value)))
            own.update(result.id for result in operation.results())
            for inner in blocks_of(operation):
                treat(inner, True)

    with paddle.static.program_guard(program):
        treat(program.global_block(), False)
    copy_what_is_read_twice(program)
    copy_what_is_saved_twice(program)
    check_items(program)


def _passes(program: Any, **options: Any) -> None:
    """The passes for a program that a backward goes back through."""
    _general_passes(program, **options)
    hoist_constants(program)


class Build:
    """What was made of a program while Paddle built it.

    Attributes:
        keeps_blocks: its blocks may keep their values; see ``block_memory``.
        constants: what it finds in the scope around the one that it runs in.
    """

    def __init__(self) -> None:
        self.constants = Constants()
        self.keeps_blocks = False

    def passes(self, program: Any, **options: Any) -> None:
        """The passes for a program of which nothing is read after its run but the results."""
        _general_passes(program, **options)
        drop_copies(program)
        drop_unread(program)
        hoist_constants(program)
        self.constants.take(program)
        self.keeps_blocks = count_blocks(program) > 0 and copy_for_blocks(program)
        cut(program)


@contextlib.contextmanager
def repaired_build(*, backward_to_come: bool) -> Iterator[Build]:
    """Let Paddle build runnable programs with our corrections; under :data:`static_lock`.

    Args:
        backward_to_come: a program of its own goes back through what the program computes.
    """
    build = Build()
    passes = _passes if backward_to_come else build.passes
    repaired = {"grad": differentiate, "apply_general_passes": passes}
    before = {name: getattr(pir_partial_program, name) for name in repaired}
    vars(pir_partial_program).update(repaired)
    RunnableProgram._get_program_all_values = staticmethod(values_of)
    try:
        yield build
    finally:
        RunnableProgram._get_program_all_values = staticmethod(all_values_of)
        vars(pir_partial_program).update(before)


def refuse_untried(program: Any) -> None:
    """Refuse gradients of nested branches and loops where the repairs do not fit.

    Raises:
        LoopGradientError: (D2S307) this version of Paddle is not one that was tried.
    """
    if gradient_function() is not ir_backward.grad:
        return
    nested = any(
        below.num_regions()
        for operation in operations(program)
        for block in blocks_of(operation)
        for below in block.ops
    )
    if nested:
        raise LoopGradientError(
            f"gradients of nested branches and loops were not tried on Paddle {paddle.__version__}",
            cure=f"install Paddle {TRIED[-1]}, or train in dygraph",
        )


def copy_into_loops(program: Any) -> None:
    """Let branches inside a loop body read copies, made in that body, of values from outside.

    The gradient of a branch adds to the value that the accumulator had before the loop, not to
    the running one, when the branch reads a value from outside of the loop directly; a copy in
    the body is added up rightly.
    """

    def treat(body: Any) -> None:
        own = {argument.id for argument in arguments_of(body)}
        first = body.ops[0]
        own |= {result.id for operation in body.ops for result in operation.results()}
        copies: dict[int, Any] = {}
        for branch in list(body.ops):
            if branch.name() != "pd_op.if":
                continue
            made = set(own)
            for operation in inside(branch):
                made |= {result.id for result in operation.results()}
                for block in blocks_of(operation):
                    made |= {argument.id for argument in arguments_of(block)}
            for operation in inside(branch):
                for index in range(operation.num_operands()):
                    value = operation.operand_source(index)
                    if pir.is_fake_value(value) or value.id in made or value.stop_gradient:
                        continue
                    if not value.is_dense_tensor_type():
                        continue
                    if value.id not in copies:
                        paddle.pir.set_insertion_point(first)
                        copy = paddle.assign(value)
                        copy.stop_gradient = False
                        let_be_copy(copy)
                        copies[value.id] = copy
                    operation.operand(index).set_source(copies[value.id])

    with paddle.static.program_guard(program):
        for operation in list(operations(program)):
            if operation.name() == "pd_op.while":
                (body,) = operation.blocks()
                treat(body)


def keep_read_inside(program: Any) -> None:
    """Let the backward program have the contents of what its branches read.

    Paddle hands to it only shape and dtype of a value when those are all that its operations
    need, but does not look into branches: a branch that needs the contents fails with "Tensor
    holds no memory".

    Args:
        program: Paddle's pair of forward and backward, before it is run.
    """
    names = program.program_name_attr["no_need_buffers"]
    if not names:
        return
    block = program.backward_program.global_block()
    read = {
        value.id
        for operation in block.ops
        for inner in inside(operation)
        for value in inner.operands_source()
        if not pir.is_fake_value(value)
    }
    given = keywords_of(block)
    names[:] = [name for name in names if name not in given or given[name].id not in read]
