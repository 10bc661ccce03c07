"""Training through loops that a tensor bounds: time and peak memory of one step, by trips.

    python -m benchmarks.training                    the recurrence below, in a ``while``
    python -m benchmarks.training --model mlp        a step without a loop

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

import argparse
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

MODES: Final = ("dygraph", "forward", "step")

TRIPS: Final = (10, 100, 1000, 10000)


def _resident() -> float:
    """The resident size of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def _highest() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.training", "--one"]
    command += [model, mode, str(trips), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", choices=MODELS, default="recurrence")
    parser.add_argument("--trips", type=int, nargs="+", default=list(TRIPS))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        model, mode, trips, steps = options.one
        print(json.dumps(measure(model, mode, int(trips), int(steps))))
        return
    rows = []
    counts = options.trips if options.model == "recurrence" else [1]
    print(
        f"{'trips':>6}  {'mode':8} {'ms a step':>10} {'us a trip':>10} {'of dygraph':>10}", end=""
    )
    print(f" {'growth MiB':>11} {'first s':>8}")
    for trips in counts:
        base = 0.0
        for mode in MODES:
            steps = max(3, min(200, 20000 // trips))
            found = in_process(options.model, mode, trips, steps)
            seconds = found["best_s"]
            base = base or seconds
            rows.append({"model": options.model, "mode": mode, "trips": trips, **found})
            print(
                f"{trips:6}  {mode:8} {seconds * 1e3:10.3f} {seconds / trips * 1e6:10.2f} "
                f"{seconds / base:10.2f} {found['growth_mib']:11.1f} {found['first_s']:8.2f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
