"""Which programs keep their values until a call ends; Paddle's flag is the user's again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import paddle
import pytest

import d2s
from d2s import config
from d2s.paddle_bridge import flags, names
from d2s.paddle_bridge.preparing.memory import Need, Room
from d2s.paddle_bridge.running import backward, runs
from d2s.paddle_bridge.walks import inside, operations
from tests.helpers import assert_same, tensor

FLAGS = names.core.globals()


@pytest.fixture(autouse=True)
def flag_is_the_users() -> Iterator[None]:
    """Whatever happens, Paddle's flag is what it was."""
    before = FLAGS[flags.DELETE]
    yield
    assert FLAGS[flags.DELETE] == before


def squares(x: Any) -> Any:
    return ((x * x).exp() * x).sum()


def program_of(*shape: int) -> Any:
    """Two values of float32: one of the shape, and its sum as float64."""
    program = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", shape, "float32")
            paddle.cast(x, "float64")
    finally:
        paddle.disable_static()
    return program


def test_all_values_count_and_open_dimensions_by_their_size() -> None:
    """G2: what a program takes while it gives nothing back."""
    programs = program_of(3, 5), program_of(-1, 5)
    fixed, opened = (Need(program.global_block().ops) for program in programs)
    assert not fixed.is_open
    assert fixed.bytes(7) == 3 * 5 * (4 + 8)
    assert opened.is_open
    assert opened.bytes(7) == 7 * 5 * (4 + 8)


def test_programs_with_blocks_never_keep() -> None:
    """B1, C1: a trip would write over what the last one has handed out."""
    paddle.enable_static()
    program = paddle.static.Program()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [4], "float32")
            assert Room(program, 1 << 20).always is True
            paddle.static.nn.while_loop(lambda x: x.sum() < 9, lambda x: [x + 1], [x])
    finally:
        paddle.disable_static()
    assert Room(program, 1 << 20).always is False


