"""Effects of captured programs happen on every run (rules F1 to F5).

The assertions in these functions are part of what is compared: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
N = [scalar(n) for n in (0, 1, 3)]


def printed(function: Callable[..., Any], capfd: Any, *inputs: Any) -> str:
    capfd.readouterr()
    for given in inputs:
        function(*(given if isinstance(given, tuple) else (given,)))
    return capfd.readouterr().out


def same_text(function: Callable[..., Any], capfd: Any, *inputs: Any) -> None:
    static = d2s.to_static(function)
    want = printed(function, capfd, *inputs)
    assert want
    assert printed(static, capfd, *inputs) == want
    assert printed(static, capfd, *inputs) == want


def test_print_of_tensors(capfd) -> None:
    """F1: letter for letter, on every run."""

    def f(x):
        print("x is", x, x.sum(), sep=" | ", end=".\n")
        print(f"sum {x.sum()} and {x.shape} {x.dtype}")
        return x

    same_text(f, capfd, PLUS, MINUS)


def test_print_in_branches_and_loops(capfd) -> None:
    """F1: in program order, only on the path that runs."""

    def f(x, n):
        print("start")
        if x.sum() > 0:
            print("positive", x.sum())
        else:
            print("negative")
        for i in range(n):
            print("trip", i)
            if i % 2 == 0:
                x = x + 1
                print("even", x)
        print("end", n)
        return x

    same_text(f, capfd, *[(x, n) for x in (PLUS, MINUS) for n in N])


def test_print_of_python_values_only(capfd) -> None:
    """F1: text without tensors is printed on every run as well."""

    def f(x):
        print("hello", 1, [2], {"a": None})
        return x * 2

    same_text(f, capfd, PLUS, MINUS)


def test_formatted_text(capfd) -> None:
    """F1: f-strings, ``format`` and ``%`` of numbers that tensors hold."""

    def f(x):
        print(f"{float(x.sum()):.2f} {int(x.max())!r:>5}")
        print("loss", float(x.mean()))
        return x

    same_text(f, capfd, PLUS, MINUS)


def test_logging(caplog) -> None:
    """F1: ``logging`` calls with tensor values happen on every run."""
    log = logging.getLogger("tests.effects")

    def f(x):
        if x.sum() > 0:
            log.warning("sum %s", x.sum())
        return x * 2

    def logged(function: Any) -> list[str]:
        caplog.clear()
        for x in (PLUS, MINUS, PLUS * 2):
            function(x)
        return [record.getMessage() for record in caplog.records]

    assert logged(d2s.to_static(f)) == logged(f)


def test_assert() -> None:
    """F1: type, message and arguments; the run decides, the next run works."""

    def f(x):
        assert x.sum() > 0, f"sum is {float(x.sum())}"
        return x * 2

    assert_same(f, PLUS, MINUS)


def test_assert_without_message_and_in_a_loop() -> None:
    """F1."""

    def f(x, n):
        for i in range(n):
            assert i < 2
            x = x + 1
        return x

    assert_same(f, *[(PLUS, n) for n in N])


def test_raise() -> None:
    """F1: under a tensor condition, with arguments."""

    def f(x):
        if x.sum() < 0:
            raise KeyError("negative", 3)
        return x * 2

    assert_same(f, PLUS, MINUS)


def test_raise_in_else_and_in_a_loop() -> None:
    """F1: the raising side binds nothing, and the other side's names are sure."""

    def f(x, n):
        if x.sum() > 0:
            y = x
        else:
            raise ValueError("not positive")
        for i in range(n):
            if i == 2:
                raise StopIteration
            y = y * 2
        return y

    assert_same(f, *[(x, n) for x in (PLUS, MINUS) for n in N])


class OwnError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code_ = code


def test_an_exception_of_the_users() -> None:
    """F1: the very type with its arguments; from the original line."""

    def f(x):
        y = x * 2
        if x.sum() < 0:
            raise OwnError(
                7,
                "mine",
            )
        return y

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [2.0, 4.0]
    for _ in range(2):
        with pytest.raises(OwnError) as caught:
            static(MINUS)
        assert (caught.value.args, caught.value.code_) == ((7, "mine"), 7)
        lines = [e.lineno for e in traceback.extract_tb(caught.value.__traceback__)]
        assert f.__code__.co_firstlineno + 3 in lines
    assert static(PLUS).tolist() == [2.0, 4.0]


