"""The bridge: what it corrects in this version of Paddle is really there to be corrected."""

from __future__ import annotations

import ctypes
import inspect
import logging
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.autograd import ir_backward

import d2s
from d2s import paddle_bridge as bridge
from d2s.paddle_bridge import flags
from d2s.paddle_bridge import names as private
from d2s.paddle_bridge.gradients import codes, repairs
from tests.helpers import scalar, tensor

LAYER = paddle.nn.Linear(3, 3)
POINTS = (((0.5, -0.3, 0.8), (0.9, 1.1, -0.7)), ((1.2, 0.4, -0.5), (1.3, 0.8, 0.6)))


def test_each_repair_finds_its_place() -> None:
    """C7: on a tried version no repair may fall away in silence."""
    text = inspect.getsource(ir_backward)
    assert [text.count(wrong) for wrong, _ in repairs._REPAIRS] == [1] * len(repairs._REPAIRS)
    assert bridge.gradient_function() is not ir_backward.grad


def test_what_paddle_says_of_unused_inputs_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    """C7: a line of the log that names nothing of the user's; other lines are heard."""
    assert "provided by inputs has no use" in inspect.getsource(ir_backward)
    with codes.coded_gradients():
        logging.warning("input x provided by inputs has no use")
        logging.warning("input x is used")
    logging.warning("y provided by inputs has no use")
    assert caplog.messages == ["input x is used", "y provided by inputs has no use"]


def test_the_flag_of_the_interpreter_is_restored() -> None:
    """A user's global flag is his."""
    values = private.core.globals()
    before = values[flags.TRACE]
    with bridge.program_order():
        assert values[flags.TRACE] is True
        with bridge.program_order():
            assert values[flags.TRACE] is True
        assert values[flags.TRACE] is True
    assert values[flags.TRACE] == before


def test_the_flag_is_found_in_memory() -> None:
    """What the user sets is seen there, and what is set there is what Paddle reads."""
    values = private.core.globals()
    found = flags._in_memory(flags.TRACE)
    assert isinstance(found, ctypes.c_bool), "a call costs half a microsecond more without it"
    before = values[flags.TRACE]
    try:
        for value in (True, False, True):
            values[flags.TRACE] = value
            assert found.value is value
            found.value = not value
            assert values[flags.TRACE] is not value
    finally:
        values[flags.TRACE] = before


class Elsewhere:
    """Stands for ``ctypes`` where the memory of the flag is another one, or not to be found."""

    def __init__(self, found: Any) -> None:
        self.CDLL = str
        self.c_bool = types.SimpleNamespace(in_dll=self.in_dll)
        self.found = found

    def in_dll(self, library: str, name: str) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return types.SimpleNamespace(value=self.found)


