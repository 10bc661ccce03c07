"""Loops that train keep what their gradients read; small ones are computed again (G2, C7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

import d2s
from d2s import config
from d2s.paddle_bridge.running import keeping, runs
from tests.helpers import scalar


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[keeping.Kept | None]:
    """What forwards have kept; ``None`` for those that are to be computed again."""
    found: list[keeping.Kept | None] = []
    run = runs.Program.run_keeping

    def noting(self: Any, *given: Any) -> Any:
        made = run(self, *given)
        found.append(None if made is None else made[1])
        return made

    monkeypatch.setattr(runs.Program, "run_keeping", noting)
    return found


@pytest.fixture
def all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trips of any size are kept."""
    monkeypatch.setattr(keeping, "LEAST", 0)


def recurrence(x: Any, w: Any, n: Any) -> Any:
    for _ in range(n):
        x = paddle.tanh(x @ w) + x * 0.5
    return x.square().sum()


def with_branches(x: Any, w: Any, n: Any) -> Any:
    i = paddle.zeros([], "int64")
    while i < n:
        y = x @ w
        if y.sum() > 0:
            y = y * y
        elif i > 1:
            y = y.exp() - x
        x = x * 0.5 + y * 0.1
        i = i + 1
    return paddle.concat([x, x * 2]).square().mean()


def nested(x: Any, w: Any, n: Any) -> Any:
    for i in range(n):
        y = x * 0.5
        for _ in range(i + 1):
            y = paddle.sin(y @ w)
        while y.abs().max() > 0.3:
            y = y * 0.7
        x = x + y
    return (x * x).sum()


def left_early(x: Any, w: Any, n: Any) -> Any:
    for _ in range(n):
        x = x @ w + x
        if x.abs().sum() > 4:
            break
    else:
        x = x * 3
    return x.sum() + (x * x).mean()


def before_and_behind(x: Any, w: Any, n: Any) -> Any:
    a = F.softmax(x, axis=-1)
    b = paddle.stack([a, a * 2])
    for _ in range(n):
        x = x * a + (x @ w) * b[1]
    return (x * b.sum(axis=0)).sum() / (1 + a.max())


def of_open_size(x: Any, w: Any, n: Any) -> Any:
    row = x[: n - 1]
    for _ in range(n):
        row = paddle.tanh(row @ w) * row
    return row.sum()


def in_a_branch(x: Any, w: Any, n: Any) -> Any:
    if x.sum() > -100:
        for _ in range(n):
            x = x * (x @ w)
    return x.sum()


def collected(x: Any, w: Any, n: Any) -> Any:
    rows = []
    for _ in range(n):
        x = paddle.tanh(x @ w)
        rows.append(x)
    return paddle.stack(rows).square().sum()


def two_lists(x: Any, w: Any, n: Any) -> Any:
    rows, norms = [x], []
    for _ in range(n):
        x = paddle.tanh(x @ w)
        if x.sum() > 0:
            rows.append(x * 2)
        norms.append(x.norm())
    return paddle.concat(rows).square().sum() + paddle.stack(norms).max() + rows[-1].mean()


def read_back(x: Any, w: Any, n: Any) -> Any:
    rows = []
    for _ in range(n):
        x = paddle.tanh(x @ w)
        rows.append(x)
    for row in rows:
        x = x * row
    return x.sum() + rows[1].sum()


def lists_in_a_loop(x: Any, w: Any, n: Any) -> Any:
    for _ in range(n):
        rows = []
        for _ in range(n):
            x = paddle.tanh(x @ w)
            rows.append(x)
        x = paddle.stack(rows).mean(0)
    return x.sum()


def of_three(x: Any, w: Any, n: Any) -> Any:
    for _ in range(n):
        x = paddle.einsum("ij,jk,kl->il", x, w, x) * 0.1
    return x.sum()


KEPT = [
    recurrence, with_branches, nested, left_early, before_and_behind, of_open_size, in_a_branch,
    collected, two_lists,
]  # fmt: skip


