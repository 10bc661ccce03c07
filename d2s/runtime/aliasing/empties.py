"""Tensors without elements, on their way out of a branch or through a static loop.

Paddle 3.3 hands a value out of an ``if`` or ``while`` by sharing its memory, and leaves out a value
that has none: behind the block the variable keeps the contents, and the dimensions, of another run
or trip.  So what may be empty gets one more element along each dimension that may be 0, travels
like that, and is cut to its size again on the other side:

    before          y = x[:0]           after           y = pad(x[:0], 1)
    ...             yield y             ...             yield y
                                        outside         y = y[:-1]

Most values need none of that: their dimensions are known, or open ones that come from an input.
:func:`may_be_empty` tells by going back over the operations that made the value.
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current

_NAMES: Final = """
    abs acos acosh add add_n all amax amin angle any argmax argmin argsort asin asinh assign
    atan atan2 atanh batch_norm batch_norm_ bce_loss bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor bmm cast ceil celu channel_shuffle clip complex
    concat conj copysign cos cosh cross cross_entropy_with_softmax cummax cummin cumprod cumsum
    deg2rad digamma divide dot dropout elementwise_pow elu embedding equal erf erfinv
    exp expm1 fill fill_diagonal fill_diagonal_tensor flatten flip floor floor_divide fmax fmin
    frobenius_norm full_like fused_softmax_mask gather gather_nd gelu greater_equal greater_than
    group_norm hardshrink hardsigmoid hardswish hardtanh heaviside huber_loss i0 i1 imag
    increment index_add index_put index_sample index_select instance_norm isfinite isinf isnan
    kldiv_loss kron kthvalue label_smooth layer_norm leaky_relu lerp less_equal less_than lgamma
    linear log log10 log1p log2 log_softmax logcumsumexp logical_and logical_not logical_or
    logical_xor logit logsigmoid logsumexp matmul matmul_with_flatten max maximum mean mean_all
    median meshgrid min minimum mish mode multiply mv nanmedian nextafter nll_loss norm
    not_equal npu_identity one_hot p_norm pixel_shuffle pow prelu print prod put_along_axis
    rad2deg real reciprocal relu relu6 remainder reshape rms_norm roll rot90 round rsqrt scale
    scatter scatter_nd_add selu set_value set_value_with_tensor share_data sigmoid
    sigmoid_cross_entropy_with_logits sign silu sin sinh softmax softplus softshrink softsign
    sqrt square squared_l2_norm squeeze stack stanh subtract sum swapaxes swish take_along_axis
    tan tanh tanh_shrink thresholded_relu topk transpose tril triu
    trunc unbind unsqueeze view_dtype where
