"""Functions that are not one program: a driver in Python, with islands that are programs.

Every test holds ``full_graph=False`` against dygraph: values, gradients, state, effects in order.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import logging
import math
import random
import time
import warnings
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.config import Config
from d2s.errors import (
    BreakWarning,
    D2SError,
    NotAFunctionError,
    NotStaticError,
    UnsupportedInGraphError,
)
from d2s.program.islands import paying
from tests.helpers import assert_same, function_of, tensor

pytestmark = pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")


def islands(function):
    return d2s.to_static(function, full_graph=False)


def host(x):
    """What no program can do: the bytes of a tensor's array."""
    return float(np.frombuffer(x.numpy().tobytes(), dtype=x.numpy().dtype).sum())


def middle(x):
    y = paddle.tanh(x * 2 + 1)
    y = y - y.mean()
    k = host(y)
    y = y * (k + 2) - 1
    return (y * y).sum() + y.max()


def in_a_loop(x, steps=4):
    total = paddle.zeros([])
    seen = []
    for step in range(steps):
        x = paddle.tanh(x) * 1.5 - x.mean()
        total = total + (x * x).sum() / (step + 1)
        seen.append(round(host(x), 3))
        if seen[-1] > 100:
            break
        x = x + 0.1 * total - paddle.sin(x)
    return total, seen


def in_a_branch(x):
    if x.sum() > 0:
        y = paddle.exp(x) - x * 2 + x.max()
        y = y * host(y)
    else:
        y = x * 3 - paddle.cos(x) + x.min()
    return y * 2 - y.mean() + 1


def in_a_while(x):
    count = 0
    while host(x) < 50 and count < 6:
        x = x * 1.5 + paddle.abs(x).mean() - 0.1 * x
        count += 1
    return x - x.mean() * 2 + 1, count


def callee(x, factor):
    y = paddle.tanh(x) * factor + 1
    y = y - host(y) * 0.1
    return y * y - y.mean()


def caller(x):
    y = callee(x * 2 - 1, 0.5) + x
    z = [callee(each, 0.25) for each in (y, x)]
    return z[0] * z[1] - paddle.exp(-y) + x.sum()


def in_a_try(x):
    count = 0
    try:
        y = x * 2 + 1 - x.mean()
        count += 1
        if host(y) > 5:
            raise ValueError("large")
        y = y * 3 - paddle.tanh(y) + 1
        count += 1
    except ValueError:
        y = -x * count
    finally:
        count += 10
    return y * 2 - 1 + y.max(), count


def in_a_closure(x):
    scale = 2.0

    def scaled(y):
        return y * scale - paddle.tanh(y) + host(y)

    scale = 3.0
    y = scaled(x) + x * scale - x.mean()
    return [f(y) for f in (lambda z: z + scale, scaled)]


def unbound_on_a_path(x):
    if host(x) > 0:
        extra = x * 2 - paddle.tanh(x) + 1
    if x.sum() > 0:
        y = extra * 2 - x.mean() + x
    else:
        y = x * 3 - x.mean() + 1
    return y


def returns_early(x):
    y = x * 2 - paddle.tanh(x) + 1
    if host(y) > 3:
        return y.sum() * 2 - y.mean() + 1
    for _ in range(3):
        y = y * 1.5 - paddle.cos(y)
        if y.sum() > 10:
            return y, host(y)
    return y.max() * 2


