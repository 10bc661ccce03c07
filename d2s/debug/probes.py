"""Try one small program of each kind that d2s has; ``d2s doctor`` runs a copy of this file.

A copy, in a process of its own: what is converted must not be d2s's own code, and a crash must not
take the report along.  Prints one line of JSON when a probe begins, and one when it ends.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

PROBES: dict[str, Callable[[], None]] = {}
"""The probes by what they try, in order."""


def probe(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Add a probe."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        PROBES[name] = function
        return function

    return add


def _agrees(function: Any, *arguments: Any) -> None:
    """A function does as a program what it does in dygraph, gradients included."""
    import d2s

    report = d2s.check(function, *arguments)
    if not report.ok:
        raise AssertionError(str(report))


def _tensor(*values: float, gradient: bool = True) -> Any:
    import paddle

    return paddle.to_tensor(list(values), stop_gradient=not gradient)


def _branch(x: Any) -> Any:
    if x.sum() > 0:
        x = x * 2
    return x - 1


def _loop(x: Any) -> Any:
    while x.abs().max() > 1:
        x = x * 0.5
    return x


def _left_early(x: Any) -> Any:
    total = x * 0
    for step in range(9):
        total = total + x * step
        if total.max() > 5:
            break
    return total


def _grown(x: Any) -> Any:
    import paddle

    found = []
    while x.max() < 9:
        x = x * 2
        found.append(x)
    return paddle.stack(found).sum(axis=0)


@probe("saving, and running in Paddle Inference")
def inference() -> None:
    """Without d2s.

    Stands first: Paddle 3.3 ends a process that makes its first predictor after a program that
    calls Python has run.
    """
    import paddle
    from paddle import inference as paddle_inference
    from paddle.static import InputSpec

    import d2s

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/net"
        d2s.save(_branch, path, input_spec=[InputSpec([None], "float32", "x")])
        made = paddle_inference.create_predictor(
            paddle_inference.Config(f"{path}.json", f"{path}.pdiparams")
        )
        (got,) = made.run([paddle.ones([3])])
        assert got.tolist() == [1.0] * 3


@probe("a branch that a tensor decides")
def branch() -> None:
    """Both sides, and the gradient through each."""
    _agrees(_branch, _tensor(1.0, 2.0))
    _agrees(_branch, _tensor(-1.0, -2.0))


@probe("a loop that a tensor ends")
def loop() -> None:
    """Several trips, and none."""
    _agrees(_loop, _tensor(7.0, -2.0))
    _agrees(_loop, _tensor(0.5, 0.1))


@probe("a loop that a tensor leaves early")
def left_early() -> None:
    """By break."""
    _agrees(_left_early, _tensor(1.0, 2.0))


@probe("a list that grows in a loop")
def grown() -> None:
    """And is stacked behind it."""
    _agrees(_grown, _tensor(1.0, 2.0))


@probe("sizes that vary")
def sizes() -> None:
    """One program for all of them."""
    import paddle

    import d2s

    static: Any = d2s.to_static(_branch, full_graph=True)
    for size in (2, 3, 4, 5):
        assert static(paddle.ones([size])).tolist() == [1.0] * size
    assert len(static.programs) < 4, f"{len(static.programs)} programs for 4 sizes"


@probe("a training step as one program")
def training() -> None:
    """Parameters as in dygraph."""
    import paddle

    import d2s

    found = []
    for convert in (d2s.not_to_static, d2s.to_static):
        paddle.seed(1)
        layer = paddle.nn.Linear(2, 1)
        sgd = paddle.optimizer.SGD(0.1, parameters=layer.parameters())

        def step(x: Any, layer: Any = layer, sgd: Any = sgd) -> Any:
            loss = layer(x).square().mean()
            loss.backward()
            sgd.step()
            sgd.clear_grad()
            return loss

        run = convert(step)
        losses = [float(run(paddle.ones([3, 2]))) for _ in range(3)]
        found.append((losses, layer.weight.tolist()))
    assert str(found[0]) == str(found[1]), f"dygraph {found[0]}, as a program {found[1]}"


@probe("print on every run")
def prints() -> None:
    """With the numbers of that run."""
    import paddle

    import d2s

    @d2s.to_static
    def shown(x: Any) -> Any:
        print("sum", float(x.sum()))
        return x

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for value in (1.0, 2.0):
            shown(paddle.to_tensor([value]))
    assert said.getvalue() == "sum 1.0\nsum 2.0\n", repr(said.getvalue())


@probe("assert on the run")
def asserts() -> None:
    """Of the type that dygraph raises."""
    import paddle

    import d2s

    @d2s.to_static
    def positive(x: Any) -> Any:
        assert x.min() > 0, "not positive"
        return x

    positive(paddle.ones([2]))
    said = ""
    try:
        positive(-paddle.ones([2]))
    except AssertionError as error:
        said = str(error)
    assert "not positive" in said, f"the run said {said!r}"


@probe("state of a layer")
def state() -> None:
    """Attributes keep their new values after every run."""
    import paddle

    import d2s

    class Counter(paddle.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.total = paddle.zeros([])

        def forward(self, x: Any) -> Any:
            self.total = self.total + x.sum()
            return self.total

    layer = d2s.to_static(Counter(), full_graph=True)
    got = [float(layer(paddle.ones([2]))) for _ in range(3)]
    assert got == [2.0, 4.0, 6.0], str(got)


@probe("random numbers of each run")
def random() -> None:
    """Two runs draw two values."""
    import paddle

    import d2s

    @d2s.to_static
    def noise(x: Any) -> Any:
        return x + paddle.rand([4])

    one, other = noise(paddle.zeros([4])), noise(paddle.zeros([4]))
    assert one.tolist() != other.tolist(), "two runs drew the same"


@probe("functions of NumPy on every run")
def arrays() -> None:
    """With the numbers of that run."""
    import numpy as np
    import paddle

    import d2s

    static: Any = d2s.to_static(lambda x: np.sort(x.numpy()).sum() + x, full_graph=True)
    got = [static(paddle.full([2], value)).tolist() for value in (1.0, 2.0)]
    assert got == [[3.0, 3.0], [6.0, 6.0]], str(got)


@probe("mixed precision")
def mixed() -> None:
    """As dygraph rounds, gradients included."""
    import paddle

    def low(x: Any) -> Any:
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            return _branch(x.reshape([1, -1]) @ x.reshape([-1, 1]))

    _agrees(low, _tensor(1.0, 2.0, 3.0))


@probe("a function of several programs")
def islands() -> None:
    """Python between them, which no program can do."""
    import paddle

    import d2s

    def keyed(x: Any) -> Any:
        found = {hash(float(x.sum())): 2}
        return x * found[hash(float(x.sum()))]

    with d2s.options(least_island=1, try_dygraph=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static: Any = d2s.to_static(keyed, full_graph=False)
        got = [static(paddle.full([2], value)).tolist() for value in (1.0, 2.0)]
    assert got == [[2.0, 2.0], [4.0, 4.0]], str(got)
    assert static.breaks, "it was taken for one program"


@probe("saving and loading")
def saving() -> None:
    """A file that runs without d2s."""
    import paddle
    from paddle.static import InputSpec

    import d2s

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/net"
        d2s.save(_branch, path, input_spec=[InputSpec([None], "float32")])
        loaded = d2s.load(path)
        assert loaded(paddle.ones([3])).tolist() == [1.0] * 3


@probe("calls from several threads")
def threads() -> None:
    """Each gets its own result."""
    import paddle

    import d2s

    static = d2s.to_static(_branch, full_graph=True)
    found: dict[int, list[float]] = {}

    def call(number: int) -> None:
        found[number] = static(paddle.full([2], float(number))).tolist()

    workers = [threading.Thread(target=call, args=(number,)) for number in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {n: [n * 2.0 - 1] * 2 for n in (1, 2, 3)}, str(found)


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def main() -> None:
    """Run the probes, and say of each what came of it."""
    import paddle

    import d2s
    from d2s.paddle_bridge.versions import TRIED

    cuda = bool(paddle.is_compiled_with_cuda())
    _say(
        paddle=str(paddle.__version__),
        tried=list(TRIED),
        d2s=d2s.__version__,
        device=str(paddle.get_device()),
        cuda=str(paddle.version.cuda()) if cuda else None,
        dtype=str(paddle.get_default_dtype()),
    )
    for name, run in PROBES.items():
        _say(begin=name)
        start = time.perf_counter()
        detail = ""
        try:
            run()
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
        _say(end=name, detail=detail, seconds=round(time.perf_counter() - start, 2))


if __name__ == "__main__":
    main()
