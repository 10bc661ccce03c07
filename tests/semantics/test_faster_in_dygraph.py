"""Functions that are one program and take longer than in dygraph run there, under the default.

No test measures: the times of calls are what the test says.
"""

from __future__ import annotations

import asyncio
import logging

import paddle
import pytest

import d2s
from d2s.program.islands import whole
from d2s.program.running import failures
from tests.helpers import assert_same, tensor

MANY = 60
"""Calls after which it is decided."""


@pytest.fixture(autouse=True)
def tried():
    with d2s.options(try_dygraph=True, full_graph=False):
        yield


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs take twice as long as dygraph."""
    _times(monkeypatch, 2.0, 1.0)


def _times(monkeypatch: pytest.MonkeyPatch, program_s: float, dygraph_s: float) -> None:
    """Let each call take so long, and nothing happen between calls."""
    end, begin = whole.Kind.end, whole.Kind.begin
    now = [0.0]

    def begins(kind, _, *, program):
        begin(kind, now[0], program=program)
        now[0] += program_s if program else dygraph_s

    def ends(kind, took, entries, *, program, captured):
        took = took and (program_s if program else dygraph_s)
        return end(kind, took, entries, program=program, captured=captured)

    monkeypatch.setattr(whole.Kind, "begin", begins)
    monkeypatch.setattr(whole.Kind, "end", ends)


class Counted:
    """A function that counts how often Python runs it: in dygraph, and while it is captured."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += paddle.in_dynamic_mode()
        return self.function(*args, **kwargs)


def counted(function):
    """``function`` under the default, and what counts its calls in dygraph."""
    inner = Counted(function)
    static = d2s.to_static(lambda *args, **kwargs: inner(*args, **kwargs))
    return static, inner


def small(x):
    return paddle.tanh(x) * 2


@pytest.mark.parametrize(("program", "rests"), [(0.5, False), (1.0, False), (1.1, True), (3, True)])
def test_what_is_slower_runs_in_dygraph(monkeypatch, program, rests) -> None:
    """H3: some calls are made each way, and then all of them the faster one."""
    _times(monkeypatch, program, 1.0)
    static = d2s.to_static(small)
    x = tensor(1.0, 2.0)
    for _ in range(MANY):
        assert static(x).tolist() == small(x).tolist()
    assert static.rests is rests
    assert ("in dygraph" in repr(static)) is rests
    before = static.programs[0].runs
    static(x)
    assert static.programs[0].runs == before + (not rests)


def test_both_are_tried_again_later(monkeypatch, slow) -> None:
    """H3: what is slower once need not stay so."""
    monkeypatch.setattr(whole, "RESTING", 8)
    static = d2s.to_static(small)
    x = tensor(1.0, 2.0)
    for _ in range(MANY):
        static(x)
    before = static.programs[0].runs
    for _ in range(MANY):
        static(x)
    assert static.programs[0].runs > before


@pytest.mark.parametrize("how", ["option", "full_graph"])
def test_not_where_programs_are_asked_for(slow, how) -> None:
    """H3: ``full_graph=True``, or the option, leaves all calls to programs."""
    static = d2s.to_static(small, full_graph=True if how == "full_graph" else None)
    with d2s.options(try_dygraph=how != "option"):
        for _ in range(MANY):
            static(tensor(1.0, 2.0))
    assert not static.rests
    assert static.programs[0].runs == MANY


def test_effects_and_state_once_and_in_order(slow, capsys) -> None:
    """F1: each call happens once, the one way or the other."""
    seen = []

    class Counter:
        count = 0
        total = paddle.zeros([2])

        def step(self, x):
            self.count += 1
            self.total = self.total + x * self.count
            seen.append(self.count)
            print(self.count)
            return self.total

    counter, plain = Counter(), Counter()
    static = d2s.to_static(counter.step)
    x = tensor(1.0, 2.0)
    for number in range(1, MANY):
        assert static(x).tolist() == plain.step(x).tolist()
        assert seen[-2:] == [number, number]
    assert static.rests
    assert capsys.readouterr().out.split() == [str(n) for n in range(1, MANY) for _ in range(2)]


def draws(x):
    return paddle.tanh(x) + paddle.rand([2])


def test_random_numbers_stay_those_of_programs(slow) -> None:
    """F4: a program draws other numbers than dygraph does, so time must not decide which."""
    static = d2s.to_static(draws)
    for _ in range(MANY):
        static(tensor(1.0, 2.0))
    assert not static.rests
    assert static.programs[0].runs == MANY


class Dropping(paddle.nn.Layer):
    def forward(self, x, sample=False):
        x = paddle.nn.functional.dropout(x, 0.5, training=self.training)
        return x + paddle.rand([2]) if sample else paddle.tanh(x)


@pytest.mark.parametrize("how", ["train", "flag"])
def test_other_modes_and_flags_are_another_kind_of_call(slow, how) -> None:
    """F4: a call that draws is not left to dygraph because those that do not draw are."""
    layer = d2s.to_static(Dropping())
    x = paddle.ones([2])
    layer.eval()
    for _ in range(MANY):
        layer(x)
    assert layer.forward.rests
    if how == "train":
        layer.train()
    before = len(layer.forward.programs)
    layer(x, sample=how == "flag")
    assert len(layer.forward.programs) == before + 1
    assert layer.forward.programs[-1].runs == 1


