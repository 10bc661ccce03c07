"""Converted functions are called from many threads at once (rule G4).

What Paddle itself cannot do from several threads, ``paddle.grad`` in dygraph for one, is left out:
it ends the process without d2s, too.
"""

from __future__ import annotations

import itertools
import linecache
import random
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s import config
from d2s.paddle_bridge import gate as gates
from tests.helpers import tensor

THREADS = 8
_count = itertools.count()


def together(work: Callable[[int], None], threads: int = THREADS) -> None:
    """Call ``work`` with 0, 1, ... in as many threads, which begin at one moment."""
    barrier = threading.Barrier(threads)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(900)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def vector(chance: random.Random, count: int, low: float = -2.0) -> Any:
    return paddle.to_tensor(np.array([chance.uniform(low, 2) for _ in range(count)], "float32"))


# -- many calls of all kinds ---------------------------------------------------------------------


def branchy(x, k):
    if x.sum() > 0:
        return x * k + 1
    return x - k


def looping(x):
    trips = 0
    while x.sum() < 10:
        x = x * 2
        trips += 1
    return x, trips


def growing(x):
    rows = []
    for index in range(x.shape[0]):
        rows.append(x[index] * index)
    return paddle.stack(rows)


def refusing(x, name):
    assert x.sum() > 0, f"{name}: {x.sum().item():.3f}"
    return x


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = paddle.nn.Linear(4, 4)
        self.second = paddle.nn.Linear(4, 2)

    def forward(self, x):
        hidden = paddle.nn.functional.relu(self.first(x))
        if hidden.sum() > 1:
            hidden = hidden * 0.5
        return self.second(hidden)


def cold(number: int) -> Any:
    """A function that nobody has called yet."""
    text = f"def f(x):\n    y = x * {number}\n    if y.sum() > 3:\n        y -= 1\n    return y\n"
    file = f"<cold {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


class Mixture:
    """Calls of warm and cold functions, in training and inference, of many sizes."""

    def __init__(self) -> None:
        paddle.seed(1)
        self.plain, self.static = Net(), Net()
        self.static.set_state_dict(self.plain.state_dict())
        d2s.to_static(self.static)
        self.converted = {f: d2s.to_static(f) for f in (branchy, looping, growing, refusing)}
        self.shared = [cold(number) for number in range(40)]
        self.converted |= {f: d2s.to_static(f) for f in self.shared}
        self.kinds = [
            self.inference, self.inference, self.training, self.training, self.loops, self.lists,
            self.layers, self.layers, self.errors, self.others, self.others,
        ]  # fmt: skip

    def call(self, chance: random.Random, number: int) -> None:
        count = chance.choice([1, 2, 3, 4, 5, 7])
        if chance.random() < 0.02:
            function, x = cold(number), vector(chance, count)
            assert d2s.to_static(function)(x).tolist() == function(x).tolist()
        else:
            chance.choice(self.kinds)(chance, count)

    def same(self, function: Any, *arguments: Any) -> None:
        with paddle.no_grad():
            want = function(*arguments)
            got = self.converted[function](*arguments)
        if isinstance(want, tuple):
            assert want[1:] == got[1:]
            want, got = want[0], got[0]
        assert got.tolist() == want.tolist()

    def inference(self, chance: random.Random, count: int) -> None:
        self.same(branchy, vector(chance, count), chance.choice([2, 3]))

    def lists(self, chance: random.Random, count: int) -> None:
        self.same(growing, vector(chance, count))

    def others(self, chance: random.Random, count: int) -> None:
        self.same(chance.choice(self.shared), vector(chance, count))

    def training(self, chance: random.Random, count: int) -> None:
        self.gradients(branchy, self.converted[branchy], vector(chance, count), 3)

    def loops(self, chance: random.Random, count: int) -> None:
        x = vector(chance, count, 0.1)
        if chance.random() < 0.5:
            self.same(looping, x)
        else:
            static = self.converted[looping]
            self.gradients(lambda x: looping(x)[0], lambda x: static(x)[0], x)

    def layers(self, chance: random.Random, count: int) -> None:
        x = paddle.stack([vector(chance, 4) for _ in range(count)])
        if chance.random() < 0.5:
            with paddle.no_grad():
                got, want = self.static(x), self.plain(x)
            np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-4, 1e-5)
        else:
            self.gradients(self.plain, self.static, x)

    def errors(self, chance: random.Random, count: int) -> None:
        x, name = vector(chance, count), str(chance.choice(["left", "right"]))
        with paddle.no_grad():
            try:
                self.converted[refusing](x, name)
                text = None
            except AssertionError as error:
                text = str(error)
        sum_ = x.sum().item()
        assert text == (None if sum_ > 0 else f"{name}: {sum_:.3f}")

    def gradients(self, plain: Any, static: Any, x: Any, *arguments: Any) -> None:
        twin = x.clone()
        x.stop_gradient = twin.stop_gradient = False
        want, got = plain(x, *arguments), static(twin, *arguments)
        np.testing.assert_allclose(got.numpy(), want.numpy(), 1e-4, 1e-5)
        want.sum().backward()
        got.sum().backward()
        np.testing.assert_allclose(twin.grad.numpy(), x.grad.numpy(), 1e-4, 1e-5)


