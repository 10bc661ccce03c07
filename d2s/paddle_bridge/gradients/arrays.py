"""TensorArrays of a forward, made anew in a backward that is another program.

Paddle cannot hand an array from a program to another one.  Gradients ask an array of the forward
for nothing but the number of its items and their shapes, which the tensor tells that they were
stacked to::

    stacked, _ = array_to_tensor(array)                stacked = kept()
    ...                                                array = create_array()
    g = tensor_to_array(array, stacked_grad)    ->     while(...) { array_write(array, item, i) }
                                                       g = tensor_to_array(array, stacked_grad)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import paddle

from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import inside

_SHAPES_ONLY: Final = ("pd_op.tensor_to_array", "pd_op.create_array_like")
"""Gradients that ask their first operand for the shapes of its items alone."""

_STACK: Final = "pd_op.array_to_tensor"


def stacked_of(array: Any, before: Sequence[Any], behind: Sequence[Any]) -> Any | None:
    """What the items of an array are stacked to whose gradients need no more than shapes.

    Args:
        array: of the forward.
        before, behind: the operations of the forward and of the backward.

    Returns:
        It; ``None`` where there is none or there are several, or something else reads the array.
    """
    stacks = [each for each in before if each.name() == _STACK and _reads(each, array)]
    for operation in behind:
        for each in (operation, *inside(operation)):
            first = each.operands_source()[:1] if each.name() in _SHAPES_ONLY else []
            if _reads(each, array) and array.id not in (value.id for value in first):
                return None
    if len(stacks) != 1 or not stacks[0].attrs()["use_stack"] or stacks[0].attrs()["axis"]:
        return None
    return stacks[0].result(0)


def _reads(operation: Any, value: Any) -> bool:
    return any(not is_fake(each) and each.id == value.id for each in operation.operands_source())


def array_like(stacked: Any) -> Any:
    """An array with items of the same shapes, built where the program is being written.

    Args:
        stacked: the items, at least one.
    """
    array = paddle.tensor.array.create_array(stacked.dtype)
    count = paddle.shape(stacked)[0].astype("int64")
    item = paddle.slice(stacked, [0], [0], [1]).squeeze(0)

    def body(at: Any) -> list[Any]:
        paddle.tensor.array.array_write(item, at, array)
        return [at + 1]

    paddle.static.nn.while_loop(lambda at: at < count, body, [paddle.zeros([], "int64")])
    return array
