"""What the gradients of a program read of its forward: shapes only, or the values themselves."""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s.paddle_bridge.walks import operations, parts_of

_SHAPES_ONLY: Final = ("pd_op.add_grad", "pd_op.subtract_grad")
"""Gradients that ask the first two operands for their shapes alone."""


def read_no_saved_shapes(program: Any) -> None:
    """Let what is read for its shape be something that a block saves for its contents anyway.

    The gradient of ``x + y`` asks ``x`` and ``y`` for their shapes only.  Another saved tensor of
    that shape can stand for one, and the block saves one tensor less.
    """
    for pop in list(operations(program)):
        if pop.name() != "cf.tuple_pop":
            continue
        kept: dict[Any, Any] = {}
        asked: list[tuple[Any, int, Any]] = []
        for value in pop.results():
            if not value.is_dense_tensor_type() or any(size < 0 for size in value.shape):
                continue
            key = (str(value.dtype), tuple(value.shape))
            users = value.all_used_ops()
            if any(user.name() not in _SHAPES_ONLY for user in users):
                kept.setdefault(key, value)
                continue
            for user in users:
                for index in (0, 1):
                    if user.operand_source(index).id == value.id:
                        asked.append((user, index, key))
        for user, index, key in asked:
            if key in kept and user.operand_source(2).get_defining_op().id() != pop.id():
                user.operand(index).set_source(kept[key])


def save_what_is_read(program: Any) -> None:
    """Let no block save a value that is not there when the program runs.

    Paddle saves everything that a block makes, read or not.  Some operations have results that
    their kernels leave empty, and a copy of one fails ("DenseTensor shouldn't be null"): what no
    gradient reads is not saved, for what one reads something else is, see :func:`_filled`.
    """
    for push in list(operations(program)):
        if push.name() != "cf.tuple_push":
            continue
        pops = push.operand_source(0).get_defining_op().result(2).all_used_ops()
        if any(pop.name() != "cf.tuple_pop" for pop in pops):
            continue
        nothing = None
        for index in range(1, push.num_operands()):
            value = push.operand_source(index)
            if not (value.is_dense_tensor_type() or value.is_combine()):
                continue
            saved = [pop.result(index - 1) for pop in pops]
            if all(copy.use_empty() for copy in saved):
                if nothing is None:
                    paddle.pir.set_insertion_point(push)
                    nothing = paddle.full([], False, "bool")
                filled = nothing
            else:
                filled = _filled(value)
            push.operand(index).set_source(filled)
            for copy in saved:
                copy.set_type(filled.type())


def _filled(value: Any) -> Any:
    """What a block saves for ``value``: the value, or an operand that can stand for it.

    The mask of a dropout that is not training is not read on the run; the ``xshape`` of an
    ``einsum`` is its operands.
    """
    origin = value.get_defining_op()
    name = "" if origin is None else origin.name()
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
