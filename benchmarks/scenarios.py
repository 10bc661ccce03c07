"""The scenarios: small functions as users write them, each in a factory.

A factory makes a new function object for each peer. Sizes are small, so that the figures show what
a call and an operation cost, not how fast a kernel is.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from benchmarks.protocol import Call, Scenario, Work

TRIPS = 1000
GRADIENT_TRIPS = 100


def _square(gradient: bool = False, size: int = 4) -> paddle.Tensor:
    values = paddle.arange(size * size, dtype="float32").reshape([size, size]) / (size * size)
    values.stop_gradient = not gradient
    return values


# -- straight code -------------------------------------------------------------------------------


def two_ops() -> Work:
    def function(x):
        return x * 2.0 + 1.0

    return Work(function, (_square(),))


def two_ops_by_hand(arguments: tuple[Any, ...]) -> Call:
    return _by_hand(arguments, lambda x: x * 2.0 + 1.0)


def two_ops_backward() -> Work:
    def function(x):
        return (x * x).sum()

    return Work(function, (_square(gradient=True),))


def two_ops_backward_by_hand(arguments: tuple[Any, ...]) -> Call:
    def build(x):
        x.stop_gradient = False
        loss = (x * x).sum()
        return [loss, *paddle.static.gradients([loss], [x])]

    return _by_hand(arguments, build)


def hundred_ops() -> Work:
    def function(x):
        for _ in range(50):
            x = x * 1.01
            x = x + 0.01
        return x

    return Work(function, (_square(),))


def mlp() -> Work:
    class MLP(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(64, 64)
            self.second = nn.Linear(64, 64)
            self.third = nn.Linear(64, 10)

        def forward(self, x):
            x = F.relu(self.first(x))
            x = F.relu(self.second(x))
            return self.third(x)

    layer = MLP()
    layer.eval()
    return Work(layer, (paddle.ones([8, 64]),))


# -- branches ------------------------------------------------------------------------------------


def twenty_ifs() -> Work:
    def function(x):
        for _ in range(20):
            if x.sum() > 8.0:
                x = x * 0.5
            else:
                x = x * 1.5
        return x

    return Work(function, (_square(),))


# -- loops ---------------------------------------------------------------------------------------


def while_loop() -> Work:
    def function(x, trips):
        i = paddle.zeros([], dtype="int64")
        while i < trips:
            x = x * 0.999
            i = i + 1
        return x

    return Work(function, (_square(), paddle.to_tensor(TRIPS)))


def while_loop_by_hand(arguments: tuple[Any, ...]) -> Call:
    def build(x, trips):
        i = paddle.zeros([], dtype="int64")
        _, x = paddle.static.nn.while_loop(
            lambda i, x: i < trips, lambda i, x: [i + 1, x * 0.999], [i, x]
        )
        return x

    return _by_hand(arguments, build)


def while_gradient() -> Work:
    def function(x, trips):
        y = x
        i = paddle.zeros([], dtype="int64")
        while i < trips:
            y = y * 0.99 + x
            i = i + 1
        return y.mean()

    return Work(function, (_square(gradient=True), paddle.to_tensor(GRADIENT_TRIPS)))


def rnn_stack() -> Work:
    class RNN(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cell = nn.Linear(8, 4)

        def forward(self, x, steps):
            h = paddle.zeros([2, 4])
            states = []
            for t in range(steps):
                h = paddle.tanh(self.cell(paddle.concat([x[:, t], h], axis=-1)))
                states.append(h)
            return paddle.stack(states, axis=1)

    x = paddle.arange(2 * 64 * 4, dtype="float32").reshape([2, 64, 4]) / 512
    return Work(RNN(), (x, paddle.to_tensor(64)))


# -- by hand -------------------------------------------------------------------------------------


def _by_hand(arguments: tuple[Any, ...], build: Callable[..., Any]) -> Call:
    """``build`` as a program, run by an Executor on the values of ``arguments``."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        inputs = [
            paddle.static.data(f"x{index}", each.shape, each.dtype)
            for index, each in enumerate(arguments)
        ]
        outputs = build(*inputs)
    fetch = outputs if isinstance(outputs, list) else [outputs]
    feed = {f"x{index}": each.numpy() for index, each in enumerate(arguments)}
    executor = paddle.static.Executor()

    def call() -> Any:
        found = executor.run(main, feed=feed, fetch_list=fetch, return_numpy=False)
        return found if len(found) > 1 else found[0]

    return call


# -- what is paid once ---------------------------------------------------------------------------

_LINES = """\
def function_{number}(x, n):
    total = x * 0.0
    if x.mean() > 0:
        y = x * 2.0
        z = y + 1.0
    else:
        y = x - 1.0
        z = y * y
    for i in range(n):
        if z.max() > 10.0:
            z = z * 0.1
            continue
        total = total + z
        if total.sum() > 100.0:
            break
    while y.max() > 1.0 and n > 0:
        y = y * 0.5
        total = total - y
    if total.min() < 0.0:
        return total
    return total + y
"""
_number = itertools.count()


def _fresh_function() -> Any:
    """A function that no cache has seen; ``linecache`` has its text, so ``inspect`` finds it."""
    number = next(_number)
    text, file = _LINES.format(number=number), f"<benchmark {number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"__name__": __name__, "paddle": paddle}
    exec(compile(text, file, "exec"), scope)
    return scope[f"function_{number}"]


def _per_line(convert: Callable[[], Callable[[Any], Any]]) -> float:
    converter, function = convert(), _fresh_function()
    start = time.perf_counter()
    converter(function)
    return (time.perf_counter() - start) / len(_LINES.splitlines())


def _convert_by_d2s() -> Callable[[Any], Any]:
    import d2s

    return d2s.convert


def _convert_by_paddle() -> Callable[[Any], Any]:
    from paddle.jit.dy2static.program_translator import convert_to_static

    return convert_to_static


def _import_s(statement: str) -> float:
    """Seconds that a new interpreter takes for ``statement`` and for ending."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-W", "ignore", "-c", statement], check=True)
    return time.perf_counter() - start


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("two-ops", "2 operations, no gradient", two_ops, by_hand=two_ops_by_hand),
        Scenario(
            "two-ops-backward",
            "2 operations, forward and backward",
            two_ops_backward,
            backward=True,
            by_hand=two_ops_backward_by_hand,
        ),
        Scenario("hundred-ops", "100 operations, no gradient", hundred_ops),
        Scenario("twenty-ifs", "20 tensor ifs in a row", twenty_ifs),
        Scenario(
            "while", f"while, {TRIPS} trips, no gradient", while_loop, by_hand=while_loop_by_hand
        ),
        Scenario(
            "while-gradient",
            f"while, {GRADIENT_TRIPS} trips, forward and backward",
            while_gradient,
            backward=True,
        ),
        Scenario("rnn-stack", "range(tensor): 64 RNN steps, append, stack", rnn_stack),
        Scenario("mlp", "MLP inference, 3 layers of 64", mlp),
        Scenario(
            "conversion",
            "source to source, for each line",
            measures={
                "paddle-ast": functools.partial(_per_line, _convert_by_paddle),
                "d2s": functools.partial(_per_line, _convert_by_d2s),
            },
            baseline="paddle-ast",
            unit="line",
        ),
        Scenario(
            "import",
            "a new interpreter: import paddle; with d2s",
            measures={
                "dygraph": functools.partial(_import_s, "import paddle"),
                "d2s": functools.partial(_import_s, "import paddle, d2s"),
            },
            unit="import",
        ),
    )
}
