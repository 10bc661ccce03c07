"""The constants of a program that is only run are made once (paddle_bridge.constants)."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.paddle_bridge.preparing import constants
from tests.helpers import assert_same, function_of, tensor

KEPT = {
    "scaled": ("x * 2.0 + 1.0", 2),
    "the same number twice": ("x * 3.0 + (x - 1) * 3.0", 2),
    "along an axis": ("x.reshape([2, 2]).sum(axis=1)", 2),
    "a slice": ("x.reshape([2, 2])[1:, :1]", 3),
    "clipped": ("x.clip(0.25, 2.5)", 2),
    "of two types": ("(x.astype('float64') * 0.1, x.astype('int64') + 7)", 2),
    "joined": ("paddle.concat([x, x], axis=0) * -0.0", 2),
    "compared": ("x > paddle.full([4], 1.5)", 1),
    "not a number": ("(x * float('inf'), x * float('nan'))", 2),
}

STAYING = {
    "handed out": "(x + 0, paddle.full([2], 3.0))",
    "written into": "paddle.full([4], 3.0).add_(x)",
    "a view": "paddle.full([4], 3.0).reshape([2, 2])",
    "large": f"x.sum() > paddle.full([{constants.LARGEST + 1}], 1.5)",
    "an integer that is no double": "x.astype('int64') > paddle.full([4], 2**53, 'int64')",
    "of half precision": "x.astype('float16') > paddle.full([4], 0.5, 'float16')",
}


def converted(body: str) -> tuple[Any, Any]:
    function = function_of(f"def f(x): return {body}")
    return function, d2s.to_static(function)


def kept_of(static: Any) -> list[Any]:
    """The constants of the one program that has run."""
    (entry,) = static._programs.entries
    return list(entry.runner.program._inference._constants._arrays.values())


@pytest.mark.parametrize("name", KEPT)
def test_constants_are_kept(name: str) -> None:
    """B1: with the value that the operation would make, on every run."""
    body, count = KEPT[name]
    function, static = converted(body)
    assert_same(function, (tensor(1.0, 2.0, 0.0, -3.0),), (tensor(0.5, 2.5, 1.5, 7.0),))
    with paddle.no_grad():
        for number in range(4):
            x = tensor(1.0, 2.0, 0.0, -3.0) + number
            for want, got in zip(flat(function(x)), flat(static(x)), strict=True):
                np.testing.assert_array_equal(got.numpy(), want.numpy(), strict=True)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(want.numpy()))
    assert len(kept_of(static)) == count


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", STAYING)
def test_others_stay(name: str) -> None:
    """C1: what somebody may write into, view or hold is made on every run."""
    function, static = converted(STAYING[name])
    x = tensor(1.0, 2.0, 0.0, -3.0)
    with paddle.no_grad():
        for _ in range(3):
            for want, got in zip(flat(function(x)), flat(static(x)), strict=True):
                np.testing.assert_array_equal(got.numpy(), want.numpy())
                got.zero_()
    values = [array for array in kept_of(static) if array.shape not in ((), (1,))]
    assert all(array.dtype == "int64" and array.ndim == 1 for array in values)  # shapes and axes


def test_those_of_loops_and_branches() -> None:
    """B2: a loop's are made before it, and once; what it begins with is its own."""
    text = """
    def f(x, n):
        i, total = paddle.zeros([], 'int64'), paddle.zeros([2])
        while i < n:
            total = total * 0.5 + x * 2.0
            if total.sum() > 3.0:
                total = total - 0.125
            i = i + 1
        return total, i
    """
    function = function_of(text)
    static = d2s.to_static(function)
    with paddle.no_grad():
        for n in (3, 0, 7, 3, 0, 1):
            given = tensor(1.0, -2.0), paddle.to_tensor(n)
            assert [each.tolist() for each in static(*given)] == [
                each.tolist() for each in function(*given)
            ]
    assert 0.5 in [array.item() for array in kept_of(static) if array.size == 1]


def test_equal_ones_are_one_without_the_pass_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """C1: each block has the names around it; minutes went by where each use had a constant."""
    monkeypatch.setattr("d2s.paddle_bridge.preparing.passes.merges_in_time", lambda program: False)
    text = """
    def f(x, n):
        i, total, zeros = paddle.zeros([], 'int64'), paddle.zeros([2]), paddle.zeros([2])
        far = paddle.full([2], 2**53, 'int64')
        while i < n:
            total = total * 0.5 + x * 0.5 + x[:1] * 0.5
            if total.sum() > 3.0:
                total = total * 0.5 - x[:1]
            zeros = total * 0.0 + (zeros * -0.0) * 0.0
            far = far + (i > paddle.full([2], 2**53, 'int64')).astype('int64')
            far = far + (i > paddle.full([2], 2**53 + 1, 'int64')).astype('int64')
            i = i + 1
        return total, 1.0 / zeros, far, i
    """
    function = function_of(text)
    static = d2s.to_static(function)
    with paddle.no_grad():
        for n in (3, 0, 7, 2**53 + 3, 1):
            given = tensor(1.0, -2.0), paddle.to_tensor(min(n, 9))
            for want, got in zip(function(*given), static(*given), strict=True):
                assert got.tolist() == want.tolist()
    kept = [array for array in kept_of(static) if array.dtype == "float32" and array.size == 1]
    assert sorted(array.item() for array in kept if array.item() > 0) == [0.5, 1.0, 3.0]


@pytest.mark.parametrize("megabytes", [0, 16])
def test_whatever_becomes_of_other_values(megabytes: int) -> None:
    """B1: also where values are given back as soon as they are read."""
    with d2s.options(keep_memory_mb=megabytes), paddle.no_grad():
        function, static = converted("((x * 2.0).exp() * 2.0 + 1.0).sum(axis=0) * 2.0")
        x = tensor(0.5, 0.25)
        assert [static(x + n).item() for n in range(5)] == [
            function(x + n).item() for n in range(5)
        ]


def test_in_several_threads() -> None:
    """I1: each scope has them."""
    _, static = converted("x * 2.0 + 1.0")
    seen: list[Any] = []

    def work(number: int) -> None:
        with paddle.no_grad():
            seen.extend((static(tensor(float(number))).item(), number) for _ in range(50))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert all(got == number * 2.0 + 1.0 for got, number in seen)


def test_none_with_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """K: operations of a GPU take some arguments from the memory of the CPU."""
    monkeypatch.setattr(paddle.device, "get_device", lambda: "gpu:0")
    _, static = converted("x * 2.0 + 1.0")
    with paddle.no_grad():
        assert static(tensor(3.0)).item() == 7.0
    assert kept_of(static) == []
