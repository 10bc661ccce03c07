"""What can be seen of a result, and how far two results are apart.

A result is flattened into facts: the containers with their lengths, the scalars with their types,
the tensors with dtype, shape and numbers. Two results agree bit by bit, or within a tolerance that
depends on the dtype and on the largest number of the tensor, or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle

from corpus.facts import Array, Scalar, array_of, children

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
TOLERANCE |= {"complex64": 1e-4, "complex128": 1e-9}
GRADIENTS = 10.0
"""Gradients are sums over all positions: so many times the tolerance of a result.  A parameter that
starts from zero is the sum of its gradients after a few steps."""

Fact = tuple[str, object]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type)


@dataclass(frozen=True)
class Distance:
    """How two results differ: a sentence where they do, or the largest relative deviation."""

    text: str | None = None
    deviation: float = 0.0

    def and_(self, other: Distance) -> Distance:
        return Distance(self.text or other.text, max(self.deviation, other.deviation))

    def __str__(self) -> str:
        if self.text:
            return f"WRONG {self.text}"
        return f"right within {self.deviation:.0e}" if self.deviation else "right bit by bit"


def facts(path: str, value: object, seen: tuple[int, ...] = ()) -> Iterator[Fact]:
    """All facts about ``value``, outermost first; of other objects their attributes count."""
    if isinstance(value, paddle.Tensor):
        yield path, Array("Tensor", _dtype(value), tuple(value.shape), array_of(value))
        return
    if isinstance(value, np.ndarray):
        yield path, Array("ndarray", str(value.dtype), value.shape, value.copy())
        return
    parts = children(value)
    if parts is None and not isinstance(value, _PLAIN) and id(value) not in seen:
        parts = [
            (f".{name}", part) for name, part in sorted(getattr(value, "__dict__", {}).items())
        ]
        seen = (*seen, id(value))
        value = type(value)
    if parts is None:
        known = isinstance(value, _PLAIN)
        yield path, Scalar(type(value), value if known else type(value).__name__)
        return
    kind = value.__name__ if isinstance(value, type) else type(value).__name__
    yield path, f"{kind} of {len(parts)}"
    for step, part in parts:
        yield from facts(path + step, part, seen)


def _dtype(tensor: paddle.Tensor) -> str:
    return str(tensor.dtype).removeprefix("paddle.")


def difference(want: Sequence[Fact], got: Sequence[Fact], *, numbers: bool = True) -> Distance:
    """How far ``got`` is from ``want``.

    Args:
        want: of dygraph.
        got: of the program.
        numbers: whether floating numbers count; where they are random, only dtype and shape do.
    """
    worst = 0.0
    for right, mine in itertools.zip_longest(want, got):
        if right is None or mine is None or right[0] != mine[0]:
            return Distance(f"{_path(mine)} is there, should be {_path(right)}")
        path, expected = right
        actual = mine[1]
        if isinstance(expected, Array) and isinstance(actual, Array):
            if str(expected) != str(actual):
                return Distance(f"{path} is {actual}, should be {expected}")
            if numbers or not np.issubdtype(expected.data.dtype, np.inexact):
                far = deviation(expected.data, actual.data)
                if far > TOLERANCE.get(expected.dtype, 0.0):
                    return Distance(f"{path} {_example(expected.data, actual.data)}")
                worst = max(worst, far)
        elif isinstance(expected, Scalar) and isinstance(actual, Scalar):
            if expected.type is not actual.type or not _equal(expected.value, actual.value):
                return Distance(f"{path} is {actual}, should be {expected}")
        elif type(expected) is not type(actual) or expected != actual:
            return Distance(f"{path} is {actual}, should be {expected}")
    return Distance(deviation=worst)


def _path(fact: Fact | None) -> str:
    return "nothing" if fact is None else fact[0]


def _equal(want: Any, got: Any) -> bool:
    if isinstance(want, float):
        return bool(np.isclose(want, got, rtol=1e-5, equal_nan=True))
    return bool(want == got)


def deviation(want: np.ndarray, got: np.ndarray, scale: float = 0.0) -> float:
    """The largest difference, in parts of the largest number of ``want``; 0 is bit by bit.

    Args:
        want: the right numbers.
        got: the others.
        scale: what counts as the largest number, where that is more.
    """
    if want.shape != got.shape:
        return float("inf")
    if want.size == 0 or np.array_equal(want, got, equal_nan=want.dtype.kind in "fc"):
        return 0.0
    if not np.issubdtype(want.dtype, np.inexact):
        return float("inf")
    finite = np.isfinite(want)
    if not np.array_equal(want[~finite], got[~finite], equal_nan=True):
        return float("inf")
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    apart = np.abs(want[finite].astype(wide) - got[finite].astype(wide))
    largest = max(float(np.abs(want[finite]).max(initial=0.0)), scale, 1e-30)
    far = float(apart.max(initial=0.0)) / largest
    return float("inf") if np.isnan(far) else far


def _example(want: np.ndarray, got: np.ndarray) -> str:
    with np.errstate(invalid="ignore"):
        apart = np.abs(np.nan_to_num(want.astype("float64")) - np.nan_to_num(got.astype("float64")))
    at = np.unravel_index(int(np.argmax(apart)), want.shape)
    where = f" at {[int(i) for i in at]}" if at else ""
    return f"is {got[at]}{where}, should be {want[at]}"


def apart(
    want: Mapping[str, np.ndarray | None],
    got: Mapping[str, np.ndarray | None],
    what: str,
    times: float,
) -> Distance:
    """How far gradients or parameters are apart; one that is missing equals one of zeros.

    What is small beside the largest number of all of them is rounding: the gradient of a bias
    before a normalization is zero on paper.
    """
    known = [each for each in want.values() if each is not None and each.size]
    finite = [float(np.abs(each[np.isfinite(each)]).max(initial=0.0)) for each in known]
    floor = 1e-3 * max(finite, default=0.0)
    worst = 0.0
    for name in want:
        right, mine = want[name], got.get(name)
        if right is None and mine is None:
            continue
        if right is None or mine is None:
            there = mine if right is None else right
            assert there is not None
            right = np.zeros_like(there) if right is None else right
            mine = np.zeros_like(there) if mine is None else mine
        far = deviation(right, mine, floor)
        if far > times * TOLERANCE.get(str(right.dtype), 0.0):
            shapes = right.shape == mine.shape
            text = _example(right, mine) if shapes else f"has shape {mine.shape}, not {right.shape}"
            return Distance(f"{what} {name} {text} (deviation {far:.1e})")
        worst = max(worst, far)
    return Distance(deviation=worst)


def floats(value: object) -> list[paddle.Tensor]:
    """Every floating tensor in ``value``."""
    if isinstance(value, paddle.Tensor):
        return [value] if paddle.is_floating_point(value) else []
    found = []
    for _, part in children(value) or ():
        found += floats(part)
    return found
