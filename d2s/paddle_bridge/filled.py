"""Whether a value has elements on every run: a proof, back over the operations that made it.

Each operation says which values must have elements so that its result has some; a constant, an
argument or a known shape needs none::

    p = arange(n, n + length)        length > 0:  x has elements
    e = embedding(p, table)          p and table have
    h = embedding(x, table) + e      both have

Where a size decides, it is a sum of constants, of sizes of tensors and of values of the run (see
:class:`_Sum`); it is positive if its constants and the sizes of tensors that have elements are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, MutableMapping
from math import prod
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import Value
from d2s.paddle_bridge.values import is_fake, shape_of

_NAMES: Final = """
    abs acos acosh add add_n all amax amin angle any argmax argmin argsort asin asinh assign
    atan atan2 atanh batch_norm bce_loss bernoulli bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor bmm cast ceil celu channel_shuffle clip complex
    conj copysign cos cosh cross cross_entropy_with_softmax cummax cummin cumprod cumsum
    deg2rad digamma divide dot dropout einsum elementwise_pow elu embedding equal erf erfinv
    exp expand_as expm1 fill fill_diagonal fill_diagonal_tensor flatten flip floor floor_divide
    fmax fmin frobenius_norm full_like fused_softmax_mask gather gather_nd gather_tree gelu
    greater_equal greater_than
    group_norm hardshrink hardsigmoid hardswish hardtanh heaviside huber_loss i0 i1 imag
    increment index_add index_put index_sample index_select instance_norm isfinite isinf isnan
    kldiv_loss kron kthvalue label_smooth layer_norm leaky_relu lerp less_equal less_than lgamma
    linear log log10 log1p log2 log_softmax logcumsumexp logical_and logical_not logical_or
    logical_xor logit logsigmoid logsumexp matmul matmul_with_flatten max maximum mean mean_all
    median meshgrid min minimum mish mode multinomial multiply mv nanmedian nextafter nll_loss
    norm not_equal npu_identity one_hot p_norm pixel_shuffle pow prelu print prod put_along_axis
    rad2deg real reciprocal relu relu6 remainder reshape rms_norm roll rot90 round rsqrt scale
    scatter scatter_nd_add selu set_value set_value_with_tensor share_data sigmoid
    sigmoid_cross_entropy_with_logits sign silu sin sinh softmax softplus softshrink softsign
    sqrt square squared_l2_norm squeeze stack stanh subtract sum swapaxes swiglu
    swish take_along_axis
    tan tanh tanh_shrink thresholded_relu topk transpose tril triu
    trunc unbind unsqueeze view_dtype where
