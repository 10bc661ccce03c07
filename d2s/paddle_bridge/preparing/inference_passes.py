"""A program that is about to run, without what was there to make its gradients alone.

Capture lets every block hand out copies, so that Paddle's gradients come out right, and makes a
constant where the user's code has it.  A copy costs several times what a small operation costs,
and a constant in a loop is made on each trip::

    while(cond, i, x) {                          c = full(0.999)
        c = full(0.999)                          while(cond, i, x) {
        y = scale(x, c)                  ->          y = scale(x, c)
        z = assign(y)                                yield(..., y)
        yield(..., z)                            }
    }

Copies stay wherever a value might have two names: values that come from outside of their block or
out of a branch or loop, that are handed out twice, that may be a view of another tensor, or that
an operation with effects reads.  All stay where a backward in a program of its own is to come.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.walks import CONSTANTS, blocks_of, inside, remove_unread


def named(names: str) -> frozenset[str]:
    """The operations of Paddle's that have these names."""
    return frozenset(f"pd_op.{name}" for name in names.split())


FRESH: Final = named(
    "abs acos add argmax argmin asin atan bitwise_and bitwise_not bitwise_or bitwise_xor bmm ceil "
    "clip concat cos cosh divide dot elementwise_pow elu equal erf exp expm1 floor floor_divide "
    "fmax fmin gelu greater_equal greater_than isfinite isinf isnan leaky_relu less_equal "
    "less_than log log10 log1p log2 log_softmax logical_and logical_not logical_or logical_xor "
    "logsumexp matmul max maximum mean min minimum multiply not_equal pow prod reciprocal relu "
    "relu6 remainder round rsqrt scale sigmoid sign silu sin sinh softmax softplus sqrt square "
    "stack subtract sum swish tan tanh where"
)
"""Operations whose result is a tensor of its own, never a view."""

EXACT: Final = 1 << 53
"""Paddle tells the value of a constant as a double: integers from here on may be others."""

_FLOATS: Final = (paddle.float16, paddle.bfloat16, paddle.float32, paddle.float64)

_READERS: Final = named(
    "add arange argmax argmin bitwise_and bitwise_or clip concat cumsum divide elementwise_pow "
    "equal expand floor_divide full_like full_with_tensor gather greater_equal greater_than "
    "less_equal less_than logical_and logical_or maximum minimum multiply not_equal pad pad3d pow "
    "prod remainder reshape scale set_value_with_tensor slice split squeeze stack strided_slice "
    "subtract sum tile topk unsqueeze"
)
"""Operations that only look at what is not their first operand; that one they may write over."""


def hoist_constants(program: Any) -> None:
    """Make the constants of loop bodies once, before the outermost loop; equal ones are one.

    Each block of a program has all names around it: a large program with a constant for each use
    takes minutes to be made ready.
    """
    for operation in program.global_block().ops:
        if operation.name() == "pd_op.while":
            made: dict[Hashable, Any] = {}
            for constant in [each for each in inside(operation) if each.name() in CONSTANTS]:
                if not all(only_looks(constant, user) for user in _users(constant)):
                    continue
                known = made.setdefault(_made_of(constant), constant)
                if known is constant:
                    constant.move_before(operation)
                else:
                    constant.result(0).replace_all_uses_with(known.result(0))
                    remove_unread(constant)


def _users(constant: Any) -> list[Any]:
    users: list[Any] = constant.result(0).all_used_ops()
    return users


def _made_of(constant: Any) -> Hashable:
    """What a constant is made of, the same for equal ones only."""
    attributes, dtype = constant.attrs(), constant.result(0).dtype
    value = attributes.get("value")
    if value is None or (dtype not in _FLOATS and np.max(np.abs(value), initial=0) >= EXACT):
        return int(constant.id())
    fixed = (repr(attributes.get(key)) for key in ("value", "shape", "place", "stop_gradient"))
    return (constant.name(), str(dtype), *fixed)


def only_looks(constant: Any, user: Any) -> bool:
    """Whether ``user`` takes the constant, and not as its first operand."""
    if user.name() not in _READERS or not user.num_operands():
        return False
    first = user.operand_source(0)
    return pir.is_fake_value(first) or first.id != constant.result(0).id


def drop_copies(program: Any) -> None:
    """Let blocks and the program hand out what they have computed, where a copy tells nothing."""
    for block in _blocks(program.global_block()):
        ends = [each for each in block.ops if each.name() in ("cf.yield", "builtin.shadow_output")]
        taken = {value.id for end in ends for value in end.operands_source()}
        for end in ends:
            for index in range(end.num_operands()):
                copy = end.operand_source(index).get_defining_op()
                if copy is None or copy.name() != "pd_op.assign" or not _has_one_reader(copy):
                    continue
                source = copy.operand_source(0)
                if source.id not in taken and _is_own(source, block):
                    taken.add(source.id)
                    end.operand(index).set_source(source)
                    remove_unread(copy)


def _blocks(block: Any) -> Iterator[Any]:
    yield block
    for operation in block.ops:
        for inner in blocks_of(operation):
            yield from _blocks(inner)


def _has_one_reader(operation: Any) -> bool:
    return len(operation.result(0).all_used_ops()) == 1


def _is_own(value: Any, block: Any) -> bool:
    """Whether ``value`` was computed in ``block``, and nobody writes into it or keeps it."""
    maker = value.get_defining_op()
    if maker is None or maker.name() not in FRESH or maker.get_parent_block() != block:
        return False
    return all(
        user.name() == "cf.tuple_push"  # copies what it saves
        or (user.name().startswith("pd_op.") and not user.name().endswith("_"))
        for user in value.all_used_ops()
    )
