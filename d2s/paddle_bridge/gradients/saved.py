"""What the gradients of a branch or loop need of its forward: no more than that is saved.

Paddle saves every value that a block makes, read or not, and the block gives all of them back to
its gradient.  To save one copies it, and costs as much as a small operation::

    while(cond, i, x) {                              while(cond, i, x) {
        c = full(0.99)                                   c = full(0.99)
        y = scale(x, c)                                  y = scale(x, c)
        z = tanh(y)                                      z = tanh(y)
        push(i, x, c, y, z, ...)               ->        push(z)
        yield(..., z)                                    yield(..., z)
    }                                                }
    while(has_elements, g) {                         while(has_elements, g) {
        i, x, c, y, z, ... = pop()                       z = pop()
                                                         c = full(0.99)
        yield(..., scale(tanh_grad(z, g), c))            yield(..., scale(tanh_grad(z, g), c))
    }                                                }
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import build_if_op, cf_yield, core, pir
from d2s.paddle_bridge.walks import CONSTANTS, operations, parts_of

_SHAPES_ONLY: Final = ("pd_op.add_grad", "pd_op.subtract_grad")
"""Gradients that ask the first two operands for their shapes alone."""


def save_what_is_read(program: Any) -> None:
    """Let blocks save what their gradients read, and nothing else.

    Some operations have results that their kernels leave empty, and a copy of one fails
    ("DenseTensor shouldn't be null"): for such a one something else is saved, see :func:`_filled`.

    Args:
        program: with gradients in it; the default main program.
    """
    for push in [each for each in operations(program) if each.name() == "cf.tuple_push"]:
        stack = push.operand_source(0).get_defining_op()
        pops = stack.result(2).all_used_ops()
        if any(pop.name() != "cf.tuple_pop" for pop in pops):
            continue
        for pop in pops:
            _read_no_shapes(pop)
            _make_constants(push, pop)
        _save(push, stack, pops)


def _read_no_shapes(pop: Any) -> None:
    """Let what is read for its shape be what is there or saved for its contents anyway.

    The gradient of ``x + y`` asks ``x`` and ``y`` for their shapes only.
    """
    own = {value.id for value in pop.results()}
    kept: dict[Any, Any] = {}
    asked: list[tuple[Any, int, Any]] = []
    for value in pop.results():
        key = _kind(value)
        if key is None:
            continue
        users = value.all_used_ops()
        if any(user.name() not in _SHAPES_ONLY for user in users):
            kept.setdefault(key, value)
            continue
        for user in users:
            for index in (0, 1):
                if user.operand_source(index).id == value.id:
                    asked.append((user, index, key))
    for user, index, key in asked:
        other = user.operand_source(1 - index)
        if user.operand_source(2).id in own:
            continue
        if key in kept:
            user.operand(index).set_source(kept[key])
        elif _kind(other) == key:
            user.operand(index).set_source(other)


def _kind(value: Any) -> tuple[str, tuple[int, ...]] | None:
    """Its dtype and shape; ``None`` where they are not known before the run."""
    if not value.is_dense_tensor_type() or any(size < 0 for size in value.shape):
        return None
    return str(value.dtype), tuple(value.shape)


def _make_constants(push: Any, pop: Any) -> None:
    """Make the constants that the gradient reads where it reads them."""
    for index, copy in enumerate(pop.results()):
        origin = push.operand_source(index + 1).get_defining_op()
        if origin is not None and origin.name() in CONSTANTS and not copy.use_empty():
            paddle.pir.set_insertion_point(pop)
            made = origin.clone(pir.IrMapping(), pir.CloneOptions(False, True, True))
            copy.replace_all_uses_with(made.result(0))


def _save(push: Any, stack: Any, pops: list[Any]) -> None:
    """Save on a stack of its own what one of ``pops`` reads, in place of all that is saved."""
    count = push.num_operands() - 1
    read = [i for i in range(count) if not all(pop.result(i).use_empty() for pop in pops)]
    kept = [_filled(push.operand_source(index + 1)) for index in read]
    if len(read) == count:
        for index, value in enumerate(kept):
            push.operand(index + 1).set_source(value)
        return
    paddle.pir.set_insertion_point(push)
    if not (kept or stack.result(0).use_empty()):
        kept = [paddle.full([], False, "bool")]  # the trips are counted by it
    if kept:
        smaller = _pushed(push, kept)
        operands = [[value] for value in smaller.operands_source()]
        for pop in pops:
            paddle.pir.set_insertion_point(pop)
            flags = [[False]] * len(operands)
            _, *copies = core.call_vjp(smaller, operands, [], [], flags)
            for index, (copy,) in zip(read, copies, strict=False):
                copy.stop_gradient = pop.result(index).stop_gradient
                pop.result(index).replace_all_uses_with(copy)
        created = smaller.operand_source(0).get_defining_op()
        stack.result(0).replace_all_uses_with(created.result(0))
    for operation in (push, *pops, stack):
        operation.get_parent_block().remove_op(operation)


def _pushed(push: Any, values: list[Any]) -> Any:
    """An operation before ``push`` that saves ``values``.

    Paddle makes one that saves all values of a block; so this one is made in a block that has as
    many, and moved.
    """
    condition = paddle.full([1], True, "bool")
    helper = build_if_op(condition)
    block = helper.true_block()
    with block:
        for value in values:
            paddle.assign(value)
        cf_yield([])
    pir.build_pipe_for_block(block)
    made = next(each for each in block.ops if each.name() == "cf.tuple_push")
    for index, value in enumerate(values):
        made.operand(index + 1).set_source(value)
    made.move_before(push)
    for operation in (helper.as_operation(), condition.get_defining_op()):
        operation.get_parent_block().remove_op(operation)
    return made


def _filled(value: Any) -> Any:
    """What a block saves for ``value``: the value, or an operand that can stand for it.

    The mask of a dropout that is not training is not read on the run; the ``xshape`` of an
    ``einsum`` is its operands.  A ``while`` consumes its first values, and leaves none to save.
    """
    origin = value.get_defining_op()
    name = "" if origin is None else origin.name()
    loops = [user for user in value.all_used_ops() if user.name() == "pd_op.while"]
    if loops and name == "pd_op.assign":
        return origin.operand_source(0)
    for loop in loops:
        _give_a_copy(loop, value)
    if name == "pd_op.dropout" and origin.attrs()["is_test"]:
        mask = origin.result(1)
        return origin.operand_source(0) if value.id == mask.id else value
    if name == "builtin.split":
        parts = origin.operand_source(0)
        source = parts.get_defining_op()
        if source.name() == "pd_op.einsum" and parts.id == source.result(2).id:
            index = [result.id for result in origin.results()].index(value.id)
            return parts_of(source.operand_source(0))[index]
    return value


def _give_a_copy(loop: Any, value: Any) -> None:
    """Let ``loop`` begin with a copy of ``value``."""
    paddle.pir.set_insertion_point(loop)
    for index, first in enumerate(loop.operands_source()):
        if first.id == value.id:
            copy = paddle.assign(value)
            copy.stop_gradient = value.stop_gradient
            loop.operand(index).set_source(copy)
