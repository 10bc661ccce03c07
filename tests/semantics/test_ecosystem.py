"""Converted functions among the rest of Paddle: recompute, derivatives, AMP, several processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import paddle
import pytest
from paddle.distributed.fleet.utils import recompute

import d2s
from tests.helpers import assert_same, tensor

X = tensor(1.0, 2.0, 3.0)
BOTH = (X, -X)


# -- row 100 of the support table, without PyLayer ------------------------------------------------


def test_recompute() -> None:
    linear = paddle.nn.Linear(3, 3)

    def f(x):
        y = recompute(linear, x)
        if y.sum() > 0:
            return recompute(linear, y) * 2
        return y

    assert_same(f, *BOTH)


def test_derivatives_inside_of_the_function() -> None:
    def f(x):
        (first,) = paddle.grad((x * x * x).sum(), x, create_graph=True)
        return (first * first).sum()

    assert_same(f, *BOTH)


def test_derivatives_inside_of_a_branch() -> None:
    def f(x):
        if x.sum() > 0:
            (first,) = paddle.grad((x * x * x).sum(), x)
            return first
        return x

    assert_same(f, *BOTH, grad=False)


def test_a_hook_before_a_layer() -> None:
    linear = paddle.nn.Linear(3, 3)
    linear.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 3,))

    def f(x):
        if x.sum() > 0:
            return linear(x)
        return x

    assert_same(f, *BOTH)


# -- row 102, the outside half --------------------------------------------------------------------


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_auto_cast_around_the_call(level: str) -> None:
    """The CPU casts nothing under ``auto_cast``; a program that does would show here."""
    linear = paddle.nn.Linear(3, 3)

    def f(x):
        y = linear(x)
        if y.sum() > 0:
            return y * 2
        return y

    static = d2s.to_static(f)
    for x in BOTH:
        with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
            want, got = f(x), static(x)
        assert got.dtype == want.dtype
        assert got.astype("float32").numpy() == pytest.approx(
            want.astype("float32").numpy(), rel=1e-5
        )


# -- several processes ----------------------------------------------------------------------------

_TWO_PROCESSES = """
import sys

import paddle
import paddle.distributed

import d2s


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            return y * 2
        return y


def work(kind):
    paddle.distributed.init_parallel_env()
    paddle.seed(1)
    net = Net()
    if kind == "static":
        d2s.to_static(net)
    parallel = paddle.DataParallel(net)
    x = paddle.full([2, 3], float(1 - 4 * paddle.distributed.get_rank()))
    for _ in range(2):
        parallel(x).sum().backward()
    if paddle.distributed.get_rank() == 0:
        print("GRADIENT", net.linear.weight.grad.flatten().tolist())


if __name__ == "__main__":
    paddle.distributed.spawn(work, args=sys.argv[1:], nprocs=2, backend="gloo")
"""


@pytest.mark.slow
@pytest.mark.row(103)
def test_gradients_of_two_processes_are_averaged(tmp_path) -> None:
    """The processes take different sides of the branch."""
    script = tmp_path / "two.py"
    script.write_text(_TWO_PROCESSES)
    found = {}
    for kind in ("dygraph", "static"):
        done = subprocess.run(
            [sys.executable, str(script), kind],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith("GRADIENT")]
        assert lines, done.stderr[-2000:]
        found[kind] = np.array(eval(lines[0].removeprefix("GRADIENT")))
    assert found["static"] == pytest.approx(found["dygraph"])
    assert np.any(found["dygraph"])


# -- what a program sees again --------------------------------------------------------------------


@pytest.mark.row(98)
def test_a_tensor_of_the_closure_is_set_and_replaced() -> None:
    weight = paddle.ones([3])

    def f(x):
        if x.sum() > 0:
            return x * weight
        return x - weight

    static = d2s.to_static(f)
    assert_same(f, *BOTH, static=static)
    weight.set_value(weight * 3)
    assert_same(f, *BOTH, static=static)
    weight = paddle.full([3], 7.0)
    assert_same(f, *BOTH, static=static)


class Odd(paddle.nn.Layer):
    factor = 3.0

    def forward(this, x):
        if x.sum() > 0:
            return x * this.factor
        return this.other(x)

    def other(this, x):
        while x.sum() < -1:
            x = x / this.factor
        return x


@pytest.mark.row(96)
def test_the_first_parameter_has_another_name() -> None:
    assert_same(Odd(), *BOTH)
    assert_same(Odd().other, *BOTH)
    kept = Odd()
    assert_same(kept.forward, *BOTH, static=d2s.to_static(kept.forward))


# -- functions without a file ---------------------------------------------------------------------

_FUNCTION = """
import paddle, d2s
def f(x):
    if x.sum() > 0:
        return x * 2
    return x

print("MADE")
d2s.to_static(f)(paddle.ones([2]))
"""


@pytest.mark.row(113, refused="D2S101")
@pytest.mark.parametrize("way", ["-", "exec"])
def test_a_function_without_source_is_refused(way: str) -> None:
    """Where Python keeps no text; the error names the function, and the cure."""
    text = f"exec({_FUNCTION!r})" if way == "exec" else _FUNCTION
    done = subprocess.run(
        [sys.executable, *(["-c", text] if way != "-" else ["-"])],
        input=text if way == "-" else None,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "MADE" in done.stdout, done.stderr[-2000:]
    assert done.returncode == 1
    assert "NoSourceError" in done.stderr
    assert "the source text of 'f' cannot be found" in done.stderr
    assert "cure: " in done.stderr
    assert "[D2S101]" in done.stderr


@pytest.mark.row(113)
def test_a_function_whose_text_is_registered() -> None:
    """What notebooks do, and the cure that the error names."""
    import linecache

    text = "def f(x):\n    if x.sum() > 0:\n        return x * 2\n    return x\n"
    file = "<made by a test>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    assert_same(names["f"], *BOTH)
