"""Results of two peers as arrays, and the first thing in which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from d2s.runtime.values.tree import children, is_dataclass_instance, is_mapping, is_sequence

Array: TypeAlias = "np.ndarray[Any, Any]"

RTOL: Final = 1e-4
ATOL: Final = 1e-5
"""A program may add in another order than dygraph does; what it computes is the same."""


def arrays(result: Any) -> list[Array | None]:
    """The leaves of a result; of an object that is no value, its type.

    >>> arrays({"b": [1, None], "a": (2.5,)})
    [array(2.5), array(1), None]
    """
    if is_mapping(result):
        return arrays([result[key] for key in sorted(result, key=str)])
    if is_sequence(result) or is_dataclass_instance(result):
        return [leaf for part in children(result) for leaf in arrays(part)]
    if result is None:
        return [None]
    is_value = hasattr(result, "__array__") or isinstance(
        result, bool | int | float | complex | str
    )
    return [np.array(result if is_value else type(result).__name__)]


def differ(mine: Sequence[Array | None], theirs: Sequence[Array | None]) -> str:
    """In words, the first thing that ``mine`` has different; empty if nothing.

    >>> differ(arrays([1.0, 2.0]), arrays([1.0, 2.5]))
    'value 1 is off by 0.5'
    """
    if len(mine) != len(theirs):
        return f"{len(mine)} values, should be {len(theirs)}"
    for index, (left, right) in enumerate(zip(mine, theirs, strict=True)):
        found = _differ(left, right)
        if found:
            return f"value {index} {found}"
    return ""


def _differ(left: Array | None, right: Array | None) -> str:
    if left is None or right is None:
        if left is right:
            return ""
        return "is missing" if left is None else "is there, should not be"
    if left.shape != right.shape:
        return f"has shape {left.shape}, should be {right.shape}"
    if not _is_number(left) or not _is_number(right):
        same = left.dtype.kind == right.dtype.kind and bool((left == right).all())
        return "" if same else "is something else"
    if np.allclose(left, right, RTOL, ATOL, equal_nan=True):
        return ""
    with np.errstate(invalid="ignore"):
        return f"is off by {float(np.nanmax(np.abs(left - right.astype(left.dtype)))):.2g}"


def _is_number(array: Array) -> bool:
    return array.dtype.kind in "iufc"
