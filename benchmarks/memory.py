"""Training through loops that a tensor bounds: time and peak memory of one step, by trips.

Every figure comes from a process of its own.  Memory is the growth of the process over the steps:
its highest resident size, less the size when all was imported and the first operation had run.  The
time is the processor time of the fastest step: what else the machine does only adds to it.

==========  ==============================================================================
``dygraph``   forward, backward and optimizer step, nothing converted
``forward``   the function that computes the loss is converted, the rest stays outside
``step``      the whole step is one converted function
==========  ==============================================================================
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

SUMMARY: Final = "time and peak memory of training through long loops"

MODES: Final = ("dygraph", "forward", "step")

TRIPS: Final = (10, 100, 1000, 10000)


def _resident() -> float:
    """The resident size of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _highest() -> float:
    """The highest resident size so far; ``ru_maxrss`` would be that of whoever has started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmHWM")


def _recurrence(trips: int) -> tuple[Any, Callable[..., Any], tuple[Any, ...]]:
    import paddle

    class Recurrence(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.cell = paddle.nn.Linear(64, 64)

        def forward(self, x: Any, trips: Any) -> Any:
            h = paddle.zeros_like(x)
            i = paddle.zeros([], dtype="int64")
            while i < trips:
                h = paddle.tanh(self.cell(h) + x)
                i = i + 1
            return h

    layer = Recurrence()

    def loss_of(x: Any, count: Any) -> Any:
        return (layer(x, count) ** 2).mean()

    return layer, loss_of, (paddle.randn([16, 64]), paddle.to_tensor(trips))


def _mlp(trips: int) -> tuple[Any, Callable[..., Any], tuple[Any, ...]]:
    import paddle

    layer = paddle.nn.Sequential(
        paddle.nn.Linear(64, 64),
        paddle.nn.ReLU(),
        paddle.nn.Linear(64, 64),
        paddle.nn.ReLU(),
        paddle.nn.Linear(64, 10),
    )

    def loss_of(x: Any, target: Any) -> Any:
        return paddle.nn.functional.mse_loss(layer(x), target)

    return layer, loss_of, (paddle.randn([8, 64]), paddle.randn([8, 10]))


MODELS: Final = {"recurrence": _recurrence, "mlp": _mlp}


def measure(model: str, mode: str, trips: int, steps: int) -> dict[str, float]:
    """Seconds of a step and growth in MiB, in this process.

    Args:
        model: a key of ``MODELS``.
        mode: one of ``MODES``.
        trips: how often the loop runs.
        steps: how many steps are timed; two more come before.
    """
    import paddle

    import d2s

    paddle.seed(0)
    layer, loss_of, arguments = MODELS[model](trips)
    optimizer = paddle.optimizer.Adam(1e-3, parameters=layer.parameters())
    forward = d2s.to_static(loss_of) if mode == "forward" else loss_of

    def step(*given: Any) -> Any:
        loss = forward(*given)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    act = d2s.to_static(step) if mode == "step" else step
    (arguments[0] * 2).numpy()
    gc.collect()
    base = _resident()
    start = time.perf_counter()
    losses = [float(act(*arguments))]
    first = time.perf_counter() - start
    losses.append(float(act(*arguments)))
    times = []
    for _ in range(steps):
        start = time.process_time()
        loss = act(*arguments)
        times.append(time.process_time() - start)
    return {
        "first_s": first,
        "median_s": statistics.median(times),
        "best_s": min(times),
        "growth_mib": _highest() - base,
        "loss": float(loss),
    }


def in_process(model: str, mode: str, trips: int, steps: int) -> dict[str, float]:
    """:func:`measure` in a new interpreter."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory"]
    command += [model, mode, str(trips), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(progress: Callable[[str], None], *, quick: bool = False) -> list[dict[str, Any]]:
    """The table as it stands in a file of results: the recurrence by its trips, then the MLP."""
    plan = [("recurrence", trips) for trips in (TRIPS[:-2] if quick else TRIPS)] + [("mlp", 1)]
    rows = []
    for model, trips in plan:
        for mode in MODES:
            progress(f"memory, {model}, {trips} trips, {mode}")
            steps = 3 if quick else max(3, min(200, 20000 // trips))
            row: dict[str, Any] = {"model": model, "mode": mode, "trips": trips}
            try:
                row |= in_process(model, mode, trips, steps)
            except subprocess.CalledProcessError as error:
                row["failed"] = (error.stderr.strip().splitlines() or ["no message"])[-1]
            rows.append(row)
    return rows


if __name__ == "__main__":  # one figure, in the process of its own
    _model, _mode, _trips, _steps = sys.argv[1:]
    print(json.dumps(measure(_model, _mode, int(_trips), int(_steps))))