@pytest.mark.parametrize(
    "function",
    [
        middle, in_a_loop, in_a_branch, in_a_while, caller, in_a_try, in_a_closure,
        unbound_on_a_path, returns_early,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_what_is_split_does_what_it_did(function) -> None:
    """H1: statements that need Python run there, everything else in programs, with gradients."""
    inputs = [paddle.to_tensor(v) for v in ([0.5, 1.5, -0.2], [3.0, 4.0, 2.0], [-1.0, -2.0, 0.1])]
    converted = assert_same(function, *inputs, static=islands(function))
    assert converted.breaks
    assert converted.programs or function is in_a_closure  # which shares its variables


def test_a_break_is_told_once_with_its_line_and_the_cure() -> None:
    """H1: one warning for each break, about the user's line."""

    def broken(x):
        y = paddle.tanh(x * 2 + 1) - x
        array = memoryview(y.numpy())
        return y * 2 + len(array) - y.mean()

    converted = islands(broken)
    where = f"{__file__}:{broken.__code__.co_firstlineno + 2}"
    with pytest.warns(BreakWarning) as told:
        converted(paddle.ones([3]))
    (message,) = [str(each.message) for each in told if each.category is BreakWarning]
    assert message.startswith(f"'{broken.__qualname__}' is not one program: {where}: ")
    assert "cure: " in message
    assert message.endswith("[D2S310]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        converted(paddle.ones([3]))
        islands(broken)(paddle.ones([3]))
    assert f"{converted.breaks[0].file}:{converted.breaks[0].line}" == where


def test_without_the_flag_it_is_refused() -> None:
    """H1: a function that was asked to be one program is never split, nor is a saved one."""
    with pytest.raises(D2SError):
        d2s.to_static(middle, full_graph=True)(paddle.ones([3]))
    spec = [paddle.static.InputSpec([3], "float32")]
    with pytest.raises(D2SError):
        d2s.save(d2s.to_static(middle, input_spec=spec, full_graph=False), "nowhere")


def test_the_option_is_the_default() -> None:
    """H1: ``full_graph`` of the options holds where ``to_static`` says nothing."""
    assert not Config().full_graph
    for unsaid in (d2s.to_static(middle), d2s.to_static(middle, full_graph=None)):
        with d2s.options(full_graph=True), pytest.raises(D2SError):
            unsaid(paddle.ones([3]))
        with d2s.options(full_graph=False):
            unsaid(paddle.ones([3]))
        assert unsaid.breaks


class Block(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = paddle.nn.Linear(3, 3)
        self.second = paddle.nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = paddle.tanh(self.first(x)) * 2 - x
        if host(y) > 0:
            y = y * 0.5
        return self.second(y) + y.mean() - x


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = paddle.nn.LayerList([Block(), Block()])
        self.norm = paddle.nn.LayerNorm(3)

    def forward(self, x):
        for block in self.blocks:
            x = self.norm(block(x) + x * 0.5)
        return x.sum() * 2 - x.max()


def test_layers_in_layers_train() -> None:
    """H1: a sublayer's ``forward`` becomes a driver; hooks, state and gradients are dygraph's."""
    paddle.seed(5)
    plain, converted = Model(), Model()
    converted.set_state_dict(plain.state_dict())
    seen: list[str] = []
    for name, model in (("plain", plain), ("converted", converted)):
        model.blocks[0].register_forward_post_hook(
            lambda layer, args, out, name=name: seen.append(name)
        )
    islands(converted)
    optimizers = [
        paddle.optimizer.Adam(0.01, parameters=model.parameters()) for model in (plain, converted)
    ]
    for _ in range(3):
        x = paddle.randn([2, 3])
        losses = []
        for model, optimizer in zip((plain, converted), optimizers, strict=True):
            loss = model(x)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert converted.blocks[0].calls == plain.blocks[0].calls == 3
    assert seen.count("plain") == seen.count("converted") == 3
    assert "forward" not in vars(converted.blocks[0])
    for mine, theirs in zip(plain.parameters(), converted.parameters(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


STATE: list[float] = []
LOGGER = logging.getLogger("test_islands")


def with_effects(x, log):
    print("start", x.shape)
    LOGGER.warning("called")
    STATE.append(float(x.sum()))
    log.write("line\n")
    y = x * random.random() + paddle.rand([3]) - np.random.rand()
    k = host(y)
    print("middle", round(k, 4))
    log.write(f"{k:.4f}\n")
    y = y * random.random() + paddle.rand([3]) * 2
    STATE.append(k)
    print("end", y.shape)
    return y


def test_effects_happen_once_and_in_order(tmp_path, caplog) -> None:
    """D1: a capture that fails has printed, drawn, written and changed nothing."""

    def all_of_it(function):
        STATE.clear()
        caplog.clear()
        random.seed(3)
        np.random.seed(3)
        paddle.seed(3)
        printed = io.StringIO()
        with (tmp_path / "log").open("w+") as log:
            with contextlib.redirect_stdout(printed):
                results = [function(paddle.ones([3]) * k, log).numpy().tolist() for k in (1, 2, 3)]
            log.seek(0)
            written = log.read()
        states = random.random(), np.random.rand(), paddle.rand([2]).numpy().tolist()
        return results, printed.getvalue(), written, list(STATE), caplog.messages, states

    assert all_of_it(islands(with_effects)) == all_of_it(with_effects)


def batches(count):
    for k in range(count):
        yield paddle.full([3], k + 1.0)


def over_a_stream(stream):
    losses = []
    for batch in stream:
        loss = (batch * 2 - 1).square().mean() + batch.max()
        losses.append(round(loss.item(), 4))
    return losses


def test_a_stream_is_read_once() -> None:
    """D1: no item of an iterator is lost to a capture."""
    converted = islands(over_a_stream)
    for count in (4, 2, 3):
        assert converted(batches(count)) == over_a_stream(batches(count))


def numbers(x, k, rate):
    y = x * k - paddle.tanh(x) / (k + 1)
    y = y + rate * y.mean() - k
    n = host(y)
    z = y * n - k * rate + paddle.exp(-y)
    return z


def test_numbers_that_change_are_inputs() -> None:
    """H1: a Python number that is another one on each call makes no program for each."""
    converted = islands(numbers)
    x = paddle.to_tensor([0.1, 0.2, 0.3])
    for k in range(12):
        want, got = numbers(x, k, k / 7), converted(x, k, k / 7)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)
    assert len(converted.programs) <= 4


def grad_of_an_outer_loss(loss, weight):
    return paddle.grad(loss * 2, [weight])[0]


def test_gradients_that_go_on_outside() -> None:
    """F2: a gradient through how an argument was computed is dygraph's, or refused."""
    weight = paddle.create_parameter([2], "float32")

    def loss():
        return (weight * weight).sum()

    want = grad_of_an_outer_loss(loss(), weight)
    got = islands(grad_of_an_outer_loss)(loss(), weight)
    np.testing.assert_allclose(got.numpy(), want.numpy())
    with pytest.raises(D2SError, match="D2S205"):
        d2s.to_static(lambda each: paddle.grad(each, [weight])[0])(loss())


def finite(tensors):
    return [each.grad is not None and bool(paddle.isfinite(each.grad).all()) for each in tensors]


def test_gradients_of_arguments_are_those_they_have() -> None:
    """F2: ``.grad`` of an argument is not taken for missing."""
    weight = paddle.create_parameter([2], "float32")
    converted = islands(finite)
    for scale, want in ((1.0, [True]), (float("inf"), [False])):
        weight.clear_gradient(False)
        (weight * scale).sum().backward()
        assert converted([weight]) == want
    with pytest.raises(D2SError, match="has a gradient already"):
        d2s.to_static(lambda each: each.grad is None)(weight)


def test_exceptions_have_the_lines_of_the_user() -> None:
    """E4: what a driver or an island raises is what dygraph raises."""

    def failing(x):
        y = x * 2 + 1 - x.mean()
        if host(y) > 0:
            y = y.reshape([7, 7])
        return y

    converted = islands(failing)
    with pytest.raises(ValueError, match="ReshapeOp") as plain:
        failing(paddle.ones([3]))
    with pytest.raises(ValueError, match="ReshapeOp") as caught:
        converted(paddle.ones([3]))
    lines = [
        [step.tb_lineno for step in steps(info.tb) if step.tb_frame.f_code.co_filename == __file__]
        for info in (plain, caught)
    ]
    assert lines[0][1:] == lines[1][1:]


@pytest.mark.parametrize("case", range(4))
def test_a_driver_and_its_island_are_one_frame(case: int) -> None:
    """E4, H1: a traceback has one entry for the function, at the line that raised."""

    def failing(x, case):
        y = x * 2 + 1 - x.mean()
        if host(y) > 100:
            return y
        y = paddle.tanh(y) * 2
        if case == 0:
            y = y.reshape([7, 7])
        if case == 1:
            raise KeyError(y.shape[0])
        if case == 2:
            y = {}["key"]
        assert case != 3, "not three"
        return y * y + 1

    converted = islands(failing)
    converted(paddle.ones([3]), 9)
    seen = []
    for function in (failing, converted):
        with pytest.raises((ValueError, KeyError, AssertionError)) as caught:
            function(paddle.ones([3]), case)
        here = [step for step in steps(caught.tb) if step.tb_frame.f_code.co_filename == __file__]
        seen.append([step.tb_lineno for step in here[1:]])
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1


def steps(trace):
    while trace is not None:
        yield trace
        trace = trace.tb_next


def test_generators_and_partials() -> None:
    """H1: what is no plain function is split as well."""

    def items(x):
        y = x * 2 - paddle.tanh(x) + 1
        yield y
        y = y * host(y) - paddle.exp(y)
        yield y * 2

    with pytest.warns(BreakWarning):
        got = [each.numpy().tolist() for each in islands(items)(paddle.ones([2]))]
    assert got == [each.numpy().tolist() for each in items(paddle.ones([2]))]
    partial = functools.partial(callee, factor=0.5)
    assert_same(partial, paddle.ones([3]), static=islands(partial))


def test_the_code_shows_the_driver_and_its_islands() -> None:
    """H1: what became of a function can be read."""
    converted = islands(middle)
    converted(paddle.ones([3]))
    assert "y = d2s.island_0(x)" in converted.code
    assert "k = host(y)" in converted.code
    assert "return d2s.island_1(y, k)" in converted.code
    assert all(each.lines is not None for each in converted.programs)


def test_functions_without_a_text_run_in_dygraph() -> None:
    """H2: a function made by ``exec`` is what it was."""
    scope: dict[str, object] = {"paddle": paddle}
    exec("def made(x):\n    return x * 2 + paddle.tanh(x)", scope)
    made = scope["made"]
    with pytest.raises(D2SError, match="D2S101"):
        d2s.to_static(made)(paddle.ones([2]))
    with pytest.warns(BreakWarning, match="D2S101"):
        got = islands(made)(paddle.ones([2]))
    np.testing.assert_allclose(got.numpy(), made(paddle.ones([2])).numpy())


def test_what_is_given_back_is_new_on_each_call() -> None:
    """A1, H1: an object that the function makes is another one on each call."""

    class Counter:
        def __init__(self, start):
            self.count = start
            self.items = [start]

    def make(x):
        return x + 1, Counter(3), np.zeros(2)

    converted = d2s.to_static(make)
    _, first, array = converted(paddle.ones([1]))
    first.count += 1
    first.items.append(5)
    array += 1
    _, second, other = converted(paddle.ones([1]))
    assert (second.count, second.items, other.tolist()) == (3, [3], [0.0, 0.0])
    with pytest.raises(D2SError, match="list_iterator"):
        d2s.to_static(lambda x: (x, iter([1, 2])))(paddle.ones([1]))


def test_strict_errors_are_those_of_before() -> None:
    """H1: what leaves the graph keeps its own class and code where it is refused."""
    with pytest.raises(NotStaticError):
        d2s.to_static(lambda x: memoryview(x.numpy()))(paddle.ones([1]))


def counted(x):
    counts, free = {}, [0, 1, 2]
    while free and len(counts) < 9:
        place = free.pop(0)
        counts[place] = counts.get(place, 0) + 1
        if x[place] > 0 and counts[place] < 3:
            free.append(int(x[place]))
    return counts


def test_what_only_the_run_refuses() -> None:
    """H1: a refusal by the run itself leaves nothing behind, and dygraph goes on."""
    x = paddle.to_tensor([0, 2, 0])
    converted = islands(counted)
    assert converted(x) == counted(x)
    assert converted(paddle.to_tensor([1, 2, 1])) == counted(paddle.to_tensor([1, 2, 1]))


def set_at(x, key):
    held = {0: x * 2, 1: x * 3, 2: x + 1}
    y = paddle.tanh(x).sum() + x.mean()
    held[int(key)] = y
    return held[int(key)] + y - x.max()


def test_what_a_later_run_refuses() -> None:
    """H1: the program of calls that went well is given up by the call that does not."""
    converted = islands(set_at)
    for key in (0, 1, 0, 1, 2, 3, 3):
        arguments = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(key)
        assert converted(*arguments).tolist() == set_at(*arguments).tolist()


def set_at_logarithm(x, key):
    held = {0: x * 2}
    number = math.log(float(x.sum()))
    held[int(key)] = x * number
    return held[int(key)] + x


def test_what_only_raises_is_no_effect() -> None:
    """H1: a function that is asked on the run whether it raises has done nothing."""
    x = paddle.to_tensor([1.0, 2.0])
    want = set_at_logarithm(x, paddle.to_tensor(3)).tolist()
    assert np.allclose(islands(set_at_logarithm)(x, paddle.to_tensor(3)).tolist(), want)


def warns_then_sets(x, key):
    held = {0: x * 2}
    warnings.warn(f"sum {float(x.sum())}", UserWarning, stacklevel=1)
    held[int(key)] = x
    return held[int(key)] + x


def test_a_warning_is_an_effect() -> None:
    """H1: what a run has told is not told again; the refusal comes out instead."""
    converted = islands(warns_then_sets)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with contextlib.suppress(D2SError):
            converted(paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(3))
    assert len([each for each in told if each.category is UserWarning]) == 1


def straight(x):
    y = x * 2 + 1 - x.mean()
    if y.sum() > 0:
        y = paddle.tanh(y)
    return y + x.max()


@pytest.mark.parametrize(
    "where", ["d2s.conversion.transform", "d2s.program.capture.capture.drop_unread"]
)
def test_a_defect_of_ours_leaves_dygraph(monkeypatch, where) -> None:
    """H1: conversion and capture fail; it is told once, and the function runs as it is."""

    def broken(*args, **kwargs):
        raise ZeroDivisionError("a defect")

    function = function_of(inspect.getsource(straight))
    x = paddle.to_tensor([1.0, 2.0])
    monkeypatch.setattr(where, broken)
    converted = islands(function)
    with pytest.warns(BreakWarning, match=r"ZeroDivisionError: a defect.*\n.*report it"):
        assert converted(x).tolist() == straight(x).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert converted(x).tolist() == straight(x).tolist()
    with pytest.raises(Exception, match="a defect"):
        d2s.to_static(function_of(inspect.getsource(straight)), full_graph=True)(x)


def test_an_exception_of_the_users_comes_from_dygraph() -> None:
    """H1: it is raised once, with nothing of ours in it, and breaks nothing."""
    seen = []

    def strict(x, least):
        y = x * 2 - x.mean()
        if least > 3:
            seen.append(least)
            raise KeyError("least")
        return y

    converted = islands(strict)
    with pytest.raises(KeyError) as caught:
        converted(paddle.ones([2]), 4)
    assert seen == [4]
    assert not vars(caught.value)
    assert caught.value.__context__ is None
    assert converted(paddle.ones([2]), 3).tolist() == [1.0, 1.0]
    assert not converted.breaks


def test_functions_of_c() -> None:
    """H2: they have no text; they are told of and given back as they are."""
    with pytest.warns(BreakWarning, match="in dygraph"):
        assert d2s.to_static(math.sqrt, full_graph=False) is math.sqrt
    with pytest.raises(NotAFunctionError):
        d2s.to_static(math.sqrt, full_graph=True)
    for never in (3, "text", Model):
        with pytest.raises(NotAFunctionError):
            d2s.to_static(never, full_graph=False)


def test_in_static_mode() -> None:
    """H1: a function that adds operations to a program of the user's does so undisturbed."""
    converted = d2s.to_static(lambda x: x * 2 + 1, full_graph=False)
    program = paddle.static.Program()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(program):
            result = converted(paddle.static.data("x", [2], "float32"))
            found = paddle.static.Executor().run(
                program, feed={"x": np.ones(2, "float32")}, fetch_list=[result]
            )
    finally:
        paddle.disable_static()
    assert found[0].tolist() == [3.0, 3.0]


def test_a_condition_of_many_values_says_what_dygraph_says() -> None:
    """H1: what is refused in a capture, and raises in dygraph, raises that."""

    def many(x):
        if x > 0:
            x = x * 2
        return x

    with pytest.raises(Exception, match="condition") as want:
        many(paddle.ones([3]))
    with pytest.raises(type(want.value)) as caught:
        islands(many)(paddle.ones([3]))
    assert str(caught.value) == str(want.value)


def test_parameters_that_each_call_makes() -> None:
    """H1: a layer that a function makes anew on each call."""

    def made(x):
        return paddle.nn.Linear(2, 2, weight_attr=paddle.nn.initializer.Constant(1.0))(x) * 2

    x = paddle.ones([1, 2])
    converted = islands(made)
    assert [converted(x).tolist() for _ in range(3)] == [made(x).tolist()] * 3


def test_what_is_checked_is_one_program_or_said_not_to_be() -> None:
    """H1: a check never takes dygraph for a program; one of every call looks at islands, too."""
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(full_graph=False):
        with pytest.raises(D2SError):
            d2s.check(middle, x).raise_for_difference()
        checked = d2s.to_static(middle, check=True)
        assert np.allclose(checked(x).item(), middle(x).item())
        assert np.allclose(checked(x).item(), middle(x).item())
    assert checked.breaks


def many_small(x):
    y = paddle.tanh(x * 2) + 1
    k = host(y)
    z = y * k + paddle.sin(y) - y.mean() + 1
    return z.sum() + z.max()


def caller_of_small(x):
    return many_small(x) * 2


def drawing(x):
    k = host(x)
    y = x * k + paddle.rand([3]) - x.mean() * 2 + 1
    return y


def _times(monkeypatch, program, dygraph):
    """Let the calls of islands take so long in their trials."""
    now = [0.0]
    monkeypatch.setattr(paying.time, "perf_counter", lambda: now[0])
    end = paying.Trial.end

    def ends(trial, **how):
        now[0] += program if how["program"] else dygraph
        end(trial, **how)

    monkeypatch.setattr(paying.Trial, "end", ends)


@pytest.mark.parametrize(("program", "pays"), [(1.0, True), (1.98, False), (3.0, False)])
def test_an_island_that_does_not_pay_is_dygraph(monkeypatch, program, pays) -> None:
    """H3: where a program is slower than dygraph, what is left is the plain function."""
    _times(monkeypatch, program, 2.0)
    converted = islands(many_small)
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(try_dygraph=True):
        for _ in range(30):
            assert float(converted(x)) == pytest.approx(float(many_small(x)), rel=1e-6)
    assert bool(converted.programs) is pays
    assert converted.breaks
    assert (
        "in dygraph: a program takes longer there, or is impossible" in converted.code
    ) is not pays


def test_without_islands_callers_are_plain_too(monkeypatch) -> None:
    """H3: where a callee has nothing that pays, its caller does not go through a driver."""
    _times(monkeypatch, 3.0, 2.0)
    converted = islands(caller_of_small)
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(try_dygraph=True):
        for _ in range(30):
            assert_same(caller_of_small, x, static=converted)
    assert "d2s.through" not in converted.code
    assert converted._driver.plain


@pytest.mark.parametrize(("driver", "pays"), [(1.0, True), (1.96, False), (3.0, False)])
def test_a_driver_that_does_not_pay_is_dygraph(monkeypatch, driver, pays) -> None:
    """H3: where islands pay and the driver around them does not, the function is the plain one."""
    _times(monkeypatch, 1.0, 2.0)
    note = paying.Comparison.note

    def noted(comparison, took, *, converted, drawn):
        note(comparison, driver if converted else 2.0, converted=converted, drawn=drawn)

    monkeypatch.setattr(paying.Comparison, "note", noted)
    converted = islands(many_small)
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(try_dygraph=True):
        for _ in range(60):
            assert float(converted(x)) == pytest.approx(float(many_small(x)), rel=1e-6)
    assert converted._driver.plain is not pays
    assert bool(converted.programs) is pays
    assert converted.breaks


def on_both_sides(x):
    y = paddle.tanh(x * 2) + 1
    k = host(y)
    return (y * k + paddle.sin(y) - y.mean() + 1).sum()


def test_a_driver_that_does_not_pay_beside_one_slower_island(monkeypatch) -> None:
    """H3: with one island in dygraph already, what is left is the plain function, too."""
    _times(monkeypatch, 1.0, 2.0)
    note, end, slow = paying.Comparison.note, paying.Trial.end, []

    def noted(comparison, took, *, converted, drawn):
        note(comparison, 3.0 if converted else 2.0, converted=converted, drawn=drawn)

    def ends(trial, **how):
        slow[:] = slow or [trial]
        end(trial, **how)
        if trial is slow[0] and trial.pays:
            trial.pays = False

    monkeypatch.setattr(paying.Comparison, "note", noted)
    monkeypatch.setattr(paying.Trial, "end", ends)
    converted = islands(on_both_sides)
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(try_dygraph=True, least_island=1):
        for _ in range(60):
            assert float(converted(x)) == pytest.approx(float(on_both_sides(x)), rel=1e-6)
    assert len(slow) == 1
    assert converted._driver.plain


def test_what_draws_is_not_tried(monkeypatch) -> None:
    """H3: a program draws other numbers than dygraph does, so time does not decide there."""
    _times(monkeypatch, 3.0, 2.0)
    converted = islands(drawing)
    with d2s.options(try_dygraph=True):
        for _ in range(60):
            converted(paddle.ones([3]))
    assert converted.programs
    assert not converted._driver.plain


def test_the_least_island_is_an_option() -> None:
    """H3: stretches below a size stay dygraph."""
    x = paddle.to_tensor([0.5, 1.5, -0.2])
    with d2s.options(least_island=100):
        converted = islands(with_option)
        assert_same(with_option, x, static=converted)
        assert converted.breaks
        assert not converted.programs


def with_option(x):
    y = paddle.tanh(x * 2) + 1
    k = host(y)
    z = y * k + paddle.sin(y) - y.mean() + 1
    return z.sum() + z.max()


def slope_of_leaf(x):
    u = (x * 0.25).detach()
    u.stop_gradient = False
    slope = paddle.grad(paddle.tanh(u).sum(), u, create_graph=True)[0]
    k = host(x)
    return slope.detach() * k + paddle.grad((slope * slope).sum(), u)[0] * 0.1


def gradient_of_leaf(x):
    u = paddle.to_tensor([0.5, 1.0, 2.0], stop_gradient=False)
    loss = (paddle.tanh(u * x) * 2 + x).sum()
    k = host(x)
    loss.backward()
    return u.grad * k + x, u.is_leaf


def gradient_of_intermediate(x):
    y = paddle.tanh(x * 2) + x.mean()
    z = (y * y + y.sin()).sum() * 2
    k = host(z)
    return paddle.grad(z, y)[0] * k + x


def leaf_beside_others(x):
    y = paddle.tanh(x * 2) + x.mean()
    u = (x * 0.5).detach()
    u.stop_gradient = False
    k = host(x)
    slope = paddle.grad((u * u * u).sum(), u, create_graph=True)[0]
    return y * k + paddle.grad((slope * slope).sum(), u)[0] * 0.1


def gradient_that_is_retained(x):
    y = paddle.tanh(x * 2) + x.mean()
    y.retain_grads()
    k = host(y)
    z = paddle.sin(y * y) * k - y.cos()
    z.sum().backward()
    return y.grad, x.grad


@pytest.mark.parametrize(
    "function",
    [
        slope_of_leaf,
        gradient_of_leaf,
        gradient_of_intermediate,
        leaf_beside_others,
        gradient_that_is_retained,
    ],
)
def test_gradients_of_variables_across_islands(function) -> None:
    """C7: no island parts a variable from what is differentiated by it behind the break."""
    x = paddle.to_tensor([0.5, 1.5, -0.2], stop_gradient=False)
    assert_same(function, x, static=islands(function))


def leaf_and_loss(x):
    u = (x * 0.25).detach()
    u.stop_gradient = False
    return u, paddle.tanh(u * 2).sum() + x.mean()


def leaf_and_other(x):
    u = (x * 0.25).detach()
    u.stop_gradient = False
    return u, paddle.tanh(x * 2).sum()


def test_a_leaf_among_the_results_gets_its_gradient() -> None:
    """C7: a result at which gradients end, and another one that is computed from it."""
    for function in (leaf_and_loss, leaf_and_other):
        converted = islands(function)
        for _ in range(2):
            for each in (function, converted):
                x = paddle.to_tensor([0.5, 1.5, -0.2], stop_gradient=False)
                u, loss = each(x)
                (loss + (u * 3).sum()).backward()
                if each is function:
                    want = u.grad.numpy(), x.grad.numpy()
                else:
                    np.testing.assert_allclose(u.grad.numpy(), want[0], rtol=1e-6)
                    np.testing.assert_allclose(x.grad.numpy(), want[1], rtol=1e-6)
    with pytest.raises(UnsupportedInGraphError, match="stop_gradient=False"):
        d2s.to_static(leaf_and_loss, full_graph=True)(paddle.ones([3]))


@d2s.not_to_static
def busy(seconds: float) -> None:
    """Take the processor for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_a_capture_that_takes_too_long_is_given_up() -> None:
    """E1: by default the function runs in dygraph then; one program goes on."""

    def function(x: Any) -> Any:
        y = x * 2
        if paddle.in_dynamic_mode():
            return y if x.sum() > 0 else x
        busy(1.1)
        return y if x.sum() > 0 else x

    with d2s.options(capture_seconds=1):
        converted = d2s.to_static(function, full_graph=False)
        with pytest.warns(BreakWarning, match="D2S_CAPTURE_SECONDS"):
            assert converted(tensor(1.0)).item() == 2.0
        assert converted(tensor(-1.0)).item() == -1.0
        assert not converted.programs
        whole = d2s.to_static(function, full_graph=True)
        assert whole(tensor(1.0)).item() == 2.0
        assert whole.programs


def test_a_program_that_is_too_large_is_given_up() -> None:
    """H1: by default the function runs in dygraph where Paddle needs too long to make it ready."""

    def function(x: Any) -> Any:
        for _ in range(1700):
            x = x + 1
        return x if x.sum() > 0 else -x

    with d2s.options(capture_seconds=1):
        converted = d2s.to_static(function, full_graph=False)
        with pytest.warns(BreakWarning, match=r"operations, and Paddle .* D2S_CAPTURE_SECONDS"):
            assert converted(tensor(1.0)).item() == 1701.0
        assert converted(tensor(-2000.0)).item() == 300.0
        assert not converted.programs
    with d2s.options(capture_seconds=0):
        larger = d2s.to_static(function, full_graph=False)
        assert larger(tensor(1.0)).item() == 1701.0
        assert larger.programs


def test_a_program_whose_alternatives_multiply_is_refused(monkeypatch: Any) -> None:
    """B3: each step multiplied what the next one may be given, and the capture did not end."""
    monkeypatch.setattr("d2s.program.capture.capture.MOST_USES", 6)

    def plus(x: Any, then: Any) -> Any:
        return then(x + 1)

    def minus(x: Any, then: Any) -> Any:
        return then(x - 1)

    def function(x: Any, seconds: float) -> Any:
        first = plus if x.sum() > 0 else minus
        second = paddle.sin if x.max() > 1 else paddle.cos
        for _ in range(8):
            x = first(x, second)
            if not paddle.in_dynamic_mode():
                busy(seconds)
        return x if x.sum() > 0 else -x

    with d2s.options(capture_seconds=1):
        converted = d2s.to_static(function, full_graph=True)
        with pytest.raises(UnsupportedInGraphError, match="D2S_CAPTURE_SECONDS") as caught:
            converted(tensor(1.0), 0.2)
        assert caught.value.line
        assert converted(tensor(1.0), 0).item() == function(tensor(1.0), 0).item()


def test_what_has_to_be_one_program_is_given_up_in_the_end() -> None:
    """B3: after twice the time, at the line where it was; another way to capture has no more."""

    def function(x: Any, seconds: float) -> Any:
        for _ in range(8):
            if not paddle.in_dynamic_mode():
                busy(seconds)
            x = x + 1 if x.sum() > 0 else x - 1
        return x

    with d2s.options(capture_seconds=1):
        converted = d2s.to_static(function, full_graph=True)
        start = time.thread_time()
        with pytest.raises(UnsupportedInGraphError, match="D2S_CAPTURE_SECONDS") as caught:
            converted(tensor(1.0), 0.4)
        assert caught.value.line
        assert time.thread_time() - start < 4
        assert converted(tensor(1.0), 0).item() == function(tensor(1.0), 0).item()