"""

_KEEPING: Final = frozenset(_NAMES.split())
"""Operations whose result has elements when their operands have."""

_SHAPED: Final = frozenset({"full_with_tensor", "expand", "gaussian", "uniform", "randint", "tile"})
"""Operations whose result has the shape that an operand gives."""

_POSITIVE: Final = frozenset(
    {"add", "assign", "cast", "concat", "max", "maximum", "min", "minimum", "multiply", "prod"}
    | {"reshape", "squeeze", "stack", "sum", "unsqueeze"}
)
"""Operations whose result is positive when their operands are."""


def may_be_empty(value: bridge.Value) -> bool:
    """Whether a run may give ``value`` no elements.

    Inputs count as filled where their dimensions are open: a call with an empty tensor has a
    program of its own, in which that dimension is 0.
    """
    return not _filled(value, set())


def note_filled(value: bridge.Value) -> None:
    """Note that ``value``, which came out of a block or into one, has elements on every run."""
    capture = current()
    if capture is not None:
        capture.notes.filled[value.id] = value


def axes_of(*values: Any) -> list[int]:
    """The dimensions that may be 0 in one of ``values``, which have one rank."""
    return [
        axis
        for axis, sizes in enumerate(zip(*(value.shape for value in values), strict=True))
        if any(size <= 0 for size in sizes)
    ]


def padded(value: bridge.Value, axes: list[int]) -> Any:
    """``value`` with one more element at the end of each of ``axes``."""
    dtype = value.dtype
    through = _THROUGH.get(dtype)
    wide = value if through is None else paddle.cast(value, through)
    amounts = [[0, int(axis in axes)] for axis in range(len(value.shape))]
    longer = paddle.nn.functional.pad(wide, [amount for pair in amounts for amount in pair])
    made = longer if through is None else paddle.cast(longer, dtype)
    made.stop_gradient = value.stop_gradient
    _note_copies(longer, made)
    if wide is not value:
        _note_copies(wide)
    return made


def cut(value: bridge.Value, axes: list[int]) -> Any:
    """What :func:`padded` was given."""
    made = paddle.slice(value, axes, [0] * len(axes), [-1] * len(axes))
    made.stop_gradient = value.stop_gradient
    _note_copies(made)
    return made


def _note_copies(*values: Any) -> None:
    """Note that each of ``values`` is the tensor that its operation was given, to the user."""
    capture = current()
    if capture is not None:
        capture.notes.copies.update((value.id, value) for value in values)


def enter_blocks(program: Any) -> None:
    """Let branches and loops read what may be empty, and has a gradient, in a padded form.

    The gradient of such a value comes out of the block like any other value does.
    """
    axes: dict[int, list[int]] = {}

    def chosen(value: bridge.Value) -> bool:
        return not value.stop_gradient and may_be_empty(value)

    def before(value: bridge.Value) -> Any:
        axes[value.id] = axes_of(value)
        return padded(value, axes[value.id])

    bridge.pass_into_blocks(program, chosen, before, lambda form, value: cut(form, axes[value.id]))


_THROUGH: Final[dict[Any, str]] = {
    paddle.bool: "int32",
    paddle.int8: "int32",
    paddle.uint8: "int32",
    paddle.int16: "int32",
    paddle.float16: "float32",
    paddle.bfloat16: "float32",
}
"""Dtypes that the padding has no kernel for on every device, and one that holds their values."""


# -- going back ----------------------------------------------------------------------------------


def _filled(value: bridge.Value, seen: set[int]) -> bool:
    """Whether ``value`` surely has elements; ``seen`` holds what is known to have by now."""
    capture = current()
    if value.id in seen or (capture is not None and value.id in capture.notes.filled):
        return True
    shape = bridge.shape_of(value)
    if shape is not None and all(size > 0 for size in shape):
        return True
    if shape is not None and 0 in shape:
        return False
    found = bridge.producer(value)
    if found is None:
        return False  # of a loop around, which would have noted it
    name, operands, attributes = found
    if name in ("data", "parameter"):
        held = True
    elif name in _KEEPING or name in ("combine", "split", "slice_of_vector"):
        held = all(_filled(operand, seen) for operand in operands)
    elif name == "slice":
        open_ = _left(attributes, len(bridge.shape_of(operands[0]) or ()))
        held = (
            shape is not None
            and all(shape[axis] > 0 for axis in open_)
            and _filled(operands[0], seen)
        )
    elif name in _SHAPED:
        held = all(_filled(operand, seen) for operand in operands) and _sizes(operands[-1])
    else:
        held = False
    if held:
        seen.add(value.id)
    return held


def _left(attributes: dict[str, Any], rank: int) -> list[int]:
    """The dimensions of a slice's result that were cut, without those that were dropped."""
    dropped = set(attributes["decrease_axis"])
    left = [axis for axis in range(rank) if axis not in dropped]
    return [left.index(axis) for axis in attributes["axes"] if axis not in dropped]


def _sizes(value: bridge.Value) -> bool:
    """Whether ``value``, a shape or part of one, has no 0; -1 stands for a size as it is."""
    found = bridge.producer(value)
    if found is None:
        return False
    name, operands, attributes = found
    if name == "full":
        return bool(attributes["value"] != 0)
    if name == "full_int_array":
        return all(number != 0 for number in attributes["value"])
    if name in ("combine", "stack"):
        return all(map(_sizes, operands))
    return _positive(value)


def _positive(value: bridge.Value) -> bool:
    """Whether every number in ``value``, a shape or a part of one, is positive."""
    found = bridge.producer(value)
    if found is None:
        return False
    name, operands, attributes = found
    if name == "full":
        return bool(attributes["value"] > 0)
    if name == "full_int_array":
        return all(number > 0 for number in attributes["value"])
    if name in ("shape64", "shape"):
        return _filled(operands[0], set())
    if name == "combine":
        return all(map(_positive, operands))
    if name == "slice":
        return _positive(operands[0])
    if name == "scale":
        return attributes["bias"] >= 0 and all(map(_positive, operands))
    if name in ("concat", "reshape", "sum", "prod", "max", "min"):
        return _positive(operands[0])
    return name in _POSITIVE and all(map(_positive, operands))
