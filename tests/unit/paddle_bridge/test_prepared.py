"""What Paddle has prepared for programs that are gone is ended, while nothing runs (rule G2)."""

from __future__ import annotations

import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from d2s.paddle_bridge.running import prepared
from d2s.paddle_bridge.running.prepared import ENOUGH, Scopes, _Others, _Since
from d2s.paddle_bridge.versions import run_operations
from tests.helpers import assert_same, function_of, tensor
from tests.processes import python

BRANCH = """
def f(x):
    y = x * {number}
    if y.sum() > 0:
        y = y * x
    while y.sum() > 100:
        y = y * 0.5
    return y
"""


class Ends:
    """How often all that was prepared has been ended."""

    count = 0

    def __init__(self) -> None:
        self._original = prepared.clear_executor_cache

    def __call__(self) -> None:
        self._original()
        self.count += 1


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """From now on it is time for it whenever a program needs a scope."""
    found = Ends()
    monkeypatch.setattr(prepared, "clear_executor_cache", found)
    monkeypatch.setattr(_Since, "is_waste", True)
    return found


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the thread in which the tests' runner waits counts, nor what other tests have run."""
    monkeypatch.setattr(prepared, "_has_threads", lambda: False)
    monkeypatch.setattr(prepared._others, "_have_run", False)


def end(number: int) -> None:
    """Have a new program ask for its first scope."""
    assert_same(function_of(BRANCH.format(number=number)), tensor(1.0, 2.0))


@pytest.mark.usefixtures("no_threads")
def test_programs_that_live_are_called_again(ends: Ends) -> None:
    """Their values and gradients are those of dygraph before and after."""
    plain = function_of(BRANCH.format(number=3))
    static = d2s.to_static(plain)
    for number in range(3):
        before = ends.count
        end(number)
        assert ends.count > before
        for size in (2, 3):
            results = []
            for function in (plain, static, static):
                x = paddle.arange(1.0, size + 1)
                x.stop_gradient = False
                y = function(x)
                y.sum().backward()
                results.append((y.tolist(), x.grad.tolist()))
            assert results[0] == results[1] == results[2]
    assert len(static.programs) <= 2


@pytest.mark.usefixtures("no_threads")
def test_a_backward_that_is_still_to_come(ends: Ends) -> None:
    """Also one in a scope that has had a backward before, and again after the next end."""
    static = d2s.to_static(function_of(BRANCH.format(number=1)))

    def call() -> tuple[Any, Any]:
        x = tensor(2.0, 3.0)
        x.stop_gradient = False
        return x, static(x)

    first = call()
    first[1].sum().backward()
    second, third = call(), call()
    before = ends.count
    end(7)
    second[1].sum().backward()
    end(8)
    third[1].sum().backward()
    assert ends.count >= before + 2
    last = call()
    last[1].sum().backward()
    for x, y in (first, second, third, last):
        assert y.tolist() == [4.0, 9.0]
        assert x.grad.tolist() == [4.0, 6.0]


