"""How cost grows: with trips, branches, nesting, lines, parameters and threads.

A curve is one function in several sizes; each point is measured by the protocol of the scenarios.
First calls of under five seconds are made in three processes, and the least of them counts.

Conversion and capture are ours, and timed by themselves, too: the goals are about them.  A first
call also has Paddle prepare the program, which takes longer than in proportion to its operations,
whoever has made it, and runs it once.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import paddle
from paddle import nn

import d2s
from benchmarks import sources
from benchmarks.goals import Verdict
from benchmarks.scenarios.inputs import square
from benchmarks.scenarios.loops import while_loop
from benchmarks.scenarios.operations import hundred_ops
from d2s.bench.peers import Job, measure
from d2s.bench.rounds import Measured, Measuring, Settings
from d2s.bench.work import CONVERTERS, Prepared, Work, calls

LINEAR: Final = 1.2
"""The exponent up to which growth counts as linear."""

BEGINNINGS: Final = 3
"""In how many processes the first call is made, where it takes no longer than ``SHORT_S``."""

SHORT_S: Final = 5.0

CONSTANT: Final = 1.5
"""How many times the smallest the largest may be, to count as independent of the size."""


@dataclass(frozen=True)
class Curve:
    """One function in several sizes.

    Attributes:
        name: what it is asked for by.
        summary: what it shows.
        axis: what a size counts.
        sizes: the sizes; a quick look leaves the last one out.
        job: given a size and a peer, what that peer does.
        growth: how the cost of conversion and capture may grow: ``linear``, ``constant`` or empty
            if nothing is asked.
        capture: given a size, what measures that cost.
    """

    name: str
    summary: str
    axis: str
    sizes: tuple[int, ...]
    job: Callable[[int, str], Job]
    growth: str = ""
    capture: Callable[[int], Job] | None = None

    def run(
        self, settings: Settings, progress: Callable[[str], None], *, quick: bool = False
    ) -> dict[str, Any]:
        """The curve as it stands in a file of results.

        A peer that has failed at one size is not asked again.
        """
        points, failed = [], set()
        for size in self.sizes[:-1] if quick else self.sizes:
            jobs = {peer: self.job(size, peer) for peer in CONVERTERS if peer not in failed}
            title = f"{self.name}, {size} {self.axis}"
            found = measure(
                jobs, settings, progress=lambda text, title=title: progress(f"{title}, {text}")
            )
            failed |= {peer for peer, measured in found.items() if measured.status != "timed"}
            for _ in range(BEGINNINGS - 1):
                _begin_again(jobs, found, settings)
            peers = {peer: measured.as_json() for peer, measured in found.items()}
            for figures in peers.values():
                figures.pop("rounds_s", None)
            if self.capture is not None and "d2s" not in failed:
                captured = measure({"d2s": self.capture(size)}, settings)["d2s"].as_json()
                peers["d2s"]["capture_s"] = captured.get("best_s")
            points.append({"size": size, "peers": peers})
        return {
            "summary": self.summary,
            "axis": self.axis,
            "growth": self.growth,
            "points": points,
        }


def _begin_again(
    jobs: Mapping[str, Job], found: Mapping[str, Measured], settings: Settings
) -> None:
    """Let the least of two first calls count."""
    again = {
        peer: job
        for peer, job in jobs.items()
        if (first := found[peer].first_s) is not None and first <= SHORT_S
    }
    if not again:
        return
    for peer, measured in measure(again, dataclasses.replace(settings, rounds=0)).items():
        if measured.first_s is not None:
            found[peer].first_s = min(found[peer].first_s or SHORT_S, measured.first_s)


def _calls_of(make: Callable[[int], Work]) -> Callable[[int, str], Job]:
    return lambda size, peer: functools.partial(calls, functools.partial(make, size), peer)


def _of_text(write: Callable[[int], str]) -> Callable[[int], Work]:
    return lambda size: Work(sources.define(write(size)), (square(),))


def _begin_captures(make: Callable[[], Work]) -> Measuring:
    """Seconds of the conversion and the capture of a function that was not seen before."""

    def measured() -> float:
        work = make()
        with work.mode():
            start = time.perf_counter()
            d2s.to_static(work.function).get_concrete_program(*work.arguments)
            return time.perf_counter() - start

    return Measuring(measured)


def _growing(
    name: str,
    summary: str,
    axis: str,
    sizes: tuple[int, ...],
    make: Callable[[int], Work],
    growth: str,
) -> Curve:
    def capture(size: int) -> Job:
        return functools.partial(_begin_captures, functools.partial(make, size))

    return Curve(name, summary, axis, sizes, _calls_of(make), growth, capture)


class Sum(nn.Layer):
    """The sum of so many parameters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.terms = nn.ParameterList([self.create_parameter([4]) for _ in range(count)])

    def forward(self, x):
        return x + paddle.add_n(list(self.terms))


def _parameters(count: int) -> Work:
    return Work(Sum(count), (paddle.ones([4]),))