def test_what_blocks_compute_may_take_a_quarter() -> None:
    """G2: that is held as long as the program lives; the values around them until a call ends."""
    paddle.enable_static()
    program = paddle.static.Program()
    try:
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [100], "float32")
            paddle.static.nn.while_loop(lambda x: x.sum() < 9, lambda x: [x + 1], [x * 2])
            top = program.global_block().ops
            below = Need([each for operation in top for each in inside(operation)]).bytes(0)
            for limit, enough in ((4 * below, True), (4 * below - 1, False)):
                assert Room(program, limit, keeps_blocks=True).always is enough
            for _ in range(below // 10):
                x = x * 2
        whole = Need([*operations(program)]).bytes(0)
        assert whole > 4 * below
        for limit, enough in ((whole, True), (whole - 1, False)):
            assert Room(program, limit, keeps_blocks=True).always is enough
    finally:
        paddle.disable_static()


def test_what_fits_is_known_for_less_and_what_does_not_for_more() -> None:
    """G2: a warm call asks for the number of elements, nothing else."""
    room = Room(program_of(-1, 4), 1000)
    assert room.always is None
    assert room.suffices([paddle.zeros([8, 4])])
    assert not room.suffices([paddle.zeros([40, 4])])
    room._need = None  # type: ignore[assignment] - nothing is computed again
    assert room.suffices([paddle.zeros([2, 4])])
    assert not room.suffices([paddle.zeros([41, 4])])


def test_a_run_without_inputs_has_room() -> None:
    """G2."""
    assert Room(program_of(-1, 4), 1000).suffices([])
    assert Room(program_of(2, 4), 1000).always is True
    assert Room(program_of(2, 4), 95).always is False


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes when Paddle's flag is set for a program."""
    seen: list[str] = []
    enter = flags.KEEP.enter

    def noting() -> None:
        enter()
        seen.append(f"{FLAGS[flags.DELETE]}")

    monkeypatch.setattr(flags.KEEP, "enter", noting)
    return seen


def test_only_first_runs_set_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: forward and backward each once; both are prepared then."""
    seen = counted(monkeypatch)
    function = d2s.to_static(squares)
    with paddle.no_grad():
        function(tensor(1.0, 2.0))
        assert seen == ["-1.0"]
        function(tensor(1.0, 3.0))
        assert seen == ["-1.0"]
    for _ in range(3):
        x = tensor(1.0, 2.0)
        x.stop_gradient = False
        result = function(x)
        assert len(seen) >= 2
        result.backward()
        assert seen == ["-1.0"] * 3


def test_two_results_at_a_time_are_two_first_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """C7: each in a scope of its own."""
    seen = counted(monkeypatch)
    function = d2s.to_static(squares)
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    both = [function(x), function(x * 2)]
    assert len(seen) == 2
    for result in both:
        result.backward()
    assert 3 <= len(seen) <= 4
    want = tensor(1.0, 2.0)
    want.stop_gradient = False
    (squares(want) + squares(want * 2)).backward()
    assert x.grad.numpy() == pytest.approx(want.grad.numpy(), rel=1e-5)


@pytest.mark.parametrize("value", [1.0, 0.25, -1.0])
def test_a_flag_that_the_user_has_set_stays(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's global flag is his."""
    before = FLAGS[flags.DELETE]
    paddle.set_flags({flags.DELETE: value})
    try:
        seen = counted(monkeypatch)
        d2s.to_static(squares)(tensor(1.0, 2.0))
        assert seen == [f"{value}"]
        assert FLAGS[flags.DELETE] == value
    finally:
        paddle.set_flags({flags.DELETE: before})


@pytest.mark.parametrize("keep", [0, 16])
def test_the_option(keep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: 0 gives everything back."""
    seen = counted(monkeypatch)
    with config.options(keep_memory_mb=keep):
        d2s.to_static(squares)(tensor(1.0, 2.0))
    assert bool(seen) is (keep > 0)


def test_a_large_program_is_prepared_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """C7: also where a small one is differentiated in the same ``backward``."""
    seen = counted(monkeypatch)
    large, small = d2s.to_static(squares), d2s.to_static(lambda x: (x * x).sum())
    x, y = paddle.ones([3 << 20]), tensor(1.0, 2.0)
    x.stop_gradient = y.stop_gradient = False
    loss = small(y) + large(x)
    assert len(seen) == 1
    loss.backward()
    assert len(seen) == 2
    assert y.grad.tolist() == [2.0, 4.0]
    assert x.grad[:2].numpy() == pytest.approx([3 * 2.7182817] * 2, rel=1e-5)


@pytest.mark.parametrize(("keep", "waits"), [(0, 0.0), (4, 1 / 1024), (16, 4 / 1024)])
def test_a_large_program_gives_back_in_batches(
    keep: int, waits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G2: of a quarter of the limit, forward and backward; a small one of the same shape keeps."""
    seen: list[float] = []
    run = runs.run_program

    def noting(*given: Any) -> Any:
        seen.append(FLAGS[flags.DELETE])
        return run(*given)

    monkeypatch.setattr(runs, "run_program", noting)
    with config.options(keep_memory_mb=keep):
        function = d2s.to_static(squares)
        for size, want in ((3 << 20, waits), (3, -1.0 if keep else 0.0)):
            x = paddle.full([size], 0.5)
            x.stop_gradient = False
            result = function(x)
            assert seen.pop() == want
            result.backward()
            other = paddle.full([size], 0.5)
            other.stop_gradient = False
            squares(other).backward()
            assert x.grad[:2].tolist() == other.grad[:2].tolist()


def test_other_sizes_of_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: small runs keep, large ones do not, and small ones do again."""
    seen = counted(monkeypatch)
    function = d2s.to_static(squares)
    with paddle.no_grad():
        for size, first in ((3, 1), (5, 2), (3 << 20, 2), (7, 2), (1 << 20, 2)):
            got = function(paddle.full([size], 0.5))
            assert float(got) == pytest.approx(float(squares(paddle.full([size], 0.5))), rel=1e-3)
            assert len(seen) == first, size


def views(x: Any) -> Any:
    y = x * 2
    z = (x * 3).add_(y)
    return x, y, y.reshape([-1]), y[0], y.transpose([1, 0]), z, paddle.assign(y)


@pytest.mark.parametrize("training", [False, True])
def test_what_a_call_has_given_is_not_written_over(training: bool) -> None:
    """G2: by the next call, nor by its backward."""
    function = d2s.to_static(views)
    calls, want = [], []
    for number in range(4):
        x = paddle.full([3, 3], float(number + 1))
        x.stop_gradient = not training
        results = function(x)
        if training:
            paddle.add_n([result.sum() for result in results]).backward()
            calls.append([*results, x.grad])
        else:
            calls.append([*results])
        want.append([each.numpy().copy() for each in calls[-1]])
    for got, kept in zip(calls, want, strict=True):
        for one, other in zip(got, kept, strict=True):
            assert one.numpy().tolist() == other.tolist()


def exploding(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
    if x.max() > 90:
        raise ValueError("too large")
    return x


def grown(x: Any) -> Any:
    rows = []
    for row in x:
        rows.append(row * 2 if row.sum() > 0 else row)
    return paddle.stack(rows)


def nested(x: Any) -> Any:
    for _ in range(paddle.to_tensor(3)):
        y = x * 0.5
        while y.sum() > 0.3:
            y = y * 0.5
        x = x + y.sum()
    return x


@pytest.mark.parametrize("keep", [0, 16])
@pytest.mark.parametrize("function", [squares, exploding, grown, nested])
def test_meaning_is_the_same(function: Callable[..., Any], keep: int) -> None:
    """B1, C1, C7, F2: with the values kept and with the values given back."""
    with config.options(keep_memory_mb=keep):
        rows = [tensor([0.5, 0.25], [-1.0, 0.5]), tensor([1.0, 2.0], [3.0, 80.0])]
        assert_same(function, *((row,) for row in rows))


def test_ways_are_nested() -> None:
    """C7: what a host operator calls is prepared in its own way; A: then the flag is as before."""
    with flags.KEEPING:
        assert FLAGS[flags.DELETE] == -1.0
        with flags.returning(0, blocks=True):
            assert FLAGS[flags.DELETE] == 0.0
        assert FLAGS[flags.DELETE] == -1.0
    with flags.returning(0, blocks=True), flags.KEEPING_BLOCKS:
        assert FLAGS[flags.DELETE] == -1.0
        assert FLAGS[flags.INPLACE] is False


def test_blocks_give_back_in_every_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    """C7: of two results at a time, too, each of which is prepared in a scope of its own."""
    seen: list[float] = []
    enter = backward.RunScope.enter_backward

    def noting(self: Any) -> None:
        enter(self)
        seen.append(FLAGS[flags.DELETE])

    monkeypatch.setattr(backward.RunScope, "enter_backward", noting)
    users = FLAGS[flags.DELETE]
    paddle.set_flags({flags.DELETE: -1.0})
    function = d2s.to_static(lambda x: x * 2 if x.sum() > 0 else x.exp() * x)
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    both = [function(x), function(x * 3)]
    try:
        for result in both:
            result.sum().backward()
    finally:
        paddle.set_flags({flags.DELETE: users})
    batch = 4 / 5 / 1024  # of both sides, those of their gradients, and what is around them
    assert seen == [pytest.approx(batch, rel=1e-3)] * 2
    assert x.grad.tolist() == [8.0, 8.0]
