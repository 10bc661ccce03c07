"""Functions of Paddle that want a Python number, and are given one that the run knows (B3, A1)."""

from __future__ import annotations

from typing import Any

import paddle
import paddle.nn.functional as F
import pytest

import d2s
from tests.helpers import assert_same


def ranged(x: Any, low: Any, high: Any) -> Any:
    return paddle.histogram(x, bins=4, min=float(low), max=float(high))


def of_the_data(x: Any, low: Any, high: Any) -> Any:
    counts = x.histogram(5, float(x.min()), float(x.max()))
    return counts, counts.dtype, counts / counts.sum()


def in_a_branch(x: Any, low: Any, high: Any) -> Any:
    counts = paddle.zeros([3], "int64")
    if x.sum() > 0:
        counts = paddle.histogram(x, 3, max=float(high), min=float(low))
    return counts


def in_a_loop(x: Any, low: Any, high: Any) -> Any:
    counts = paddle.zeros([3], "int64")
    edge = float(low)
    while edge < high:
        counts = counts + paddle.histogram(x, 3, edge, edge + 1)
        edge += 1
    return counts


def of_whole_numbers(x: Any, low: Any, high: Any) -> Any:
    return paddle.histogram(x, 3, int(low), int(high))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("function", [ranged, of_the_data, in_a_branch, in_a_loop])
def test_a_histogram_between_numbers_of_the_run(function: Any, dtype: str) -> None:
    """B3: the counts, and their dtype, are those of Paddle's own operation."""
    static = d2s.to_static(function, full_graph=True)
    for values in ([1.0, 2.0, 3.0, 2.5], [-4.0, 0.1, 0.25, 0.5, 0.7, 9.0], [2.0, 2.0, 2.0]):
        x = paddle.to_tensor(values).astype(dtype)
        for low, high in ((0.0, 3.0), (-5.0, 10.0), (2.0, 2.0), (0.0, 0.0), (2.6, 2.9)):
            assert_same(function, x, paddle.to_tensor(low), paddle.to_tensor(high), static=static)


def test_a_histogram_of_edges_and_of_what_is_no_number() -> None:
    """B3: an item at the upper end is in the last bin; one that is none, or outside, in no one."""
    static = d2s.to_static(ranged, full_graph=True)
    for values in ([0.0, 0.25, 0.5, 0.75, 1.0], [float("nan"), 0.5], [float("inf"), 0.1, -9.0]):
        x = paddle.to_tensor(values)
        assert_same(ranged, x, paddle.to_tensor(0.0), paddle.to_tensor(1.0), static=static)
    static = d2s.to_static(of_whole_numbers, full_graph=True)
    for high in (7, 9, 3):
        x = paddle.arange(9)
        assert_same(of_whole_numbers, x, paddle.to_tensor(3), paddle.to_tensor(high), static=static)


@pytest.mark.parametrize("bounds", [(3.0, 1.0), (float("nan"), 1.0), (1.0, float("inf"))])
def test_a_histogram_without_a_range(bounds: tuple[float, float]) -> None:
    """F1: the run raises what Paddle's operation raises."""
    given = (paddle.to_tensor([1.0, 2.0]), *map(paddle.to_tensor, bounds))
    with pytest.raises(ValueError, match="max"):
        ranged(*given)
    with pytest.raises(ValueError, match="max"):
        d2s.to_static(ranged, full_graph=True)(*given)


def test_a_histogram_of_what_may_be_nothing() -> None:
    """A1: dygraph gives another dtype for no items, so this stays Paddle's own."""

    def positive(x: Any) -> Any:
        return paddle.histogram(x[x > 0], 3, 0, float(x.max()))

    with pytest.raises(d2s.errors.NotStaticError, match="D2S208"):
        d2s.to_static(positive, full_graph=True)(paddle.to_tensor([1.0, -2.0]))
    static = d2s.to_static(positive, full_graph=False)
    for values in ([1.0, -2.0], [3.0, 4.0]):
        assert_same(positive, paddle.to_tensor(values), static=static)


def turned(x: Any, k: Any) -> Any:
    return paddle.rot90(x, int(k))


def turned_back(x: Any, k: Any) -> Any:
    y = x * 2
    return y.rot90(-int(k), axes=[-1, -2]) + 1


def turned_in_a_loop(x: Any, k: Any) -> Any:
    rows = x
    for _ in range(int(k)):
        rows = paddle.rot90(rows, k=int(k) + 1)
    return rows


@pytest.mark.parametrize("size", [(3, 3), (2, 3)])
@pytest.mark.parametrize("function", [turned, turned_back])
def test_a_turn_that_the_run_decides(function: Any, size: tuple[int, int]) -> None:
    """B3: each number of turns has its shape, its gradient and, for none, the tensor itself."""
    static = d2s.to_static(function, full_graph=True)
    for k in (0, 1, 2, 3, 4, 7, -1, -6):
        x = paddle.arange(size[0] * size[1], dtype="float32").reshape(size)
        assert_same(function, x, paddle.to_tensor(k), static=static)
        results = []
        for run in (function, static):
            given = x.clone().detach()
            given.stop_gradient = False
            (run(given, paddle.to_tensor(k)) * x.reshape([-1])[:1]).square().sum().backward()
            results.append(given.grad.tolist())
        assert results[0] == results[1]


def test_turns_in_a_loop() -> None:
    """B3: also where the trips turn."""
    static = d2s.to_static(turned_in_a_loop, full_graph=True)
    for k in (0, 1, 2, 3):
        x = paddle.arange(9, dtype="float32").reshape([3, 3])
        assert_same(turned_in_a_loop, x, paddle.to_tensor(k), static=static)


def test_a_tensor_that_is_not_turned_is_itself() -> None:
    """G3: no turn makes no tensor, so that a change of the one is one of the other."""

    def changed(x: Any, k: Any) -> Any:
        y = x + 1
        z = paddle.rot90(y, int(k))
        z.scale_(2.0)
        return y, z

    static = d2s.to_static(changed, full_graph=True)
    for k in (0, 1, 4):
        assert_same(changed, paddle.ones([2, 2]), paddle.to_tensor(k), static=static)


def causal(x: Any, k: Any) -> Any:
    n = int(k)
    return paddle.tril(x, diagonal=n), x.triu(n - 1), paddle.triu(x > 0, n)


def masked(x: Any, k: Any) -> Any:
    size = x.shape[-1]
    mask = paddle.triu(paddle.full([size, size], -1e9), int(k))
    return F.softmax(x + mask, axis=-1)


@pytest.mark.parametrize("function", [causal, masked])
def test_triangles_that_the_run_decides(function: Any) -> None:
    """B3: every diagonal, of every size, with what is no number left out."""
    static = d2s.to_static(function, full_graph=True)
    for size in ([3, 3], [2, 4, 4], [5, 5]):
        for k in (-2, 0, 1, 9):
            x = paddle.rand(size)
            x[..., -1, 0] = float("nan") if function is causal else 0.0
            assert_same(function, x, paddle.to_tensor(k), static=static)


def larger(x: Any, k: Any) -> Any:
    return F.interpolate(x, scale_factor=int(k) + 1), F.upsample(x, scale_factor=float(k) * 0.5 + 1)


def test_a_factor_that_the_run_decides() -> None:
    """B3: a whole number of the run is a factor, too."""
    static = d2s.to_static(larger, full_graph=True)
    for k in (1, 2, 1):
        x = paddle.arange(8, dtype="float32").reshape([1, 2, 2, 2])
        assert_same(larger, x, paddle.to_tensor(k), static=static)