@pytest.mark.parametrize("found", [ValueError("no symbol"), OSError("no library"), False, True])
def test_a_flag_that_is_not_in_memory(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paddle's table does as well."""
    values = private.core.globals()
    before = values[flags.TRACE]
    monkeypatch.setattr(flags, "ctypes", Elsewhere(found))
    flag = flags._in_memory(flags.TRACE)
    assert values[flags.TRACE] is before
    assert isinstance(flag, flags._Registered)
    try:
        flag.value = not before
        assert values[flags.TRACE] is flag.value is (not before)
    finally:
        values[flags.TRACE] = before


# -- gradients, added up over three calls --------------------------------------------------------


def three_calls(function: Callable[..., Any], point: Any, n: int) -> list[Any]:
    """The results of three calls, and the gradients that they leave together."""
    x, w = (tensor(*values) for values in point)
    x.stop_gradient = w.stop_gradient = False
    parameters = LAYER.parameters()
    for parameter in parameters:
        parameter.clear_gradient()
    seen = []
    for _ in range(3):
        result = function(x, w, scalar(n))
        (result * paddle.linspace(0.5, 1.5, 3)).sum().backward()
        seen.append(result.numpy())
    for leaf in (x, w, *parameters):
        seen.append(np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy())
    return seen


def assert_gradients(function: Callable[..., Any]) -> None:
    """Hold gradients that add up over calls against dygraph, for several numbers of trips."""
    static = d2s.to_static(function)
    for point in POINTS:
        for n in (0, 1, 2, 4):
            for want, got in zip(
                three_calls(function, point, n), three_calls(static, point, n), strict=True
            ):
                np.testing.assert_allclose(got, want, 2e-3, 1e-4, err_msg=f"{point}, {n}")


def inner_trips_vary(x, w, n):
    s = x
    for i in range(n):
        for _j in range(i, n):
            s = s * w * 0.5 + x
        s = s * x + paddle.sin(s)
    return s


def inner_trips_depend_on_values(x, w, n):
    i = paddle.zeros([], "int64")
    while i < n:
        x = x * 2 + 1
        while x.abs().sum() > 4:
            x = x * w * 0.5
        x = x * x
        i = i + 1
    return x


def branch_inside_the_inner_loop(x, w, n):
    s = x
    for i in range(n):
        t = s * x
        for _j in range(i + 1):
            if s.sum() > 1:
                s = s * w * t * 0.3
            else:
                s = s + t * x
        s = s * 0.7 + t
    return s


def inner_loop_inside_a_branch(x, w, n):
    s = x
    for i in range(n):
        if i % 2 == 0:
            for _j in range(n - i):
                s = s * w + paddle.tanh(x * s)
        else:
            while s.sum() > 1:
                s = s * 0.5 - 0.1 * w
        s = s * 0.5 + x
    return s


def parameters_and_values_from_outside(x, w, n):
    v = w * w
    s = x
    for i in range(n):
        h = s * v
        for _j in range(i):
            s = paddle.tanh(LAYER(s)) + h * v
        s = s * h
    return s


def three_loops(x, w, n):
    s = x
    for i in range(n):
        for j in range(i + 1):
            for _k in range(j, n):
                s = paddle.sin(s * w) + x
            s = s * 1.1
        s = s * x
    return s


def four_loops_and_branches(x, w, n):
    s = x
    for i in range(n):
        if i > 0:
            for j in range(i):
                if s.sum() > 1:
                    for k in range(j + 1):
                        if k < 2:
                            for _m in range(k + 1):
                                s = paddle.tanh(s * w) + x * 0.1
                        else:
                            s = s - x
                else:
                    s = s * 2 + x
        else:
            s = s * x
    return s


def two_inner_loops(x, w, n):
    s = x
    for i in range(n):
        a = s
        for _j in range(i):
            a = a * w
        c = a * s
        for _k in range(n - i):
            c = paddle.sin(c) * a + x
        s = c
    return s


def sum_in_the_inner_loop(x, w, n):
    total = paddle.zeros([3])
    for i in range(n):
        t = x * w * (i + 1)
        part = paddle.zeros([3])
        for j in range(i + 1):
            part = part + t * x * j
        total = total + part * part
    return total


def nothing_needs_saving(x, w, n):
    s = x
    for i in range(n):
        for _j in range(i):
            s = s + w
        s = s + x
    return s


def break_and_continue(x, w, n):
    s = x
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if s.sum() > 3:
                s = s * 0.3
                continue
            s = s * w + x
        s = s * s * 0.2
    return s


def returns_from_the_inner_loop(x, w, n):
    for _i in range(n):
        for _j in range(n):
            x = x * w
            if x.sum() > 1:
                return x * x
    return x * 3


def shapes_grow_in_the_inner_loop(x, w, n):
    s = x
    for i in range(n):
        y = s
        for _j in range(i):
            y = paddle.concat([y, w * s[:1]])
        s = s * y.mean()
    return s


def list_grows_in_the_inner_loop(x, w, n):
    s = x
    for i in range(n):
        part = [s]
        for j in range(i + 1):
            s = s * w * 0.8
            part.append(s * part[j])
        s = s * 0.3 + paddle.stack(part).sum(0)
    return s


def list_of_the_outer_loop_is_read(x, w, n):
    out = [x]
    for i in range(n):
        part = x * 0
        for j in range(i + 1):
            part = part + out[j] * w * (j + 1)
        out.append(part * 0.5)
    return out[-1]


def number_of_the_outer_loop_is_read_twice(x, w, n):
    a = x
    for i in range(n):
        for _j in range(i, n):
            if i < 2:
                a = a * w
        for _k in range(i, n):
            a = paddle.tanh(x * a)
    return a


@pytest.mark.sampled(3, also=["list_of_the_outer_loop_is_read"])
@pytest.mark.parametrize(
    "function",
    [
        inner_trips_vary,
        inner_trips_depend_on_values,
        branch_inside_the_inner_loop,
        inner_loop_inside_a_branch,
        parameters_and_values_from_outside,
        pytest.param(three_loops, marks=pytest.mark.slow),
        pytest.param(four_loops_and_branches, marks=pytest.mark.slow),
        two_inner_loops,
        sum_in_the_inner_loop,
        nothing_needs_saving,
        break_and_continue,
        returns_from_the_inner_loop,
        shapes_grow_in_the_inner_loop,
        pytest.param(list_grows_in_the_inner_loop, marks=pytest.mark.slow),
        list_of_the_outer_loop_is_read,
        number_of_the_outer_loop_is_read_twice,
    ],
)
def test_gradients_through_loops_in_loops(function: Callable[..., Any]) -> None:
    """C7: Paddle's gradient of an inner loop takes back the trips of all its entries at once."""
    assert_gradients(function)


def test_only_gradients_mark_inner_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inference does not pay for the variable by which the gradient knows where to stop."""
    marked = []
    mark = repairs._mark
    monkeypatch.setattr(repairs, "_mark", lambda loop: (marked.append(loop), mark(loop)))
    static = d2s.to_static(inner_trips_vary)
    with paddle.no_grad():
        static(tensor(1.0, 2.0, 3.0), tensor(1.0, 1.0, 1.0), scalar(2))
    assert not marked
    three_calls(static, POINTS[0], 2)
    assert len(marked) == 1


# -- values that a branch reads ------------------------------------------------------------------


def reduced_outside(x, w, n):
    if n > 1:
        y = x * w
    else:
        y = x * 2 + w
    return y + x.sum() + w.mean() + w[0] + x.reshape([3, 1]).sum()


def parameter_reduced_outside(x, w, n):
    if n > 1:
        y = LAYER.weight * LAYER.weight
    else:
        y = LAYER.weight * 2
    return y.sum(0) + LAYER.weight.sum() * x + LAYER(w)


def mask_without_gradient(x, w, n):
    m = (w > 0).astype("float32") + 1
    if n > 1:
        y = x * m
    else:
        y = x + m
    return y + m + x.sum()


def read_by_branches_in_branches(x, w, n):
    if n > 1:
        v = x * w
        if n > 2:
            y = v * v
        else:
            y = v * w
        y = y + v.sum() + v[0]
    else:
        y = w * w * x
    return y + x.mean() + w.sum()


def read_by_two_branches(x, w, n):
    v = x * 2
    if n > 1:
        y = v * v
    else:
        y = paddle.exp(v)
    u = y * 3
    if n > 2:
        t = u * v * u
    else:
        t = u / (v * v + 1)
    return t.sum() + v.sum() + u.mean() + v


def read_by_a_branch_in_a_loop(x, w, n):
    s = x
    for i in range(n):
        v = s * w
        if i > 0:
            y = v * v
        else:
            y = v * s
        s = (y + v.sum() + v.mean() * w.sum()) * 0.2
    return s + x.sum()


def read_by_a_loop_in_a_branch(x, w, n):
    if n > 1:
        v = x * w
        for _i in range(n):
            x = v * v * x * 0.3 + v.sum()
        x = x + v.mean() + w.sum()
    else:
        x = x * x
    return x + w.mean()


@pytest.mark.parametrize(
    "function",
    [
        reduced_outside,
        parameter_reduced_outside,
        mask_without_gradient,
        read_by_branches_in_branches,
        read_by_two_branches,
        read_by_a_branch_in_a_loop,
        read_by_a_loop_in_a_branch,
    ],
)
def test_values_of_which_code_outside_needs_the_shape_only(function: Callable[..., Any]) -> None:
    """C7: the branch needs the contents; it said "Tensor holds no memory"."""
    assert_gradients(function)


# -- results that their kernels leave empty ------------------------------------------------------


def dropout_of_evaluation(x, w, n):
    y = x.reshape([1, 3]) * w
    if n > 1:
        y = paddle.nn.functional.dropout(y * 2, 0.25, training=False)
        y = y * y + y.mean()
    return y.reshape([3])


def dropout_that_scales_down(x, w, n):
    y = x.reshape([1, 3]) * w
    if n > 1:
        y = paddle.nn.functional.dropout(y, 0.25, training=False, mode="downscale_in_infer")
        y = y * y + y.mean()
    else:
        y = y * x
    return y.reshape([3])


def dropout_in_a_branch_of_a_loop(x, w, n):
    s = x
    for i in range(n):
        if i > 0:
            y = paddle.nn.functional.dropout(s * w, training=False)
            s = y * y * 0.5 + s
        else:
            s = paddle.nn.functional.dropout(s, training=False) * w
    return s


def einsum_of_one(x, w, n):
    y = x
    if n > 1:
        y = x * paddle.einsum("i->", w * x)
        y = y + paddle.einsum("ij->j", LAYER.weight)
    return y * w


def einsum_of_two(x, w, n):
    y = x
    if n > 1:
        y = paddle.einsum("i,ij->j", x * w, LAYER.weight)
        y = paddle.einsum("i,i->", y, x) + y
    return y * w


def einsum_of_three_in_a_loop(x, w, n):
    s = x
    for _i in range(n):
        s = paddle.einsum("i,ij,j->j", s, LAYER.weight, w) + x
    return s


@pytest.mark.parametrize(
    "function",
    [
        dropout_of_evaluation,
        dropout_that_scales_down,
        dropout_in_a_branch_of_a_loop,
        einsum_of_one,
        einsum_of_two,
        einsum_of_three_in_a_loop,
    ],
)
def test_results_that_are_empty_on_the_run_are_not_saved(function: Callable[..., Any]) -> None:
    """C7: saving one for the gradient failed with "DenseTensor shouldn't be null"."""
    assert_gradients(function)


@pytest.mark.parametrize("function", [read_by_two_branches, inner_trips_vary])
def test_blocks_save_what_gradients_read(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paddle copies whatever a block makes, on each trip."""
    counts = []
    save = repairs.save_what_is_read

    def count(program: Any) -> int:
        return sum(
            len({value.id for value in operation.operands_source()})
            for operation in bridge.operations(program)
            if operation.name() == "cf.tuple_push"
        )

    def watched(program: Any) -> None:
        before = count(program)
        save(program)
        counts.append((before, count(program)))

    monkeypatch.setattr(repairs, "save_what_is_read", watched)
    three_calls(d2s.to_static(function), POINTS[0], 2)
    ((before, after),) = counts
    assert after < before