@pytest.mark.usefixtures("no_threads")
def test_not_while_a_program_runs(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a host operator calls has programs of its own; the one around it goes on."""
    inner = d2s.to_static(function_of(BRANCH.format(number=5)))
    counts = []

    class Out:
        def write(self, text: str) -> None:
            if text.strip():
                before = ends.count
                inner(paddle.ones([len(counts) % 3 + 2]))
                counts.append(ends.count - before)

        def flush(self) -> None:
            pass

    def f(x: Any) -> Any:
        print(x)
        return x * 2

    static = d2s.to_static(f)
    monkeypatch.setattr(sys, "stdout", Out())
    assert static(tensor(1.0)).tolist() == [2.0]
    assert static(tensor(2.0)).tolist() == [4.0]
    assert len(counts) >= 2
    assert not any(counts)


def test_not_while_there_is_another_thread(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """It might run programs that d2s knows nothing of."""
    monkeypatch.setattr(prepared._others, "_have_run", False)  # that alone would do
    begun, done = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        done.wait(60)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        begun.wait(60)
        end(11)
    finally:
        done.set()
        thread.join()
    assert not ends.count


@pytest.mark.usefixtures("no_threads")
def test_not_in_a_fork(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the interpreters of its parent without their threads."""
    monkeypatch.setattr(prepared, "_PROCESS", -1)
    end(13)
    assert not ends.count


@pytest.mark.usefixtures("no_threads")
def test_not_where_paddle_runs_programs_of_its_own(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their scopes go on, which loses values: neither values nor gradients are disturbed."""
    places = run_operations()
    for place in places:
        monkeypatch.setattr(*place, getattr(*place))
    others = _Others()
    others._have_run = False  # what lives from other tests does not count
    monkeypatch.setattr(prepared, "_others", others)
    end(17)
    before = ends.count
    assert before

    def square(x: Any) -> Any:
        return x * x

    theirs = paddle.jit.to_static(square, full_graph=True)

    def call() -> tuple[Any, Any]:
        x = tensor(2.0, 3.0)
        x.stop_gradient = False
        return x, theirs(x)

    first, second = call(), call()
    end(19)
    second[1].sum().backward()
    first[1].sum().backward()
    third = call()
    third[1].sum().backward()
    assert [x.grad.tolist() for x, _ in (first, second, third)] == [[4.0, 6.0]] * 3
    assert ends.count == before
    assert "noting" not in repr([getattr(*place) for place in places])


def test_what_has_run_before_d2s_was_imported(tmp_path: Path) -> None:
    """It has been noted by nobody, and counts as long as it lives."""
    text = """
import paddle
def square(x):
    return x * x
if {before}:
    theirs = paddle.jit.to_static(square, full_graph=True)
    theirs(paddle.ones([2]))
import d2s
from d2s.paddle_bridge.running import prepared
ours = d2s.to_static(square)
ours(paddle.ones([2]))
print(prepared._others.have_run())
"""
    for before in (True, False):
        file = tmp_path / "before.py"
        file.write_text(text.format(before=before), "utf-8")
        environment = {**os.environ, "PYTHONPATH": str(Path(d2s.__file__).parents[1])}
        done = python(str(file), env=environment)
        assert done.stdout.split() == [str(before)], done.stderr[-500:]


class Scope:
    """Stands for a scope that a program runs in."""


class Used:
    """Stands for a scope that Paddle has prepared a backward for."""

    def __init__(self, *, free: bool) -> None:
        self.scope = types.SimpleNamespace(_can_reused=free)
        self.is_free = free
        self.is_reserved = False
        self.is_prepared = True


def test_what_is_forgotten() -> None:
    """G4: no run takes a scope that is not prepared any more, and no backward is there unguarded.

    What a backward may still come to is kept as long as the program: Paddle knows its address.
    """
    free, held, done, broken, over = (Used(free=each) for each in (True, False, True, False, True))
    scopes = Scopes()
    scopes.put(free)  # type: ignore[arg-type]
    scopes.held += [held, done]  # type: ignore[list-item]
    scopes.broken += [broken, over]  # type: ignore[list-item]
    assert scopes.free == [free]
    taken = scopes.free
    scopes.forget()
    assert taken == [] == scopes.held
    assert scopes.free is taken, "a run that has it gives its scope back there"
    assert scopes.take() is None
    assert scopes.broken == [held, broken]
    assert not held.is_prepared
    assert not broken.is_prepared


def test_when_it_is_time() -> None:
    """More scopes are gone than there are, and no fewer than it is worth."""
    since, alive = _Since(), [Scope() for _ in range(2 * ENOUGH)]
    for scope in alive:
        since.add(scope)  # type: ignore[arg-type]
    seen = []
    for _ in range(3 * ENOUGH):
        since.add(Scope())  # type: ignore[arg-type]
        seen.append(since.is_waste)
    assert seen.index(True) == 2 * ENOUGH - 1
    assert all(seen[2 * ENOUGH :])
    since.begin()
    for _ in range(ENOUGH):
        assert not since.is_waste
        since.add(Scope())  # type: ignore[arg-type]
    assert since.is_waste
