"""Open dimensions of tensors that are the same on every run, as their operations tell.

``x @ w`` has as many rows as ``x``, and ``x.shape[0]`` is how many: where a shape asks for these
rows, it says nothing that only the run knows.
"""

from __future__ import annotations

from typing import Any, Final

from d2s import paddle_bridge as bridge

Origin = tuple[int, int]
"""A value of the program, by its id, and a dimension of it."""

_NAMES: Final = """
    abs assign bitwise_not cast celu clip cos dropout elu erf exp floor full_like gelu
    hardsigmoid hardswish hardtanh layer_norm leaky_relu log log_softmax logical_not logsigmoid
    mish pow relu relu6 rms_norm round rsqrt scale selu share_data sigmoid sign silu sin softmax
    softplus softsign sqrt square swish tanh tril triu
"""

_ALIKE: Final = frozenset(_NAMES.split())
"""Operations whose result has the shape of their first operand."""

_BROADCASTING: Final = frozenset(("add", "divide", "maximum", "minimum", "multiply", "subtract"))


def origin(value: bridge.Value, axis: int) -> Origin:
    """Where the size of ``value`` along ``axis`` comes from; the same for what is as long."""
    while True:
        found = bridge.producer(value)
        before = None if found is None else _before(value, axis, *found)
        if before is None:
            return value.id, axis
        value, axis = before


def origin_of_number(number: bridge.Value) -> Origin | None:
    """The dimension whose size ``number`` is; ``None`` for other numbers."""
    while True:
        found = bridge.producer(number)
        if found is None:
            return None
        name, operands, attributes = found
        if name in ("assign", "cast", "share_data"):
            number = operands[0]
            continue
        if name != "slice" or attributes["decrease_axis"] != [0]:
            return None
        sized, starts = (bridge.producer(operand) for operand in operands[:2])
        if sized is None or starts is None or starts[0] != "full_int_array":
            return None
        if sized[0] not in ("shape", "shape64"):
            return None
        measured = sized[1][0]
        return origin(measured, starts[2]["value"][0] % len(bridge.shape_of(measured) or (0,)))


def _before(
    value: bridge.Value, axis: int, name: str, operands: list[Any], attributes: dict[str, Any]
) -> tuple[Any, int] | None:
    """An operand, and the dimension of it that is as long as ``axis`` of ``value``."""
    if name in _ALIKE:
        return operands[0], axis
    if name == "transpose":
        return operands[0], attributes["perm"][axis]
    rank = len(value.shape)
    if name == "embedding":
        return (operands[0], axis) if axis < rank - 1 else None
    if name == "matmul":
        alone = not attributes["transpose_x"] and len(bridge.shape_of(operands[1]) or ()) == 2
        return (operands[0], axis) if alone and axis < rank - 1 else None
    if name in _BROADCASTING:
        return _broadcast(operands, axis - rank)
    return None


def _broadcast(operands: list[Any], axis: int) -> tuple[Any, int] | None:
    """Of two operands, the one that alone is not 1 along ``axis``, counted from the end."""
    shapes = [bridge.shape_of(operand) or () for operand in operands]
    long = [
        (operand, len(sizes) + axis)
        for operand, sizes in zip(operands, shapes, strict=True)
        if len(sizes) >= -axis and sizes[axis] != 1
    ]
    return long[0] if len(long) == 1 else None