def mixed(calls: int, seed: int) -> None:
    mixture = Mixture()

    def work(thread: int) -> None:
        chance = random.Random(f"{seed} {thread}")
        for number in range(calls // THREADS):
            mixture.call(chance, number)

    together(work)


@pytest.mark.row(124)
def test_two_thousand_calls() -> None:
    """G4: no crash, no hang, each result right."""
    mixed(2000, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_twenty_thousand_calls(seed: int) -> None:
    """G4: the same for longer, three times."""
    mixed(20000, seed)


# -- one thing at a time -------------------------------------------------------------------------


def test_a_cold_function_is_captured_once() -> None:
    """G4: the others wait for the first one's program."""
    static = d2s.to_static(cold(2))
    together(lambda thread: static(paddle.to_tensor([1.0, float(thread)])))
    (program,) = static.programs
    assert program.runs == THREADS


def test_one_program_runs_in_many_threads() -> None:
    """G4: each run has values of its own, also between a forward and its backward."""

    def f(x):
        for _ in range(5):
            x = paddle.tanh(x @ x)
        return x

    static = d2s.to_static(f)
    inputs = [paddle.rand([20, 20]) * thread for thread in range(THREADS)]
    want = [f(x).numpy() for x in inputs]

    def work(thread: int) -> None:
        for _ in range(20):
            x = inputs[thread].clone().detach()
            x.stop_gradient = False
            pair = [static(x), static(x)]
            for result in pair:
                np.testing.assert_allclose(result.numpy(), want[thread], 1e-4, 1e-5)
            pair[1].sum().backward()
            pair[0].sum().backward()
            assert x.grad is not None

    together(work)
    assert len(static.programs) == 1


def test_a_thread_that_begins_during_a_capture_is_in_dygraph_mode() -> None:
    """G4: Paddle itself would leave it in static mode for ever."""
    seen: list[Any] = []
    late: list[threading.Thread] = []
    go_on = threading.Event()

    def begin() -> None:
        seen.append((paddle.in_dynamic_mode(), (paddle.ones([2]) * 2).tolist()))
        go_on.wait(30)
        seen.append((paddle.in_dynamic_mode(), (paddle.ones([2]) * 3).tolist()))

    @d2s.not_to_static
    def start() -> None:
        late.append(threading.Thread(target=begin))
        late[0].start()
        while not seen:
            late[0].join(0.01)

    scope: dict[str, Any] = {"start": start}
    text = "def f(x):\n    start()\n    return x * 2\n"
    linecache.cache["<late>"] = (len(text), None, text.splitlines(keepends=True), "<late>")
    exec(compile(text, "<late>", "exec"), scope)
    static = d2s.to_static(scope["f"])
    assert static(paddle.to_tensor([1.0])).tolist() == [2.0]
    go_on.set()
    late[0].join(30)
    assert seen == [(True, [2.0, 2.0]), (True, [3.0, 3.0])]


def test_dygraph_goes_on_beside_captures() -> None:
    """G4: operations, item assignment and gradients of threads that call nothing of ours."""
    stop = threading.Event()

    def capture() -> None:
        for number in range(15):
            function = d2s.to_static(cold(number))
            function(paddle.to_tensor([1.0, 2.0]))
        stop.set()

    def plain() -> None:
        while not stop.is_set():
            x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
            y = x * 2
            y[1] = 7.0
            y.sum().backward()
            assert y.tolist() == [2.0, 7.0, 6.0]
            assert x.grad.tolist() == [2.0, 0.0, 2.0]
            assert paddle.in_dynamic_mode()

    together(lambda thread: capture() if thread == 0 else plain(), 4)


def test_programs_that_are_dropped_while_they_run() -> None:
    """G4, G2: the limit holds, and no run is disturbed."""
    static = d2s.to_static(lambda x, k: x * k)

    def work(thread: int) -> None:
        with config.options(max_programs=2, warn_programs=0):
            for number in range(30):
                factor = (thread + number) % 5
                got = static(paddle.to_tensor([1.0, 2.0]), factor)
                assert got.tolist() == [factor, 2.0 * factor]

    together(work)
    assert len(static.programs) == 2


def test_the_gate_lets_one_pass_alone() -> None:
    """G4: who changes Paddle's tables waits for runs that go on, and runs wait for it."""
    gate = gates._Gate()
    order: list[str] = []
    inside, passed = threading.Event(), threading.Event()

    def run() -> None:
        depth = gate.enter()
        inside.set()
        passed.wait(0.3)
        order.append("run ends")
        gate.leave(depth)

    def alone() -> None:
        inside.wait(30)
        with gate.alone():
            order.append("alone")
            later.start()
            later.join(0.2)
            order.append("alone ends")

    def late() -> None:
        depth = gate.enter()
        order.append("next run")
        gate.leave(depth)

    later = threading.Thread(target=late)
    together(lambda thread: run() if thread == 0 else alone(), 2)
    later.join(30)
    assert order == ["run ends", "alone", "alone ends", "next run"]


def test_the_gate_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """G4: a run may itself wait for who has closed the gate."""
    gate = gates._Gate()
    monkeypatch.setattr(gates._Gate, "PATIENCE", 0.05)
    depth = gate.enter()
    passed: list[bool] = []

    def alone() -> None:
        with gate.alone():
            passed.append(True)

    other = threading.Thread(target=alone)
    other.start()
    other.join(30)
    assert passed
    with gate.alone(), gate.alone():  # the thread that runs may close it itself
        passed.append(True)
    gate.leave(depth)
    assert len(passed) == 2


# -- copies of a program ---------------------------------------------------------------------------


def _copies_of(static: Any) -> Any:
    return static.entries[0].runner.program._inference.copies


def _two_at_once(static: Any, monkeypatch: pytest.MonkeyPatch, *args: Any) -> int:
    """How many threads have been in Paddle's run of one program at one moment."""
    from d2s.paddle_bridge.running import runs

    inside, most, plain = [0], [0], runs.run_program
    lock = threading.Lock()

    def slow(*given: Any) -> Any:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        try:
            return plain(*given)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(runs, "run_program", slow)

    def work(number: int) -> None:
        with paddle.no_grad():
            want = (args[0] + number).numpy()
            for _ in range(40):
                np.testing.assert_array_equal(static(args[0] + number).numpy(), expected(want))

    def expected(x: np.ndarray[Any, Any]) -> Any:
        return np.maximum(x * np.float32(2), np.float32(1))

    together(work, 4)
    return most[0]


def test_a_program_that_only_computes_runs_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """G4: threads that find it running run copies of it, as many as there may be."""

    def f(x):
        return paddle.maximum(x * 2, paddle.ones_like(x))

    with d2s.options(program_copies=2), paddle.no_grad():
        static = d2s.to_static(f)
        static(tensor(1.0, -1.0))
    assert _two_at_once(static, monkeypatch, tensor(1.0, -1.0)) > 1
    assert len(_copies_of(static)._free) in (1, 2)


def test_without_copies_threads_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """G4: the option switches it off."""

    def f(x):
        return paddle.maximum(x * 2, paddle.ones_like(x))

    with d2s.options(program_copies=0), paddle.no_grad():
        static = d2s.to_static(f)
        static(tensor(1.0, -1.0))
    assert _two_at_once(static, monkeypatch, tensor(1.0, -1.0)) == 1


def test_what_changes_something_has_no_copies() -> None:
    """G4: programs that write, draw, print or are trained run in one thread at a time."""
    state = types.SimpleNamespace(last=None)
    buffer = tensor(0.0)

    def keeps(x):
        state.last = x * 2
        return x * 3

    def adds(x):
        buffer.add_(x.sum())
        return x * 3

    def draws(x):
        return x + paddle.rand([2])

    def tells(x):
        print(x)
        return x * 3

    def steps(x):
        x.add_(paddle.ones_like(x))
        return x * 3

    with d2s.options(program_copies=2):
        for f in (keeps, adds, draws, tells, steps):
            static = d2s.to_static(f)
            with paddle.no_grad():
                static(tensor(1.0, -1.0))
            assert _copies_of(static) is None, f.__name__
        static = d2s.to_static(lambda x: x * 3)
        x = tensor(1.0, -1.0)
        with paddle.no_grad():
            static(x)
            assert _copies_of(static) is not None
        program = static.entries[0].runner.program
        program.prepare(training=True)
        assert _copies_of(static) is None
