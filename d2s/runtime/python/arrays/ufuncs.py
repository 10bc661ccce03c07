"""What NumPy does with numbers, as operations of the program where Paddle does the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.python.arrays.contents import RunArray
from d2s.runtime.trace import error_here
from d2s.runtime.values.tensors import cast_plain, number_kind

Operation = Callable[..., paddle.Tensor]

_COMPUTED: Final = frozenset(("int32", "int64", "float32", "float64"))
"""In these Paddle computes sums and products as NumPy does."""


_ARITHMETIC: Final[dict[Any, Operation]] = {
    np.add: paddle.add,
    np.subtract: paddle.subtract,
    np.multiply: paddle.multiply,
}

_COMPARISONS: Final[dict[Any, Operation]] = {
    np.less: paddle.less_than,
    np.less_equal: paddle.less_equal,
    np.greater: paddle.greater_than,
    np.greater_equal: paddle.greater_equal,
    np.equal: paddle.equal,
    np.not_equal: paddle.not_equal,
}

_LOGICAL: Final[dict[Any, Operation]] = {
    np.bitwise_and: paddle.logical_and,
    np.bitwise_or: paddle.logical_or,
    np.bitwise_xor: paddle.logical_xor,
    np.logical_and: paddle.logical_and,
    np.logical_or: paddle.logical_or,
    np.logical_xor: paddle.logical_xor,
    np.invert: paddle.logical_not,
    np.logical_not: paddle.logical_not,
}


def check_errors() -> None:
    """Refuse to compute where NumPy is to do more than warn of what a division gives.

    Raises:
        UnsupportedInGraphError: (D2S205) ``np.errstate(all="raise")``.
    """
    if not {"raise", "call", "print", "log"}.isdisjoint(np.geterr().values()):
        raise error_here(
            UnsupportedInGraphError,
            "NumPy is to raise or to print where an operation divides by zero or overflows "
            "(np.errstate, np.seterr), which only the run knows",
            "let it be ignored, and look at what comes out with np.isfinite",
        )


def lowered(function: np.ufunc, inputs: tuple[Any, ...]) -> RunArray | None:
    """``function(*inputs)`` as an operation of the program; ``None`` where Paddle has none."""
    check_errors()
    if not all(is_number_like(item) for item in inputs):
        return None
    samples = [sample_like(item) for item in inputs]
    with np.errstate(all="ignore"):
        made = function(*samples)  # it raises what NumPy raises
    if not isinstance(made, np.ndarray | np.generic):
        return None
    operation, wanted = _operation(function, samples, made)
    if operation is None or not _holds(wanted, inputs):
        return None
    operands = [operand(item, wanted.name) for item in inputs]
    value = operation(*operands)
    return RunArray.made(value, scalar=not isinstance(made, np.ndarray))


def _operation(
    function: np.ufunc, samples: list[Any], made: np.ndarray[Any, Any] | np.generic
) -> tuple[Operation | None, Any]:
    """The operation of Paddle that is ``function``, and the dtype of its operands."""
    if function in _ARITHMETIC and made.dtype.name in _COMPUTED:
        return _ARITHMETIC[function], made.dtype
    if function is np.true_divide and made.dtype.name in ("float32", "float64"):
        return paddle.divide, made.dtype
    if function is np.negative and made.dtype.name in _COMPUTED:
        return _negative, made.dtype
    joint = np.result_type(*samples)
    if function in _COMPARISONS and joint.name in (*_COMPUTED, "bool"):
        return _COMPARISONS[function], joint
    if function in _LOGICAL and joint.name == "bool":
        return _LOGICAL[function], joint
    return None, joint


def _negative(value: paddle.Tensor) -> paddle.Tensor:
    """``-value``; Paddle's adds a zero, which makes 0.0 of -0.0."""
    return paddle.multiply(value, paddle.full([], -1, value.dtype))


def _holds(dtype: np.dtype[Any], inputs: tuple[Any, ...]) -> bool:
    """Whether each Python number among ``inputs`` has its value in ``dtype`` as in NumPy."""
    return not any(
        not isinstance(item, RunArray | np.ndarray | np.generic)
        and bridge.is_value(item)
        and number_kind(item) is int
        and dtype.name == "int32"
        for item in inputs
    )


def is_number_like(item: object) -> bool:
    """Whether NumPy computes with it as it is."""
    if isinstance(item, RunArray):
        return True
    return number_kind(item) is not None or isinstance(item, np.ndarray | np.generic)


def sample_like(item: object) -> Any:
    """What stands for an operand while NumPy is asked."""
    if isinstance(item, RunArray):
        return item.sample(odd=1)
    if bridge.is_value(item):
        return (number_kind(item) or float)(1)
    return item


def operand(item: object, dtype: str) -> paddle.Tensor:
    """A tensor of the program, or a constant, that holds what ``item`` does."""
    if isinstance(item, RunArray):
        return cast_plain(item.value, dtype)
    if bridge.is_value(item):
        return cast_plain(item, dtype)
    if isinstance(item, np.ndarray) and item.ndim:
        return paddle.to_tensor(item.astype(dtype))
    return paddle.full([], np.asarray(item).astype(dtype).item(), dtype)