@pytest.mark.parametrize(("program", "rests"), [(0.5, False), (2.0, True)])
def test_the_time_of_the_backward_counts(monkeypatch, program, rests) -> None:
    """H3: where a backward comes, what counts is all from one call to the next one."""
    begin, now = whole.Kind.begin, [0.0]

    def begins(kind, _, *, program):
        begin(kind, now[0], program=program)
        now[0] += times[program]

    times = {True: program, False: 1.0}
    monkeypatch.setattr(whole.Kind, "begin", begins)
    static = d2s.to_static(small)
    for _ in range(MANY):
        x, y = tensor(1.0, 2.0), tensor(1.0, 2.0)
        for each, function in ((x, static), (y, small)):
            each.stop_gradient = False
            function(each).sum().backward()
        assert x.grad.tolist() == y.grad.tolist()
    assert static.rests is rests


def test_a_backward_is_waited_for(slow) -> None:
    """H3: results that may be gone back through are not timed before one may have come."""
    static = d2s.to_static(small)
    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    results = [static(x) for _ in range(20)]
    assert static.programs[0].runs == 20
    paddle.add_n(results).sum().backward()
    assert x.grad.tolist() == pytest.approx([20 * 2 * (1 - t * t) for t in paddle.tanh(x).tolist()])


@pytest.mark.parametrize("make", [paddle.optimizer.SGD, paddle.optimizer.Adam])
def test_a_training_step_that_is_slower_runs_in_dygraph(slow, make) -> None:
    """H3, F3: weights and accumulators go on from one way to the other."""

    def trained(convert):
        paddle.seed(3)
        net = paddle.nn.Linear(2, 1)
        optimizer = make(0.01, parameters=net.parameters())

        def step(x):
            loss = net(x).tanh().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return convert(step), net

    (plain, wanted), (static, net) = trained(lambda step: step), trained(d2s.to_static)
    x = tensor(0.5, -1.0).reshape([1, 2])
    for _ in range(MANY):
        assert static(x).item() == pytest.approx(plain(x).item(), rel=1e-5, abs=1e-6)
    assert static.rests
    assert net.weight.numpy() == pytest.approx(wanted.weight.numpy(), rel=1e-5)


def test_a_call_of_another_one_that_is_timed_does_not_count(slow) -> None:
    """H3: what a call takes is not known before what it calls is decided."""
    inner = d2s.to_static(small)
    outer = d2s.to_static(lambda x: inner(x) + 1)
    x = tensor(1.0, 2.0)
    for _ in range(3 * MANY):
        assert outer(x).tolist() == (small(x) + 1).tolist()
    assert inner.rests
    assert outer.rests


def test_an_exception_is_the_users(slow) -> None:
    """F1: from whatever way the call took."""

    def checked(x, limit=None):
        if limit is not None and x.sum() > limit:
            raise ValueError("too large")
        return x * 2

    static = d2s.to_static(checked)
    for _ in range(MANY):
        with pytest.raises(ValueError, match="too large"):
            static(tensor(1.0, 2.0), limit=1.0)
        assert_same(checked, tensor(1.0, 2.0), static=static)


def test_a_failed_operation_whose_line_nobody_knows(slow, monkeypatch) -> None:
    """A1: the exception is dygraph's; it was said to be a defect of d2s, as on Paddle 3.2."""

    def f(x):
        y = x[x > 0]
        if x.sum() > 0:
            y = paddle.matmul(y, paddle.ones([5, 5]))
        return y

    monkeypatch.setattr(failures, "_places", lambda _: [])
    monkeypatch.setattr(failures, "places_of", lambda _: [])
    static = d2s.to_static(f)
    for _ in range(3):
        with pytest.raises(ValueError, match="must be equal to"):
            static(tensor(1.0, 2.0))


def test_a_coroutine_is_not_tried(slow) -> None:
    """A4: to make a coroutine takes no time."""

    @d2s.to_static
    async def later(x):
        return x * 2

    for _ in range(MANY):
        assert asyncio.run(later(tensor(1.0))).tolist() == [2.0]
    assert not later.rests


def test_what_is_saved_and_checked_are_programs(slow, tmp_path) -> None:
    """G3: ``save`` and ``check`` are about programs, wherever calls run."""
    static = d2s.to_static(small)
    x = tensor(1.0, 2.0)
    for _ in range(MANY):
        static(x)
    assert static.rests
    assert d2s.check(static, x)
    d2s.save(static, str(tmp_path / "small"), input_spec=[paddle.static.InputSpec([2])])
    assert d2s.load(str(tmp_path / "small"))(x).tolist() == small(x).tolist()


def test_it_is_told_of(slow, caplog) -> None:
    """H3: the log says that calls run in dygraph."""
    static = d2s.to_static(small)
    d2s.set_log_level("info", "islands")
    try:
        with caplog.at_level(logging.INFO, "d2s.islands"):
            for _ in range(MANY):
                static(tensor(1.0, 2.0))
    finally:
        d2s.set_log_level("off", "islands")
    assert [each.message for each in caplog.records if "programs take longer" in each.message]