def gradients(function: Callable[..., Any], calls: int = 3) -> list[Any]:
    found = []
    for number in range(calls):
        rng = np.random.RandomState(number)
        x, w = (paddle.to_tensor(rng.randn(3, 3).astype("float32") * 0.5) for _ in range(2))
        x.stop_gradient = w.stop_gradient = False
        result = function(x, w, scalar(2 + number))
        result.backward()
        found += [result.numpy(), x.grad.numpy(), w.grad.numpy()]
    return found


def same(one: list[Any], other: list[Any]) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("function", KEPT, ids=lambda function: function.__name__)
@pytest.mark.usefixtures("all_kept")
def test_gradients_of_what_is_kept(
    function: Callable[..., Any], ways: list[keeping.Kept | None]
) -> None:
    """C7: nothing runs again, the gradients are those of dygraph, and nothing stays behind."""
    same(gradients(d2s.to_static(function, full_graph=True)), gradients(function))
    assert len(ways) == 3
    assert all(kept is not None and not any(kept.lists) for kept in ways)


@pytest.mark.parametrize(
    "function", [lists_in_a_loop, of_three], ids=lambda function: function.__name__
)
@pytest.mark.usefixtures("all_kept")
def test_what_no_list_can_keep_runs_again(
    function: Callable[..., Any], ways: list[keeping.Kept | None]
) -> None:
    """C7: an array that a loop saves, results that a kernel leaves empty."""
    same(gradients(d2s.to_static(function, full_graph=True)), gradients(function))
    assert ways == [None] * 3


@pytest.mark.usefixtures("all_kept")
def test_a_list_that_is_read_back() -> None:
    """C7: whether kept or not, the gradients are those of dygraph."""
    same(gradients(d2s.to_static(read_back, full_graph=True)), gradients(read_back))


def test_small_trips_run_again_and_large_ones_are_kept(ways: list[keeping.Kept | None]) -> None:
    """G2: one program does both, by the sizes of a run."""
    static = d2s.to_static(recurrence, full_graph=True)
    for size, kept in ((3, False), (200, True), (4, False)):
        found = []
        for function in (static, recurrence):
            x, w = paddle.full([size, size], 0.1), paddle.full([size, size], 0.01)
            x.stop_gradient = False
            function(x, w, scalar(3)).backward()
            found.append(x.grad.numpy())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
        assert (ways.pop() is not None) is kept


@pytest.mark.usefixtures("all_kept")
def test_the_option(ways: list[keeping.Kept | None]) -> None:
    """G2: less memory, more time."""
    with config.options(recompute=True):
        same(gradients(d2s.to_static(recurrence, full_graph=True)), gradients(recurrence))
    assert not ways


@pytest.mark.usefixtures("all_kept")
def test_without_gradients_nothing_is_kept(ways: list[keeping.Kept | None]) -> None:
    """C7."""
    with paddle.no_grad():
        d2s.to_static(recurrence, full_graph=True)(
            paddle.ones([2, 2]), paddle.ones([2, 2]), scalar(2)
        )
    assert not ways


@pytest.mark.usefixtures("all_kept")
def test_gradients_of_other_results_than_before(ways: list[keeping.Kept | None]) -> None:
    """C7: what is kept for two results does not do for one of them."""

    def two(x: Any, n: Any) -> Any:
        y = x
        for _ in range(n):
            x, y = x * y, x.sin() + y
        return x.sum(), y.sum()

    static = d2s.to_static(two, full_graph=True)
    for which in ([0, 1], [1], [1], [1], [0], [0, 1]):
        found = []
        for function in (static, two):
            x = paddle.to_tensor([0.5, -1.5], stop_gradient=False)
            results = function(x, scalar(3))
            sum(results[at] for at in which).backward()
            found.append(x.grad.numpy())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert None not in ways


