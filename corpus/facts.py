"""What can be seen of a value, as a flat list of facts, and the first difference between two such
lists.

A fact is ``(path, what is there)``: the container and its length, a scalar with its exact type,
or an array with dtype, shape and numbers. Facts are copies, so later changes of a tensor do not
reach them.

>>> facts("result", (1, [True]))  # doctest: +NORMALIZE_WHITESPACE
[('result', 'tuple of 2'), ('result[0]', Scalar(int, 1)),
 ('result[1]', 'list of 1'), ('result[1][0]', Scalar(bool, True))]
>>> difference(facts("result", (1, [True])), facts("result", (1, [1])), rtol=0, atol=0)
'result[1][0] is the int 1, should be the bool True'
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import paddle

Fact = tuple[str, object]


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A Python value that is no container; its type counts: 1, 1.0 and True are three things."""

    type: type
    value: Any

    def __str__(self) -> str:
        return "None" if self.value is None else f"the {self.type.__name__} {self.value!r}"

    def __repr__(self) -> str:
        return f"Scalar({self.type.__name__}, {self.value!r})"


@dataclasses.dataclass(frozen=True)
class Array:
    """A tensor or a NumPy array; low-precision floats are widened so that NumPy can hold them."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray

    def __str__(self) -> str:
        return f"{self.kind} {self.dtype} {list(self.shape)}"


def array_of(tensor: paddle.Tensor) -> np.ndarray:
    """A copy of a tensor's numbers."""
    if tensor.dtype in (paddle.bfloat16, paddle.float16):
        tensor = tensor.astype("float32")
    return np.array(tensor.detach().numpy())


def children(value: object) -> list[tuple[str, Any]] | None:
    """The parts of a container with the text that reaches each; None for anything else."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", part) for i, part in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)]
    return None


def facts(path: str, value: object) -> list[Fact]:
    """All facts about ``value``, outermost first."""
    return list(_facts(path, value))


def _facts(path: str, value: object) -> Iterator[Fact]:
    parts = children(value)
    if isinstance(value, paddle.Tensor):
        yield path, Array("Tensor", str(value.dtype), tuple(value.shape), array_of(value))
    elif isinstance(value, np.ndarray):
        yield path, Array("ndarray", str(value.dtype), value.shape, value.copy())
    elif parts is not None:
        yield path, f"{type(value).__name__} of {len(parts)}"
        for step, part in parts:
            yield from _facts(path + step, part)
    else:
        yield path, Scalar(type(value), value)


def tensors(path: str, value: object) -> Iterator[tuple[str, paddle.Tensor]]:
    """Every floating tensor inside ``value`` with its path."""
    if isinstance(value, paddle.Tensor):
        if paddle.is_floating_point(value):
            yield path, value
        return
    for step, part in children(value) or ():
        yield from tensors(path + step, part)


def difference(
    expected: Sequence[Fact], actual: Sequence[Fact], *, rtol: float, atol: float
) -> str | None:
    """A sentence about the first fact that differs, or None."""
    for want, got in itertools.zip_longest(expected, actual):
        if want is None:
            return f"{got[0]} is {got[1]}, should not be there"
        if got is None or want[0] != got[0]:
            return f"{want[0]} is missing, should be {want[1]}"
        text = _unequal(want[1], got[1], rtol, atol)
        if text:
            return f"{want[0]} {text}"
    return None


def _unequal(want: object, got: object, rtol: float, atol: float) -> str | None:
    wrong = f"is {got}, should be {want}"
    if isinstance(want, Array) and isinstance(got, Array):
        if str(want) != str(got):
            return wrong
        return far_apart(want.data, got.data, rtol, atol)
    if isinstance(want, Scalar) and isinstance(got, Scalar):
        if want.type is not got.type:
            return wrong
        if want.type is float:
            return (
                wrong if far_apart(np.array(want.value), np.array(got.value), rtol, atol) else None
            )
        return None if want.value == got.value else wrong
    return None if type(want) is type(got) and want == got else wrong


def far_apart(want: np.ndarray, got: np.ndarray, rtol: float, atol: float) -> str | None:
    """How two arrays of one shape differ; NaN equals itself, tolerances are for floats alone."""
    if not np.issubdtype(want.dtype, np.inexact):
        rtol = atol = 0.0
    close = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    place = f" at {list(at)}" if at else ""
    return f"is {got[at]}{place}, should be {want[at]}"
