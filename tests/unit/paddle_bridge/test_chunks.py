"""C1: long programs, as unrolled loops make them, are cut into blocks and compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from d2s.paddle_bridge.preparing import chunks, memory, passes
from tests.helpers import tensor


@pytest.fixture(autouse=True)
def cuts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Long means little here; how many parts each program was cut into."""
    monkeypatch.setattr(chunks, "LEAST", 12)
    monkeypatch.setattr(chunks, "SIZE", 4)
    monkeypatch.setattr(chunks, "FEWEST", 2)
    monkeypatch.setattr(memory, "LONG", 12)
    made: list[int] = []

    def cut(program: Any) -> None:
        chunks.cut(program)
        made.append(sum(map(chunks.is_chunk, program.global_block().ops)))

    monkeypatch.setattr(passes, "cut", cut)
    return made


def line(x: Any) -> Any:
    y = x
    for k in range(8):
        y = (y * x + k).tanh()
    return y


def several(x: Any) -> Any:
    y = line(x)
    z = line(y) * 2
    return y, [z, (y + z).sum()], y > 0, x


def joined(x: Any) -> Any:
    parts = [line(x * k) for k in range(3)]
    both = paddle.concat(parts)
    a, b, c = paddle.split(line(both), 3)
    return paddle.stack([c, b, a]), paddle.meshgrid(a, b)


def branches(x: Any) -> Any:
    y = line(x)
    if y.sum() > 0:
        y = line(y) + 1
    while y.sum() < 9:
        y = line(y).abs() + y + 1
    return line(y)


def lists(x: Any) -> Any:
    kept = []
    y = line(x)
    while y.sum() < 4:
        y = y.abs() + 1
        kept.append(line(y))
    return line(paddle.stack(kept).sum(0)) if kept else y


def empties(x: Any) -> Any:
    y = line(x)
    none = y[y > 2.0]
    return none, line(paddle.concat([none, y]))


def drawn(x: Any) -> Any:
    y = line(x) + paddle.rand([3])
    return line(y * paddle.nn.functional.dropout(line(x), 0.5)) + paddle.randn([3])


def kinds(x: Any) -> Any:
    y = line(x)
    n = (y * 100).astype("int64")
    return line(y.astype("float64")), n * n + n - n, (y + 1j * y) * 2, y.astype("bfloat16") * 2


@pytest.mark.parametrize(
    "function",
    [line, several, joined, branches, lists, empties, drawn, kinds],
    ids=lambda f: f.__name__,
)
def test_runs_are_those_of_dygraph(function: Callable[[Any], Any], cuts: list[int]) -> None:
    run = d2s.to_static(function, full_graph=True)
    found, expected = [], []
    for values in ((0.1, -2.0, 3.0), (5.0, 0.5, -0.5), (-1.0, -1.0, -1.0), (0.1, -2.0, 3.0)):
        for each, results in ((run, found), (function, expected)):
            paddle.seed(3)
            results.append(each(tensor(*values)))
    # Compared when all have run: no run writes over what another one gave.
    for one, other in zip(found, expected, strict=True):
        pairs = zip(paddle.utils.flatten(one), paddle.utils.flatten(other), strict=True)
        for mine, theirs in pairs:
            assert mine.dtype == theirs.dtype
            assert mine.shape == theirs.shape
            assert mine.flatten().tolist() == pytest.approx(theirs.flatten().tolist(), rel=1e-6)
    assert max(cuts) > 1


def test_items_of_the_run_raise_what_they_raised(cuts: list[int]) -> None:
    def item(x: Any, k: Any) -> Any:
        return line(line(x)[k])

    run = d2s.to_static(item, full_graph=True)
    assert run(tensor(1.0, 2.0, 3.0), paddle.to_tensor(1)).item() == pytest.approx(
        item(tensor(1.0, 2.0, 3.0), paddle.to_tensor(1)).item()
    )
    assert max(cuts) > 1
    with pytest.raises((IndexError, ValueError)):
        run(tensor(1.0, 2.0, 3.0), paddle.to_tensor(7))


def test_open_sizes_may_be_none_so_the_program_stays_whole(cuts: list[int]) -> None:
    run = d2s.to_static(line, input_spec=[paddle.static.InputSpec([None], "float32")])
    for size in (3, 5, 2):
        x = paddle.linspace(-1, 1, size)
        assert run(x).numpy().tolist() == pytest.approx(line(x).numpy().tolist())
    assert max(cuts) == 0


def test_what_gradients_go_through_stays_whole(cuts: list[int]) -> None:
    found = []
    for f in (line, d2s.to_static(line, full_graph=True)):
        x = tensor(0.5, -1.0, 2.0)
        x.stop_gradient = False
        f(x).sum().backward()
        found.append(x.grad.numpy().tolist())
    assert found[0] == pytest.approx(found[1])
    assert not any(cuts)


def test_short_programs_stay_whole(cuts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "LEAST", 10_000)
    run = d2s.to_static(line, full_graph=True)
    run(tensor(1.0))
    assert not any(cuts)
