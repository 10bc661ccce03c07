"""Indices of arrays of the run: what NumPy would give for them, on a sample."""

from __future__ import annotations

import functools
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.host.text import HostText
from d2s.runtime.python.arrays.contents import RunArray, size_of
from d2s.runtime.values.callbacks import raise_where
from d2s.runtime.values.tensors import is_tensor, number_kind


def is_simple(key: object) -> bool:
    """Whether a key consists of whole numbers, slices, ``None`` and ``...``."""
    parts = key if type(key) is tuple else (key,)
    return all(map(_is_simple_part, parts))


def _is_simple_part(part: object) -> bool:
    if type(part) is slice:
        return all(
            item is None or (not isinstance(item, bool) and number_kind(item) is int)
            for item in (part.start, part.stop)
        ) and (part.step is None or (type(part.step) is int and part.step > 0))
    return part is None or part is Ellipsis or number_kind(part) is int


def sample_of(array: RunArray, key: object) -> Any:
    """What NumPy gives for a key, on a sample; it raises what NumPy raises."""
    parts = key if type(key) is tuple else (key,)
    plain = tuple(_sample_part(part) for part in parts)
    odd = 1 + max((_reach(part) for part in plain), default=0)
    return array.sample(odd=odd)[plain]


def _sample_part(part: object) -> Any:
    if type(part) is slice:
        return slice(*(None if is_tensor(p) else p for p in (part.start, part.stop, part.step)))
    return 0 if is_tensor(part) else part


def _reach(part: object) -> int:
    return abs(part) if type(part) is int else 0


def check_bounds(array: RunArray, key: object) -> None:
    """Let the run raise for an index out of bounds, in NumPy's words."""
    parts = key if isinstance(key, tuple) else (key,)
    axis = 0
    for part in parts:
        if part is None:
            continue
        if part is Ellipsis:
            axis += array.ndim - sum(p is not None and p is not Ellipsis for p in parts)
            continue
        if bridge.is_value(part):
            size = size_of(array.value, axis)
            outside = (part < -size) | (part >= size)
            raise_where(outside, functools.partial(_outside, part, axis, size))
        axis += 1


def _outside(index: paddle.Tensor, axis: int, size: object) -> IndexError:
    """What NumPy raises for an index that is out of bounds."""
    words = ((index, None, ""), f" is out of bounds for axis {axis} with size ", (size, None, ""))
    return IndexError(HostText(("index ", *words)))