"""

_KEEPING: Final = frozenset(_NAMES.split()) | {"combine", "split", "slice_of_vector"}
"""Operations whose results have elements when their operands have."""

_GIVEN: Final = frozenset({"data", "parameter"})

_SHAPES: Final = {
    **{"expand": 1, "full_with_tensor": 1, "gaussian": 0, "randint": 0, "tile": 1, "uniform": 0}
}
"""Operations whose result has the shape that an operand gives, and which operand that is."""

_FILLING: Final = frozenset({"full_with_tensor", "gaussian", "randint", "uniform"})
"""Those of them whose other operands say nothing about the shape."""

_END: Final = (1 << 31) - 1
"""An end of a slice that is not before the end of any dimension."""

_DEPTH: Final = 12
"""How many operations back a size is looked at; each of them may read two others."""

_FACTORS: Final = 4
"""How many operations that are no sums may be among them."""

_WIDE: Final = (paddle.int32, paddle.int64, paddle.float32, paddle.float64)
"""The dtypes that hold any size."""

_MOST: Final = 32
"""How many numbers a shape, or part of one, has at most."""

Needs = list[Any] | None
"""The values that must have elements; ``None``: that would not be enough."""


def has_elements(value: Any, known: MutableMapping[int, Any], *, plain: bool = False) -> bool:
    """Whether every run gives ``value`` elements; ``False`` where that is not known.

    Args:
        value: of a program that is captured.
        known: values that have elements on every run; those that are found are put in.
        plain: each open dimension, too, comes from one of a value that is given or known, and is
            no smaller.
    """
    found: dict[int, Any] = {}
    left = [value]
    while left:
        each = left.pop()
        if each.id in known or each.id in found:
            continue
        needs = _needs(each, plain)
        if needs is None:
            return False
        found[each.id] = each
        left += needs
    known.update({key: each for key, each in found.items() if not _is_known(shape_of(each))})
    return True


def _is_known(shape: list[int] | None) -> bool:
    return shape is not None and all(size >= 0 for size in shape)


def _needs(value: Value, plain: bool) -> Needs:
    """What must have elements, so that ``value`` has."""
    shape = shape_of(value)
    if shape is not None and 0 in shape:
        return None
    if shape is not None and all(size > 0 for size in shape):
        return []
    maker = value.get_defining_op()
    name = "" if maker is None else _name(maker)  # of a loop around, which would be known
    if name in _GIVEN:
        return []
    if name in _KEEPING and maker.name() != "pd_op.split":
        return _operands(maker)
    if name == "concat":
        return _concatenated(maker)
    if name in _SHAPES:
        return _shaped(maker, name)
    if name == "slice":
        return _sliced(maker, shape, plain)
    rule = None if plain else _RULES.get(name)
    return None if rule is None else rule(maker, shape)


def _name(operation: Any) -> str:
    name: str = operation.name().split(".")[-1]
    return name.removesuffix("_")


def _operands(operation: Any) -> list[Any]:
    return [each for each in operation.operands_source() if not is_fake(each)]


def _all(needs: list[Needs]) -> Needs:
    """All of several needs."""
    if any(each is None for each in needs):
        return None
    return [value for each in needs if each is not None for value in each]


# -- operations ----------------------------------------------------------------------------------


def _concatenated(maker: Any) -> Needs:
    """All parts but those that are known to have no elements, such as a cache at first."""
    joined = maker.operand_source(0)
    combined = joined.get_defining_op()
    if combined is None or combined.name() != "builtin.combine":
        return [joined]
    parts = [part for part in combined.operands_source() if 0 not in part.shape]
    return parts or None


def _shaped(maker: Any, name: str) -> Needs:
    """An operand gives the shape; -1 stands for a size as it is."""
    sizes = _numbers(maker.operand_source(_SHAPES[name]))
    if sizes is None:
        return None
    given = [] if name in _FILLING else [maker.operand_source(0)]
    return _all([given, *(_positive(size) for size in sizes if size != _Sum.of(-1))])


def _sliced(maker: Any, shape: list[int] | None, plain: bool) -> Needs:
    """``x[a:b]`` along some dimensions, of which ``decrease_axis`` are dropped behind that."""
    if shape is None:  # of a list of tensors
        return None
    attributes, operand = maker.attrs(), maker.operand_source(0)
    dropped = set(attributes["decrease_axis"])
    left = [axis for axis in range(len(operand.shape)) if axis not in dropped]
    cut = [
        number
        for number, axis in enumerate(attributes["axes"])
        if axis not in dropped and shape[left.index(axis)] < 0
    ]
    return None if cut and plain else _all([[operand], *_ranges(maker, cut)])


def _strided(maker: Any, shape: list[int] | None) -> Needs:
    """``x[a:b:c]`` along some dimensions."""
    axes = maker.attrs()["axes"]
    cut = [number for number, axis in enumerate(axes) if shape is None or shape[axis] < 0]
    steps = _numbers(maker.operand_source(3))
    if steps is None or not all(_constant(steps[number]) > 0 for number in cut):
        return None
    return _all([[maker.operand_source(0)], *_ranges(maker, cut)])


def _ranges(maker: Any, cut: list[int]) -> list[Needs]:
    """What some of the ranges of a slice need, so that there is something in them."""
    if not cut:
        return []
    starts, ends = (_numbers(maker.operand_source(index)) for index in (1, 2))
    if starts is None or ends is None:
        return [None]
    return [_range(starts[number], ends[number]) for number in cut]


def _range(start: _Sum, end: _Sum) -> Needs:
    """``x[a:b]`` of what has elements: from the beginning, or some at the end."""
    first, last = _constant(start), _constant(end)
    if last >= _END:
        return [] if first <= 0 else None
    return _positive(end) if first == 0 else None


def _counted(maker: Any, shape: list[int] | None) -> Needs:
    """``arange(start, end, step)``."""
    found = [_numbers(operand) for operand in maker.operands_source()]
    if any(each is None or len(each) != 1 for each in found):
        return None
    start, end, step = (each[0] for each in found if each is not None)
    if _constant(step) > 0:
        return _positive(end.plus(start, -1))
    return _positive(start.plus(end, -1)) if _constant(step) < 0 else None


def _repeated(maker: Any, shape: list[int] | None) -> Needs:
    return _operands(maker) if maker.attrs()["repeats"] > 0 else None


def _padded(maker: Any, shape: list[int] | None) -> Needs:
    """What is padded has at least as many elements as before, if nothing is cut off."""
    amounts = maker.attrs().get("paddings")
    if amounts is None:
        sizes = _numbers(maker.operand_source(1))
        amounts = [-1] if sizes is None else [_constant(size) for size in sizes]
    return [maker.operand_source(0)] if all(amount >= 0 for amount in amounts) else None


def _parted(maker: Any, shape: list[int] | None) -> Needs:
    """``split`` into parts of known sizes; of those that are not, one may be 0."""
    sizes = _numbers(maker.operand_source(1))
    known = sizes is not None and all(_constant(size) > 0 for size in sizes)
    return [maker.operand_source(0)] if known else None


def _equal_parts(maker: Any, shape: list[int] | None) -> Needs:
    return [maker.operand_source(0)]


def _filled(maker: Any, shape: list[int] | None) -> Needs:
    """``full`` whose result was given open dimensions later."""
    return [] if all(size > 0 for size in maker.attrs()["shape"]) else None


_RULES: Final[dict[str, Callable[[Any, list[int] | None], Needs]]] = {
    "arange": _counted,
    "full": _filled,
    "pad": _padded,
    "pad3d": _padded,
    "repeat_interleave": _repeated,
    "split": _parted,
    "split_with_num": _equal_parts,
    "strided_slice": _strided,
}


# -- numbers -------------------------------------------------------------------------------------


class _Sum:
    """A number of the run: a constant, and multiples of sizes and of other values.

    Attributes:
        constant: the part of it that is known.
        parts: how often it has each other part: the size of a value along an axis, or a value
            (axis -1).
        values: those values by their ids.
    """

    def __init__(self, constant: float, parts: Counter[tuple[int, int]], values: Any) -> None:
        self.constant = constant
        self.parts = Counter({part: count for part, count in parts.items() if count})
        self.values: dict[int, Value] = values

    @classmethod
    def of(cls, constant: float) -> _Sum:
        """A constant."""
        return cls(constant, Counter(), {})

    @classmethod
    def part(cls, value: Value, axis: int = -1) -> _Sum:
        """The size of a value along an axis; or a value, a number itself."""
        if axis >= 0 and value.shape[axis] >= 0:
            return cls.of(value.shape[axis])
        return cls(0, Counter({(value.id, axis): 1}), {value.id: value})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Sum):
            return NotImplemented
        return (self.constant, self.parts) == (other.constant, other.parts)

    __hash__ = None  # type: ignore[assignment]

    def plus(self, other: _Sum, times: float = 1) -> _Sum:
        """The sum with a multiple of another one."""
        parts = Counter(self.parts)
        for part, count in other.parts.items():
            parts[part] += times * count  # type: ignore[assignment]
        return _Sum(self.constant + times * other.constant, parts, self.values | other.values)


def _constant(number: _Sum) -> float:
    """The number, if it is known; not a number otherwise, which is greater than nothing."""
    return float("nan") if number.parts else number.constant


def _positive(number: _Sum, depth: int = _FACTORS) -> Needs:
    """What must have elements, so that the number is positive."""
    least, needs = number.constant, []
    for (key, axis), count in number.parts.items():
        value = number.values[key]
        if count < 0:
            return None
        if axis >= 0:
            needs.append(value)
        else:
            more = _positive_value(value, depth - 1)
            if more is None:
                return None
            needs += more
        least += count
    return needs if least > 0 else None


def _positive_value(value: Value, depth: int) -> Needs:
    """What must have elements, so that a value, a number that is no sum, is positive."""
    maker = value.get_defining_op()
    name = "" if maker is None or not depth else _name(maker)
    if name in ("multiply", "minimum", "maximum"):
        operands = maker.operands_source()
    elif name in ("max", "min", "prod", "sum"):
        operands = [maker.operand_source(0)]
    else:
        return None
    needs: list[Needs] = []
    for operand in operands:
        numbers = _numbers(operand)
        if numbers is None:
            return None
        needs += (_positive(number, depth) for number in numbers)
    return _all(needs)


def _numbers(value: Value, depth: int = _DEPTH) -> list[_Sum] | None:
    """The numbers in a small tensor, or in several; ``None`` if they are not known so well."""
    shape = shape_of(value)
    if shape is not None and (any(size < 0 for size in shape) or not 0 < prod(shape) <= _MOST):
        return None
    maker = value.get_defining_op()
    rule = None if maker is None or not depth else _NUMBERS.get(_name(maker))
    found = None if rule is None else rule(maker, depth - 1)
    if found is not None and (shape is None or len(found) == prod(shape)):
        return found
    return [_Sum.part(value)] if shape is not None and prod(shape) == 1 else None


def _full(maker: Any, depth: int) -> list[_Sum]:
    attributes = maker.attrs()
    return [_Sum.of(attributes["value"])] * prod(attributes["shape"])


def _full_int_array(maker: Any, depth: int) -> list[_Sum]:
    return [_Sum.of(number) for number in maker.attrs()["value"]]


def _sizes(maker: Any, depth: int) -> list[_Sum]:
    operand = maker.operand_source(0)
    return [_Sum.part(operand, axis) for axis in range(len(operand.shape))]


def _same(maker: Any, depth: int) -> list[_Sum] | None:
    return _numbers(maker.operand_source(0), depth)


def _cast(maker: Any, depth: int) -> list[_Sum] | None:
    """From integers to what holds them."""
    operand = maker.operand_source(0)
    wide = operand.dtype in _WIDE[:2] and maker.result(0).dtype in _WIDE
    return _numbers(operand, depth) if wide else None


def _joined(maker: Any, depth: int) -> list[_Sum] | None:
    found: list[_Sum] = []
    for operand in maker.operands_source():
        numbers = _numbers(operand, depth)
        if numbers is None:
            return None
        found += numbers
    return found


def _flat(maker: Any, depth: int) -> list[_Sum] | None:
    """Joined along the only dimension."""
    return _same(maker, depth) if len(maker.result(0).shape) == 1 else None


def _picked(maker: Any, depth: int) -> list[_Sum] | None:
    """Some of a row."""
    operand = maker.operand_source(0)
    if len(operand.shape) != 1:
        return None
    row = _numbers(operand, depth)
    starts, ends = (_numbers(maker.operand_source(index), depth) for index in (1, 2))
    if row is None or not starts or not ends or starts[0].parts or ends[0].parts:
        return None
    return row[int(starts[0].constant) : int(ends[0].constant)]


def _scaled(maker: Any, depth: int) -> list[_Sum] | None:
    row = _numbers(maker.operand_source(0), depth)
    factors = _numbers(maker.operand_source(1), depth)
    if row is None or not factors or factors[0].parts:
        return None
    factor, attributes = factors[0].constant, maker.attrs()
    bias = attributes["bias"] * (1 if attributes["bias_after_scale"] else factor)
    if factor != int(factor) or bias != int(bias):
        return None
    return [_Sum.of(bias).plus(number, factor) for number in row]


def _added(times: int) -> Callable[[Any, int], list[_Sum] | None]:
    def added(maker: Any, depth: int) -> list[_Sum] | None:
        one, other = (_numbers(operand, depth) for operand in maker.operands_source())
        if one is None or other is None or len(one) != len(other):
            return None
        return [a.plus(b, times) for a, b in zip(one, other, strict=True)]

    return added


_NUMBERS: Final[dict[str, Callable[[Any, int], list[_Sum] | None]]] = {
    **dict.fromkeys(("assign", "reshape", "squeeze", "unsqueeze"), _same),
    "add": _added(1),
    "cast": _cast,
    "combine": _joined,
    "concat": _flat,
    "full": _full,
    "full_int_array": _full_int_array,
    "scale": _scaled,
    "shape": _sizes,
    "shape64": _sizes,
    "slice": _picked,
    "stack": _flat,
    "subtract": _added(-1),
}