_CALLS_OF_A_THREAD: Final = 50


class Block(nn.Layer):
    """A layer with Python values that its code reads, as most have."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.scale = 0.5
        self.active = True

    def forward(self, x):
        y = self.inner(x) * self.scale
        return paddle.nn.functional.relu(y) + x if self.active else y


class Stack(nn.Layer):
    """So many layers, and the input of the last call."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.blocks = nn.LayerList([Block() for _ in range(count)])
        self.inputs = None

    def forward(self, x):
        self.inputs = x
        for block in self.blocks:
            x = block(x)
        return x


def _layers(count: int) -> Work:
    return Work(Stack(count).eval(), (paddle.ones([2, 8]),))


def _threads(count: int, peer: str) -> Job:
    return functools.partial(_begin_threads, count, peer)


def _begin_threads(count: int, peer: str) -> Measuring:
    """Seconds of a call, when so many threads call one function at once."""
    work = hundred_ops()
    call = Prepared(work, CONVERTERS[peer])

    def act(ready: threading.Barrier, failures: list[BaseException]) -> None:
        try:
            with work.mode():
                call()
                ready.wait(60)
                for _ in range(_CALLS_OF_A_THREAD):
                    call()
        except BaseException as error:
            failures.append(error)
            ready.abort()

    def measured() -> float:
        failures: list[BaseException] = []
        ready = threading.Barrier(count + 1)
        threads = [threading.Thread(target=act, args=(ready, failures)) for _ in range(count)]
        for thread in threads:
            thread.start()
        start = 0.0
        try:
            ready.wait(60)
            start = time.perf_counter()
        except threading.BrokenBarrierError:
            pass  # a thread has said why
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        return (time.perf_counter() - start) / (count * _CALLS_OF_A_THREAD)

    return Measuring(measured)


CURVES: Final[Mapping[str, Curve]] = {
    curve.name: curve
    for curve in (
        _growing(
            "trips",
            "a while loop, by its trips",
            "trips",
            (10, 100, 1000, 10000),
            while_loop,
            "constant",
        ),
        _growing(
            "loop",
            "a while loop, by the lines of its body",
            "lines",
            (10, 40, 160, 640),
            _of_text(sources.loop),
            "linear",
        ),
        _growing(
            "branches",
            "tensor ifs in a row",
            "branches",
            (1, 5, 20, 80),
            _of_text(sources.branches),
            "linear",
        ),
        _growing(
            "nest",
            "tensor ifs and whiles inside of each other",
            "levels",
            (1, 2, 4, 8, 12),
            _of_text(sources.nest),
            "linear",
        ),
        _growing(
            "lines",
            "a long function, every tenth line a tensor if",
            "lines",
            (20, 80, 320, 960),
            _of_text(sources.straight),
            "linear",
        ),
        Curve(
            "parameters",
            "a layer, by its parameters",
            "parameters",
            (1, 10, 100, 400),
            _calls_of(_parameters),
        ),
        Curve(
            "layers",
            "layers with Python values that each program counts on",
            "layers",
            (1, 10, 50, 200),
            _calls_of(_layers),
        ),
        Curve(
            "threads",
            "100 operations, called from several threads at once",
            "threads",
            (1, 2, 4),
            _threads,
        ),
    )
}


def series(curve: Mapping[str, Any], peer: str, figure: str) -> tuple[list[int], list[float]]:
    """Sizes and figures of one peer, as far as it came.

    Args:
        curve: as it stands in a file of results.
        peer: whose.
        figure: ``best_s``, ``first_s`` or ``capture_s``.
    """
    sizes, figures = [], []
    for point in curve["points"]:
        found = point["peers"].get(peer, {})
        if found.get("status") == "timed" and found.get(figure) is not None:
            sizes.append(point["size"])
            figures.append(found[figure])
    return sizes, figures


def verdict(curve: Mapping[str, Any]) -> Verdict | None:
    """Whether the cost of conversion and capture grows as asked; ``None`` if nothing is asked.

    The exponent is that between the two largest sizes: below them, what is paid once hides it.
    """
    if not curve["growth"]:
        return None
    sizes, figures = series(curve, "d2s", "capture_s")
    if len(sizes) < 2 or min(figures) <= 0:
        return Verdict(f"capture {curve['growth']}", "unknown")
    if curve["growth"] == "constant":
        found, limit = max(figures) / min(figures), CONSTANT
        text = f"capture independent of {curve['axis']} (≤ {CONSTANT}x)"
    else:
        found, limit = exponent(sizes, figures), LINEAR
        text = f"capture linear in {curve['axis']} (exponent ≤ {LINEAR})"
    return Verdict(text, "met" if found <= limit else "missed", found / limit)


def exponent(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """The slope between the two last points, in logarithms.

    >>> round(exponent([1, 10, 100], [5.0, 1.0, 100.0]), 6)
    2.0
    """
    return math.log(figures[-1] / figures[-2]) / math.log(sizes[-1] / sizes[-2])
