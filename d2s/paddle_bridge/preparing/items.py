"""Items of tensors are looked for on the run, where the run decides an index.

Outside of blocks Paddle finds that the part of a tensor behind its end has no elements when it is
read, which is too late where Python is called between; inside, it hands on what the memory held
before, and an assignment to such a part does nothing anywhere.  The operations that gather items
raise what dygraph raises, and need no list of the index; where they would gather nothing, the part
stays, and its index is looked for beside it::

    slice(x, stack([k]), stack([k + 1]), decrease_axis=[0])    ->    gather(x, k, axis=0)
    slice(x, stack([i, j]), ..., decrease_axis=[0, 1])         ->    gather_nd(x, stack([i, j]))
    set_value_with_tensor(x, y, stack([k]), ...)               ->    gather(x, k, axis=0), and that

It is done when gradients are there already: they are those of the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.paddle_bridge.filled import has_elements
from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.preparing.inference_passes import named
from d2s.paddle_bridge.walks import CONSTANTS, HOST, blocks_of, operations, parts_of

PART: Final = "pd_op.slice"
"""Gives a part of a tensor; an item where an axis is dropped."""

ASSIGNMENTS: Final = named("set_value set_value_ set_value_with_tensor set_value_with_tensor_")
"""Give a tensor with another part."""

_DTYPES: Final = frozenset(
    getattr(paddle, name)
    for name in (
        *("bool", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"),
        *("complex64", "complex128"),
    )
)
"""Those of which Paddle gathers items on a CPU."""


def gather_items(program: Any) -> None:
    """Take the items that blocks of ``program`` read by operations that check the index."""
    _treat(program, _gather)


def check_items(program: Any) -> None:
    """Check the index of what is assigned, and of parts that are more than items.

    Nothing reads what the checks give: no pass that drops such operations may follow.
    """
    _treat(program, _check)


def _treat(program: Any, treat: Callable[[Any, Any], None]) -> None:
    def within(block: Any, inside: bool) -> None:
        for operation in list(block.ops):
            name = operation.name()
            if (inside and name == PART) or name in ASSIGNMENTS:
                treat(block, operation)
            for inner in blocks_of(operation):
                within(inner, True)

    with paddle.static.program_guard(program):
        calls = any(each.name().startswith(HOST) for each in operations(program))
        within(program.global_block(), calls)
        pir.set_insertion_point_to_block_end(program.global_block())


def _gather(block: Any, operation: Any) -> None:
    """Take an item that an operation of its own can take."""
    if operation.name() != PART:
        return
    axes = list(operation.attrs()["axes"])
    leading = axes == list(range(len(axes)))
    if axes != list(operation.attrs()["decrease_axis"]) or not (leading or len(axes) == 1):
        return
    items = _items(operation)
    if not items or (len(axes) == 1 and _may_be_empty_beside(operation, axes[0])):
        return
    pir.set_insertion_point(operation)
    if len(axes) == 1:
        made = _gathered(operation, *items[0])
    else:
        made = paddle._C_ops.gather_nd(operation.operand_source(0), operation.operand_source(1))
        made.get_defining_op().callstack = operation.callstack
    result = operation.result(0)
    if list(made.shape) != list(result.shape):
        block.remove_op(made.get_defining_op())
        return
    made.stop_gradient = result.stop_gradient
    result.replace_all_uses_with(made)
    block.remove_op(operation)


def _may_be_empty_beside(operation: Any, axis: int) -> bool:
    """Whether the tensor may have no elements though it has some places along ``axis``.

    ``gather`` leaves its result without memory then, which the next operation asks for.
    """
    value = operation.operand_source(0)
    others = [size for each, size in enumerate(value.shape) if each != axis]
    return any(size <= 0 for size in others) and not has_elements(value, {})


def _check(block: Any, operation: Any) -> None:
    """Look for each item, before the operation."""
    for axis, index in _items(operation):
        pir.set_insertion_point(operation)
        if operation.name() == PART and _may_be_empty_beside(operation, axis):
            _found(operation, axis, index)
        else:
            _gathered(operation, axis, index)


def _found(operation: Any, axis: int, index: Any) -> None:
    """Look for the index among as many places as the tensor has along ``axis``.

    What ``gather`` does not do where there is nothing to be gathered.
    """
    value = operation.operand_source(0)
    size = paddle._C_ops.slice(paddle.shape(value), [0], [axis], [axis + 1], [1], [])
    places = paddle.zeros(size, "int32")
    made = paddle.index_select(places, paddle._C_ops.reshape(index, [1]))
    for each in (size, places, made):
        each.get_defining_op().callstack = operation.callstack


def _gathered(operation: Any, axis: int, index: Any) -> Any:
    at = paddle._C_ops.reshape(index, []) if index.shape else index
    made = paddle._C_ops.gather(operation.operand_source(0), at, axis)
    made.get_defining_op().callstack = operation.callstack  # at the user's line, if it fails
    return made


def _items(operation: Any) -> list[tuple[int, Any]]:
    """The axes of which an operation takes one item that may be absent, with the index of each."""
    attributes, inputs = operation.attrs(), operation.get_input_names()
    value = operation.operand_source(0)
    if "starts" not in inputs or value.dtype not in _DTYPES:
        return []
    taken = attributes.get("decrease_axis", attributes.get("decrease_axes", ()))
    starts = operation.operand_source(inputs.index("starts"))
    maker = starts.get_defining_op()
    name = None if maker is None else maker.name()
    parts = parts_of(maker.operand_source(0)) if name == "pd_op.stack" else None
    found = []
    for position, axis in enumerate(attributes["axes"]):
        known = _is_constant(starts if parts is None else parts[position])
        if axis not in taken or (known and value.shape[axis] >= 0):
            continue  # capture has looked at a number where the size is known
        pir.set_insertion_point(operation)
        found.append((axis, _part(starts, position) if parts is None else parts[position]))
    return found


def is_of_run(operation: Any) -> bool:
    """Whether an operation takes or sets a part of a tensor, and the run decides which."""
    name = operation.name()
    if name != PART and name not in ASSIGNMENTS:
        return False
    first = 1 if name == PART or name.removesuffix("_").endswith("set_value") else 2
    return not all(map(_is_constant, operation.operands_source()[first:]))


def _part(starts: Any, position: int) -> Any:
    return paddle._C_ops.gather(starts, paddle.full([], position, "int64"), 0)


def _is_constant(value: Any) -> bool:
    maker = value.get_defining_op()
    return maker is not None and maker.name() in CONSTANTS
