"""A tour of d2s in one command: convert a model, compare it, train it, save it, run the file.

``python -m corpus.tour`` takes the LSTM of ``corpus/programs/models/trend_reader.py``, which stops
reading as soon as it is sure, and teaches it to tell rising curves from falling ones. The converted
code is shown beside the original; everything that it computes is held against the same model in
dygraph.  Then ``examples/generate.py`` does the same with the decoding loop of a language model.

Ends with 0 if every comparison is within its tolerance, 1 if not.
"""

# ruff: noqa: E402 - what follows a setting must follow it

from __future__ import annotations

import os

# Paddle's C++ side reports each interpreter that it starts, and warns about details of its own
# passes; the variable is read when the library is loaded. 2 lets errors through.
os.environ.setdefault("GLOG_minloglevel", "2")

import contextlib
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np

# On import Paddle looks for tools that build C++ extensions; nobody builds any here.
warnings.filterwarnings("ignore", message="No ccache found")

import paddle
import typer
from paddle.nn import functional as F
from rich.console import Console
from rich.markup import escape

import d2s
from corpus.programs.models.trend_reader import TrendReader
from d2s import api
from d2s.debug.dump import render_side_by_side
from examples import generate

SEED = 7
KINDS = ("falling", "level", "rising")
SAMPLES = 24
BATCH = 32
LEARNING_RATE = 0.02

# One step differs from dygraph by rounding only; over the training such differences add up.
ONE_STEP = 1e-5
TRAINED = 1e-3
SERVED = 1e-5

Batch = tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]


