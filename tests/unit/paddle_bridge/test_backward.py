"""What a backward holds while it goes through our programs: a scope, and the gate (rule G4)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import d2s
from d2s.paddle_bridge import gate
from d2s.paddle_bridge.running import backward
from tests.helpers import tensor


def leaf(*numbers: float) -> Any:
    x = tensor(*numbers)
    x.stop_gradient = False
    return x


def square(x: Any) -> Any:
    return (x * x).sum()


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[backward.RunScope]:
    """The scopes that a backward came to."""
    seen: list[backward.RunScope] = []
    enter = backward.RunScope.enter_backward

    def noting(self: backward.RunScope) -> None:
        enter(self)
        seen.append(self)

    monkeypatch.setattr(backward.RunScope, "enter_backward", noting)
    return seen


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a thread that waits for it waits until the test fails."""
    monkeypatch.setattr(gate._Gate, "PATIENCE", None)


def test_nobody_else_runs_the_program_meanwhile(entered: list[backward.RunScope]) -> None:
    """G4: Paddle calls a scope reusable before it has cleared it."""
    static = d2s.to_static(square)
    x, order = leaf(1.0, 2.0), []
    y = x * 3

    def other() -> None:
        static(leaf(5.0, 6.0))
        order.append("other")

    def hook(gradient: Any) -> None:
        assert entered[0].is_free
        thread.start()
        thread.join(0.3)
        order.append("hook")

    thread = threading.Thread(target=other)
    y.register_hook(hook)
    for _ in range(2):
        order.clear()
        thread = threading.Thread(target=other)
        static(y).backward(retain_graph=True)
        thread.join(30)
        assert order == ["hook", "other"]
    assert x.grad.tolist() == [36.0, 72.0]


def test_the_first_backward_is_alone(entered: list[backward.RunScope]) -> None:
    """G4: Paddle prepares the gradients for a scope then; later ones go on side by side."""
    static = d2s.to_static(square)
    closed, busy = [], []

    def hook(gradient: Any) -> None:
        me = threading.get_ident()
        closed.append(gate.GATE.closed_by == me)
        busy.append(me in gate.GATE.busy)

    for _ in range(3):
        x = leaf(1.0, 2.0)
        y = x * 3
        y.register_hook(hook)
        static(y).backward()
    assert len({id(scope) for scope in entered}) == 1
    assert closed == [True, False, False]
    assert busy == [False, True, True]
    assert gate.GATE.closed_by is None
    assert not gate.GATE.busy


def test_a_backward_that_fails_lets_go(entered: list[backward.RunScope]) -> None:
    """G4: and the next one is alone once more."""
    static = d2s.to_static(square)
    closed = []

    def hook(gradient: Any) -> None:
        closed.append(gate.GATE.closed_by is not None)
        if len(closed) == 1:
            raise ValueError("the hook's")

    for call in range(3):
        x = leaf(1.0, 2.0)
        y = x * 3
        y.register_hook(hook)
        if call:
            static(y).backward()
        else:
            with pytest.raises(Exception, match="the hook's"):
                static(y).backward()
            assert gate.GATE.closed_by is None
            assert not gate.GATE.busy
    assert closed == [True, True, False]


def test_two_programs_one_after_the_other(entered: list[backward.RunScope]) -> None:
    """G4: the first one's lock is given back when the second one's gradients run."""
    first, second = d2s.to_static(square), d2s.to_static(lambda x: x.exp())
    x = leaf(1.0, 2.0)
    y, owned = x * 1, []
    y.register_hook(lambda gradient: owned.append([scope._lock._is_owned() for scope in entered]))
    first(second(y)).backward()
    assert owned == [[False, True]]
    assert x.grad.tolist() == pytest.approx((2 * (2 * x).exp()).tolist())


def test_hooks_may_convert_call_and_go_back(entered: list[backward.RunScope]) -> None:
    """G4, G1: what a hook calls gets the gate; the backward that goes on has it again after it."""
    seen: list[Any] = []

    def hook(gradient: Any) -> None:
        other = leaf(2.0)
        d2s.to_static(lambda x: (x * x * x if x.sum() > 0 else x).sum())(other).backward()
        seen.append((other.grad.item(), backward.BACKWARD.within))

    static = d2s.to_static(square)
    for call in range(2):
        x = leaf(1.0, 2.0)
        y = x * 3
        result = static(y)
        result.register_hook(hook)  # comes after ours, before the program's gradients
        result.backward()
        assert x.grad.tolist() == [18.0, 36.0]
        assert seen[call] == (12.0, entered[0])
    assert backward.BACKWARD.within is None
    assert not gate.GATE.busy


@pytest.mark.usefixtures("patient")
def test_threads_whose_hooks_convert_do_not_wait_for_each_other() -> None:
    """G4: one waits to be alone, the other one is in the middle of a backward."""
    programs = [d2s.to_static(lambda x: (x * x).sum()), d2s.to_static(lambda x: x.exp().sum())]
    for static in programs:
        static(leaf(1.0) * 3).backward()
    both = threading.Barrier(2)
    results: list[float] = []

    def work(number: int) -> None:
        def hook(gradient: Any) -> None:
            both.wait(60)
            results.append(d2s.to_static(lambda x: x.exp().sum() * number)(tensor(0.0)).item())

        y = leaf(1.0) * 3
        y.register_hook(hook)
        programs[number - 1](y).backward()

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [1.0, 2.0]


@pytest.mark.usefixtures("patient")
def test_who_waits_to_be_alone_in_a_run_is_not_waited_for() -> None:
    """G4: what a host operator calls is new, too."""
    both = threading.Barrier(2)
    passed: list[int] = []

    def run(number: int) -> None:
        depth = gate.GATE.enter()
        both.wait(30)
        with gate.GATE.alone():
            passed.append(number)
        gate.GATE.leave(depth)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(passed) == [1, 2]
    assert not gate.GATE.busy


@pytest.mark.usefixtures("patient")
def test_who_waits_for_a_program_is_not_alone_meanwhile() -> None:
    """G4: a run of the same program goes on, which wants to be alone for what its host calls."""
    static = d2s.to_static(square)
    static(tensor(1.0))
    program = static._programs.entries[0].runner.program
    assert program._inference is not None
    program._inference._kept.free.clear()  # the next call wants a new scope
    holds, waits = threading.Event(), threading.Event()
    passed: list[float] = []

    def run() -> None:
        with program._lock:
            holds.set()
            waits.wait(0.5)
            with gate.GATE.alone():
                passed.append(0.0)

    def call() -> None:
        holds.wait(30)
        passed.append(static(tensor(3.0)).item())

    threads = [threading.Thread(target=each, daemon=True) for each in (run, call)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert passed == [0.0, 9.0]