@pytest.mark.usefixtures("all_kept")
def test_a_mask_of_the_forward_is_that_of_its_gradient(ways: list[keeping.Kept | None]) -> None:
    """F2, C7: and the generator goes on as if nothing had been drawn again."""

    def dropped(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = F.dropout(x, 0.5, training=True) * 1.5
        return x

    static = d2s.to_static(dropped, full_graph=True)
    for _ in range(3):
        x = paddle.ones([64])
        x.stop_gradient = False
        result = static(x, scalar(2))
        states = paddle.get_rng_state()
        ahead = paddle.rand([3]).tolist()
        paddle.set_rng_state(states)
        result.sum().backward()
        assert x.grad.tolist() == result.tolist()
        assert paddle.rand([3]).tolist() == ahead
    assert None not in ways


class Normed(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm = paddle.nn.BatchNorm1D(3)
        self.linear = paddle.nn.Linear(3, 3)

    def forward(self, x: Any, n: Any) -> Any:
        x = self.norm(x)
        for _ in range(n):
            x = paddle.tanh(self.linear(x)) + x
        return self.norm(x).square().sum(axis=0)[0]


@pytest.mark.usefixtures("all_kept")
def test_running_statistics_move_once(ways: list[keeping.Kept | None]) -> None:
    """F3, C7: what is written and not read does not stand in the way."""
    found = []
    for convert in (False, True):
        paddle.seed(1)
        layer = Normed()
        run = d2s.to_static(layer, full_graph=True) if convert else layer
        seen = []
        for number in (1, 2, 3):
            x = paddle.to_tensor(np.random.RandomState(number).randn(4, 3).astype("float32"))
            run(x, scalar(number)).backward()
            seen += [layer.linear.weight.grad.numpy(), layer.norm.weight.grad.numpy()]
            seen += [layer.norm._mean.numpy(), layer.norm._variance.numpy()]
            layer.clear_gradients()
        found.append(seen)
    same(*found)
    assert len(ways) == 3
    assert None not in ways


@pytest.mark.usefixtures("all_kept")
def test_output_is_printed_once(
    ways: list[keeping.Kept | None], capsys: pytest.CaptureFixture[str]
) -> None:
    """F1."""

    def printing(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * x
            print(f"{float(x.sum()):.2f}")
        return x.sum()

    static = d2s.to_static(printing, full_graph=True)
    x = paddle.to_tensor([2.0], stop_gradient=False)
    static(x, scalar(2)).backward()
    assert capsys.readouterr().out == "4.00\n16.00\n"
    assert x.grad.tolist() == [32.0]
    assert None not in ways


@pytest.mark.usefixtures("all_kept")
def test_a_run_that_ends_with_an_exception(ways: list[keeping.Kept | None]) -> None:
    """F3: what it had kept is gone; the next run is right."""

    def checked(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * x
            assert x.sum() < 100, "too large"
        return x.sum()

    static = d2s.to_static(checked, full_graph=True)
    for value, raises in ((1.5, False), (20.0, True), (1.5, False)):
        x = paddle.to_tensor([value], stop_gradient=False)
        if raises:
            with pytest.raises(AssertionError, match="too large"):
                static(x, scalar(3))
        else:
            static(x, scalar(2)).backward()
            assert x.grad.tolist() == pytest.approx([4 * value**3])
    assert all(kept is not None and not any(kept.lists) for kept in ways)


@pytest.mark.usefixtures("all_kept")
def test_several_runs_before_their_backwards(ways: list[keeping.Kept | None]) -> None:
    """C7: each has what it has kept, and changes of the arguments behind it are not seen."""
    static = d2s.to_static(recurrence, full_graph=True)
    found = []
    for function in (static, recurrence):
        x, w = paddle.full([2, 2], 0.3), paddle.full([2, 2], 0.2)
        x.stop_gradient = w.stop_gradient = False
        results = [function(x * k, w, scalar(k + 1)) for k in (1, 2, 3)]
        for result in reversed(results):
            result.backward()
        found.append([x.grad.numpy(), w.grad.numpy()])
    same(*found)
    assert len(ways) == 3