def batches(count: int) -> Iterator[Batch]:
    """Noisy curves, calm and loud; how many samples of them to read; where each is going."""
    random = np.random.default_rng(SEED)
    for _ in range(count):
        kind = random.integers(len(KINDS), size=BATCH)
        slope = (kind - 1) * random.uniform(0.6, 1.0, BATCH)
        curves = slope[:, None] * np.linspace(0, 1, SAMPLES)
        curves = (curves + random.normal(0, 0.15, curves.shape)) * random.choice([0.8, 3.0])
        yield (
            paddle.to_tensor(curves[:, :, None].astype("float32")),
            paddle.to_tensor(int(random.integers(SAMPLES // 2, SAMPLES + 1))),
            paddle.to_tensor(kind),
        )


class Report:
    """Prints the steps of the tour and remembers whether a comparison failed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failures = 0

    def step(self, text: str) -> None:
        """A headline."""
        self.console.print(f"\n[bold]{escape(text)}[/]", highlight=False)

    def say(self, text: str) -> None:
        """A line below it."""
        self.console.print(f"  {escape(text)}", highlight=False)

    def compare(self, what: str, difference: float, tolerance: float) -> None:
        """One comparison with dygraph; a NaN is a failure too."""
        good = difference <= tolerance
        self.failures += not good
        verdict = "[green]ok[/]" if good else "[bold red]WRONG[/]"
        text = f"{what:<32} max |difference| {difference:.1e}, tolerance {tolerance:.0e}"
        self.console.print(f"  {escape(text)}  {verdict}", highlight=False)


def model(**options: float) -> TrendReader:
    """A model with the parameters that every model of this tour starts from."""
    paddle.seed(SEED)
    return TrendReader(kinds=len(KINDS), **options)


def difference(mine: object, theirs: object) -> float:
    """The largest absolute difference of two arrays or tensors."""
    left, right = np.asarray(mine, "float64"), np.asarray(theirs, "float64")
    if left.shape != right.shape:
        return float("inf")
    return float(np.abs(left - right).max(initial=0.0))


def loss_of(net: paddle.nn.Layer, batch: Batch) -> tuple[paddle.Tensor, paddle.Tensor]:
    """The loss of one batch, and how many samples the model read for it."""
    curves, steps, kinds = batch
    scores, read = net(curves, steps)
    return F.cross_entropy(scores, kinds), read


def first_batch(report: Report, converted: TrendReader) -> None:
    """Loss and gradients of one batch, before any training."""
    report.step("The first batch, converted and in dygraph")
    original = model()
    (batch,) = batches(1)
    losses = []
    for net in (original, converted):
        loss, _ = loss_of(net, batch)
        loss.backward()
        losses.append(float(loss))
    report.say(f"loss {losses[1]:.6f}, in dygraph {losses[0]:.6f}")
    report.compare("loss", abs(losses[0] - losses[1]), ONE_STEP)
    for (name, mine), theirs in zip(
        converted.named_parameters(), original.parameters(), strict=True
    ):
        if mine.grad is None or theirs.grad is None:
            report.compare(f"gradient of {name}", float("inf"), ONE_STEP)
            continue
        report.compare(f"gradient of {name}", difference(mine.grad, theirs.grad), ONE_STEP)
    converted.clear_gradients()


def train(net: TrendReader, steps: int, say: Callable[[str], None]) -> tuple[list[float], float]:
    """Plain dygraph training; the losses, and the seconds it took."""
    adam = paddle.optimizer.Adam(LEARNING_RATE, parameters=net.parameters())
    losses = []
    start = time.perf_counter()
    for number, batch in enumerate(batches(steps), 1):
        loss, read = loss_of(net, batch)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
        if number == 1 or number % (steps // 5) == 0:
            say(f"step {number:>3}  loss {losses[-1]:.4f}  samples read {int(read)}")
    return losses, time.perf_counter() - start


def training(report: Report, converted: TrendReader, steps: int) -> None:
    """The same training twice."""
    report.step(f"Training, {steps} steps of loss.backward() and Adam")
    mine, seconds = train(converted, steps, report.say)
    original = model()
    theirs, dygraph_seconds = train(original, steps, lambda _: None)
    report.say(f"{seconds:.1f} s converted, {dygraph_seconds:.1f} s in dygraph")
    if np.mean(mine[-5:]) > 0.8 * mine[0]:
        report.failures += 1
        report.say("the loss did not fall")
    report.compare("losses", difference(mine, theirs), TRAINED)
    worst = max(
        difference(ours, other)
        for ours, other in zip(converted.parameters(), original.parameters(), strict=True)
    )
    report.compare("parameters after training", worst, TRAINED)


def serving(report: Report, trained: TrendReader, folder: Path) -> None:
    """Save; run the file in a process without d2s, by ``paddle.jit.load`` and Paddle Inference."""
    path = folder / "trend_reader"
    report.step(f"Saving to {path}")
    trained.eval()
    curves = paddle.static.InputSpec([None, SAMPLES, 1], "float32", "curves")
    steps = paddle.static.InputSpec([], "int64", "steps")
    d2s.save(trained, str(path), input_spec=[curves, steps])
    for file in sorted(folder.glob("trend_reader*")):
        report.say(f"{file.name}, {file.stat().st_size:,} bytes")

    original = model()
    original.set_state_dict(trained.state_dict())
    original.eval()
    calls = list(serving_inputs())
    found = served(path, calls, folder)
    for runner, name in (("jit", "paddle.jit.load"), ("inference", "Paddle Inference")):
        worst, exits = 0.0, []
        for number, (curves, steps, _) in enumerate(calls):
            with paddle.no_grad():
                expected, expected_read = original(curves, steps)
            scores, read = found[f"{runner}/{number}/0"], found[f"{runner}/{number}/1"]
            worst = max(worst, difference(scores, expected), difference(read, expected_read))
            exits.append(int(read))
        report.say(f"{name}: samples read {', '.join(map(str, exits))}")
        report.compare(f"outputs of {name}", worst, SERVED)


def served(path: Path, calls: list[Batch], folder: Path) -> Mapping[str, np.ndarray]:
    """What a process without d2s makes of the saved file."""
    inputs, outputs = folder / "inputs.npz", folder / "outputs.npz"
    arrays = {}
    for number, (curves, steps, _) in enumerate(calls):
        arrays |= {f"{number}/curves": curves.numpy(), f"{number}/steps": steps.numpy()}
    np.savez(inputs, **arrays)
    command = [sys.executable, "-W", "ignore", "-m", "corpus.predict"]
    subprocess.run([*command, str(path), str(inputs), str(outputs)], check=True)
    with np.load(outputs) as stored:
        return dict(stored)


def serving_inputs() -> Iterator[Batch]:
    """Batches that drive each path of the model: calm, loud, silent, nothing to read."""
    yield from batches(3)
    ((curves, steps, kinds),) = batches(1)
    yield curves * 0.0001, steps, kinds
    yield curves, steps * 0, kinds


def main(
    output: Annotated[
        Path | None, typer.Option(help="Folder for the saved model; a temporary one otherwise.")
    ] = None,
    steps: Annotated[int, typer.Option(min=5, help="Training steps.")] = 60,
) -> None:
    """Convert a model, compare it with dygraph, train it, save it and run the file."""
    start = time.perf_counter()
    # A log is wider than the 80 columns that rich takes when nobody tells it.
    console = Console(width=None if sys.stdout.isatty() else 160, soft_wrap=True)
    report = Report(console)

    report.step("corpus/programs/models/trend_reader.py, and what d2s makes of it")
    text = render_side_by_side(api.trace(TrendReader.forward), width=max(console.width, 120))
    sys.stdout.write(text)

    converted = d2s.to_static(model())
    first_batch(report, converted)
    training(report, converted, steps)
    with contextlib.ExitStack() as stack:
        folder = output or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="d2s-")))
        folder.mkdir(parents=True, exist_ok=True)
        serving(report, converted, folder)

    report.step("A decoding loop of a language model (make generate)")
    report.failures += generate.main()

    report.step("What happened")
    report.say("forward, with its assert, early return, while, for and break, became one program;")
    report.say("dygraph's loss.backward() went through it, and an optimizer trained it;")
    report.say(
        "the saved file ran in a process without d2s, by paddle.jit.load and Paddle Inference."
    )
    if output:
        report.say(f"The model is in {output}.")
    else:
        report.say("The saved model was in a temporary folder; --output DIR keeps it.")
    failed = f"{report.failures} comparisons FAILED" if report.failures else "all comparisons hold"
    report.say(f"{failed}; {time.perf_counter() - start:.0f} s")
    raise typer.Exit(1 if report.failures else 0)


if __name__ == "__main__":
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(main)
    app()
