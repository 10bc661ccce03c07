"""Values of a program that are kept in Python stay that program's (rule C7)."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import paddle
import pytest

import d2s
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge import walks

_OWNED = 48
"""Where pybind11 notes, on a 64-bit machine, whether a Python object owns what it stands for."""


def is_owned(value: Any) -> bool:
    return bool(ctypes.c_uint8.from_address(id(value) + _OWNED).value & 1)


def cubed(x: Any) -> Any:
    return (x * x * x if x.sum() > 0 else x).sum()


def trained() -> Any:
    x = paddle.to_tensor([2.0], stop_gradient=False)
    d2s.to_static(cubed)(x).backward()
    return x.grad.item()


def test_what_is_kept_of_a_program_is_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """C7: a reference that outlives its block stands for a value of another program later."""
    kept: list[Any] = []
    given: list[bool] = []
    keywords = walks.keywords_of

    def noting(block: Any) -> dict[str, Any]:
        given.extend(is_owned(value) for value in block.kwargs().values())
        found = keywords(block)
        kept.extend(found.values())
        return found

    monkeypatch.setattr(walks, "keywords_of", noting)
    assert trained() == 12.0
    assert kept
    assert all(is_owned(value) for value in kept)
    assert not any(given)  # else there is nothing to copy


def test_no_reference_waits_for_the_garbage_collector() -> None:
    """C7: Paddle's list of the values of a program is part of a cycle."""
    gc.collect()
    gc.disable()
    try:
        assert trained() == 12.0
        left = [
            value
            for thing in gc.get_objects()
            if type(thing) is list
            for value in thing
            if type(value) is bridge.Value and not is_owned(value)
        ]
    finally:
        gc.enable()
    assert not left
