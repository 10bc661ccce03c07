"""How calls are timed: rounds that fail, steps of training, what is known of the machine."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

from d2s.bench import environment
from d2s.bench.peers import _in_words, _serve
from d2s.bench.rounds import Settings
from d2s.bench.values import differ
from d2s.bench.work import CONVERTERS, Work, calls, loss_of

SETTINGS = Settings(rounds=1, round_s=0.001, limit_s=60.0)


class Pipe:
    """A pipe whose other end asks for ``rounds`` rounds, and is gone then."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.sent = rounds, []

    def recv(self) -> str:
        self.rounds -= 1
        if self.rounds < 0:
            raise EOFError
        return "round"

    def send(self, thing: Any) -> None:
        self.sent.append(thing)


class Task:
    def __init__(self, left: int) -> None:
        self.left = left

    def start(self, settings: Settings) -> str:
        return "started"

    def round(self) -> float:
        self.left -= 1
        if self.left < 0:
            raise ValueError("In user code:\n\n    File net.py\n\nTypeError: no such thing\n")
        return 0.5


@pytest.mark.filterwarnings("default")
def test_a_peer_serves_rounds_until_nobody_asks_or_one_fails() -> None:
    """The process ends with whoever asked; an exception is its last answer."""
    gone, failing = Pipe(2), Pipe(5)
    _serve(gone, lambda: Task(9), SETTINGS)
    assert gone.sent == ["started", 0.5, 0.5]
    _serve(failing, lambda: Task(1), SETTINGS)
    assert failing.sent == ["started", 0.5, "TypeError: no such thing"]


def test_exceptions_in_one_line() -> None:
    """Paddle's own words are left out where an error is named behind them; a page is cut."""
    assert _in_words(KeyError("k")) == "KeyError: 'k'"
    assert _in_words(ValueError()) == "ValueError: "
    assert _in_words(ValueError("first\nsecond")) == "ValueError: first"
    assert len(_in_words(ValueError("x" * 1000))) == 200


def test_a_training_step_of_each_peer() -> None:
    """``training``: the loss, its gradients and a step, which changes the parameters alike."""
    seen = {}
    for peer in ("dygraph", "d2s"):

        def make() -> Work:
            layer = paddle.nn.Linear(2, 1)
            layer.weight.set_value(paddle.to_tensor([[0.5], [0.25]]))
            optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
            x = paddle.to_tensor([[1.0, 2.0]])

            def loss(x):
                y = layer(x)
                return y.sum() if y.mean() > 0 else -y.sum()

            return Work(loss, (x,), kind="training", optimizer=optimizer, watched=(layer.weight,))

        try:
            task = calls(make, peer)
            started = task.start(SETTINGS)
        finally:
            paddle.jit.enable_to_static(True)
        assert started.calls >= 1
        seen[peer] = started.values
    for mine, theirs in zip(seen["d2s"], seen["dygraph"], strict=True):
        assert differ(mine, theirs) == ""
    first, warm = (values[-1].tolist() for values in seen["dygraph"])
    assert first != [[0.5], [0.25]]
    assert warm != first


def test_where_backward_begins() -> None:
    """A result of one element is the loss itself; what has no gradient is no part of it."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    loss = (x * 2).sum()
    assert loss_of(loss) is loss
    assert loss_of({"a": [x * 2, 3], "b": paddle.ones([2])}).item() == 6.0
    assert differ([None, np.ones(2)], [None, np.ones(2)]) == ""
    with contextlib.ExitStack() as stack:
        stack.callback(paddle.jit.enable_to_static, True)
        assert CONVERTERS["dygraph"](loss_of) is loss_of


def test_an_environment_that_says_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where d2s is no clone of its own there is no commit; without git nothing is known."""
    assert environment._git(tmp_path, "rev-parse", "--show-toplevel") == "unknown"
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "a" / "b" / "c" / "environment.py"))
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert environment._commit() == "none"