def test_effects_before_an_exception_have_happened(capfd) -> None:
    """F1: program order."""

    def f(x):
        print("before")
        if x.sum() < 0:
            raise ValueError("no")
        print("after")
        return x

    static = d2s.to_static(f)
    static(PLUS)
    capfd.readouterr()
    with pytest.raises(ValueError, match="no"):
        static(MINUS)
    assert capfd.readouterr().out == "before\n"


class Counter(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.last = paddle.zeros([2])
        self.register_buffer("total", paddle.zeros([2]))

    def forward(self, x):
        self.total = self.total + x
        self.last = x * 2
        if x.sum() > 0:
            self.last = self.last + self.total
        return self.total * 1


def test_attributes_and_buffers_keep_their_values() -> None:
    """F3: as in dygraph, after every run; no symbolic value leaks."""
    plain, static = Counter(), d2s.to_static(Counter())
    for x in (PLUS, MINUS, PLUS, PLUS * 3):
        assert static(x).tolist() == plain(x).tolist()
        assert static.total.tolist() == plain.total.tolist()
        assert static.last.tolist() == plain.last.tolist()
        assert isinstance(static.last, paddle.Tensor)
        assert not isinstance(static.last, paddle.pir.Value)
    assert static.state_dict()["total"].tolist() == plain.state_dict()["total"].tolist()


def test_an_attribute_changed_outside_is_seen() -> None:
    """F3: nothing is frozen at capture."""
    layer = d2s.to_static(Counter())
    layer(PLUS)
    layer.total = paddle.full([2], 100.0)
    assert layer(PLUS).tolist() == [101.0, 102.0]
    layer.total.set_value(paddle.zeros([2]))
    assert layer(PLUS).tolist() == [1.0, 2.0]


def test_globals_and_closures_are_not_frozen() -> None:
    """F3: a tensor in a closure is read on every run."""
    weight = tensor(1.0, 1.0)

    def f(x):
        return x * weight

    static = d2s.to_static(f)
    assert static(PLUS).tolist() == [1.0, 2.0]
    weight = tensor(3.0, 3.0)
    assert static(PLUS).tolist() == [3.0, 6.0]


def test_batch_norm_statistics() -> None:
    """F3."""
    paddle.seed(1)
    plain = paddle.nn.BatchNorm1D(2)
    static = d2s.to_static(paddle.nn.BatchNorm1D(2))
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]])
    for _ in range(3):
        assert plain(x).numpy() == pytest.approx(static(x).numpy())
        assert plain._mean.numpy() == pytest.approx(static._mean.numpy())
        assert plain._variance.numpy() == pytest.approx(static._variance.numpy())
    plain.eval()
    static.eval()
    assert plain(x).numpy() == pytest.approx(static(x).numpy())


def test_python_effects_happen_at_capture_only() -> None:
    """F4."""
    calls = []

    def f(x):
        calls.append(1)
        return x * 2

    static = d2s.to_static(f)
    for _ in range(3):
        static(PLUS)
    assert calls == [1]


def test_dropout_in_train_and_eval() -> None:
    """F5: separate programs; a seed gives a mask again."""
    layer = d2s.to_static(paddle.nn.Dropout(0.5))
    x = paddle.ones([100])
    paddle.seed(3)
    first = layer(x).tolist()
    assert 0.0 in first
    assert layer(x).tolist() != first
    paddle.seed(3)
    assert layer(x).tolist() == first
    layer.eval()
    assert layer(x).tolist() == x.tolist()
    assert len(layer.forward.programs) == 2


def test_leaving_a_value_in_an_object_does_not_break_later_calls() -> None:
    """F3: an object of the user's that is no layer."""

    class Box:
        def __init__(self) -> None:
            self.h = None

    box = Box()

    def f(x):
        box.h = x * 2
        return box.h + 1

    static = d2s.to_static(f)
    for x in (PLUS, MINUS):
        assert static(x).tolist() == (x * 2 + 1).tolist()
        assert box.h.tolist() == (x * 2).tolist()


def test_two_equal_effects_are_two(capfd) -> None:
    """F1: Paddle merges no host operators, and drops none whose output nobody reads."""

    def f(x):
        print("same", x)
        print("same", x)
        return x

    same_text(f, capfd, PLUS, MINUS)
