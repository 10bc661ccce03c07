"""What an array of NumPy that the run decides holds, and how it looks to NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError
from d2s.runtime.trace import error_here
from d2s.runtime.values.tensors import mark_number

KNOWN: Final = frozenset(
    (
        *("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
)
"""The dtypes that tensors and arrays have in common."""


def dtype_of(value: paddle.Tensor) -> np.dtype[Any]:
    """The dtype of the array that a tensor becomes."""
    name = str(value.dtype).rsplit(".", 1)[-1]
    if name not in KNOWN:
        raise error_here(
            NotStaticError,
            f"a {name} tensor becomes an array of NumPy, which has no such dtype",
            "cast it to float32 before",
        )
    return np.dtype(name)


class RunArray:
    """The contents of an array, or a number, of NumPy that the run decides.

    Attributes:
        value: the contents, a value of the program.
        part: not empty if it is a view of another array, or another array is one of it; or if it
            is read-only.
    """

    scalar: ClassVar[bool] = False
    """Whether it is a number of NumPy (``np.float32(3)``), which nobody can change."""

    d2s_is_state = True
    """Branches and loops hand on its attributes, as those of a user's object."""

    _classes: ClassVar[dict[bool, type[RunArray]]] = {}
    """The class of arrays, and that of numbers."""

    def __init_subclass__(cls) -> None:
        RunArray._classes[cls.scalar] = cls

    @staticmethod
    def made(value: paddle.Tensor, *, scalar: bool = False) -> RunArray:
        """An array, or number, with these contents, as the user's code sees it."""
        return RunArray._classes[scalar](value)

    def __init__(self, value: paddle.Tensor) -> None:
        self.value = value
        self.part = ""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of NumPy."""
        return dtype_of(self.value)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.value.shape)

    @property
    def shape(self) -> Any:
        """A tuple; a dimension that only the run knows is a number of the run."""
        return tuple(size_of(self.value, axis) for axis in range(self.ndim))

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape) if self.is_known() else self._count()

    def _count(self) -> Any:
        return mark_number(paddle.numel(self.value).astype("int64"), int)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """Bytes of all."""
        return self.size * self.itemsize

    def is_known(self) -> bool:
        """Whether every dimension is known now."""
        return all(size >= 0 for size in self.value.shape)

    def sample(self, of: Callable[[tuple[int, ...], Any], Any] | None = None, odd: int = 3) -> Any:
        """An array, or number, of NumPy like this one.

        Args:
            of: makes it, of a shape and a dtype; ones by default.
            odd: the size of dimensions that only the run knows.
        """
        shape = tuple(odd if size < 0 else size for size in self.value.shape)
        made = (np.ones if of is None else of)(shape, self.dtype)
        return made[()] if self.scalar else made

    @classmethod
    def on_host(cls, tensor: paddle.Tensor) -> Any:
        """What it is on a run that has given ``tensor``."""
        array = np.array(tensor.numpy(), copy=True)
        return array[()] if cls.scalar else array

    def d2s_parts(self) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]]:
        """What it holds, and what makes its like: an array of NumPy of a run's tensor."""

        def make(items: list[Any]) -> Any:
            (item,) = items
            return type(self)(item) if bridge.is_value(item) else self.on_host(item)

        return [("", self.value)], make

    def d2s_is_like(self, other: RunArray) -> bool:
        """Whether one array may stand for both, behind a branch: of one dtype and rank."""
        values = self.value, other.value
        return all(map(bridge.is_value, values)) and (
            values[0].dtype == values[1].dtype and self.ndim == other.ndim
        )


def size_of(value: paddle.Tensor, axis: int) -> Any:
    """The size of a dimension: a number, or one of the run."""
    size = value.shape[axis]
    if size >= 0:
        return int(size)
    return mark_number(paddle.shape(value)[axis].astype("int64"), int)


def alone(value: paddle.Tensor) -> paddle.Tensor:
    """The one element of ``value``."""
    return paddle.reshape(value, []) if list(value.shape) else value
