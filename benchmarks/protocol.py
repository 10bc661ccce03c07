"""Run one scenario through all its peers and keep what was measured; ``benchmarks`` says how."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import paddle

Call = Callable[[], Any]

RTOL, ATOL = 1e-4, 1e-5
WARM_CALLS = 3


class ScenarioError(Exception):
    """A scenario itself is broken."""


@dataclass(frozen=True)
class Work:
    """What a peer converts, and what it is called with.

    Attributes:
        function: a function or a layer; made anew for each peer.
        arguments: its tensors. Those with ``stop_gradient=False`` get their gradients compared.
    """

    function: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    Attributes:
        name: what it is asked for by.
        summary: what one call does.
        make: the function and its arguments; its result is a loss if ``backward``.
        backward: a call is a training step.
        by_hand: given the arguments, the call of a program written with ``paddle.static``.
        measures: peer -> one measurement in seconds, for scenarios that do not time a call.
        baseline: the peer that ratios are relative to.
        unit: what a time is the time of.
    """

    name: str
    summary: str
    make: Callable[[], Work] | None = None
    backward: bool = False
    by_hand: Callable[[tuple[Any, ...]], Call] | None = None
    measures: Mapping[str, Callable[[], float]] = field(default_factory=dict)
    baseline: str = "dygraph"
    unit: str = "call"

    def has(self, peer: str) -> bool:
        """Whether ``peer`` takes part."""
        if self.measures:
            return peer in self.measures
        return self.by_hand is not None if peer == "by-hand" else True


@dataclass(frozen=True)
class Settings:
    """How long to measure.

    Attributes:
        rounds: rounds of each peer.
        round_s: how long a round should take; a single call may take longer.
        limit_s: seconds that a peer has until it is ready, and for each round.
    """

    rounds: int = 15
    round_s: float = 0.05
    limit_s: float = 60.0


@dataclass
class Measured:
    """What came out for one peer: ``timed``, ``wrong``, ``fails`` or ``absent``."""

    status: str
    detail: str = ""
    first_s: float | None = None
    calls_per_round: int = 0
    rounds_s: list[float] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values; times are seconds for one unit."""
        out: dict[str, Any] = {"status": self.status, "detail": self.detail}
        if self.status == "timed":
            out |= {
                "first_s": self.first_s,
                "best_s": min(self.rounds_s),
                "median_s": statistics.median(self.rounds_s),
                "spread": spread(self.rounds_s),
                "calls_per_round": self.calls_per_round,
                "rounds_s": self.rounds_s,
            }
        return out


def spread(rounds: list[float]) -> float:
    """The range of the middle half, as a part of the median."""
    low, high = np.percentile(rounds, [25, 75])
    return float((high - low) / statistics.median(rounds))


# -- the peers -----------------------------------------------------------------------------------


def _d2s(function: Any) -> Any:
    import d2s  # only in the process of this peer: the others must not pay for it

    return d2s.to_static(function)


CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "dygraph": lambda function: function,
    "paddle-ast": lambda function: paddle.jit.to_static(function, full_graph=True, backend=None),
    "paddle-sot": lambda function: paddle.jit.to_static(function, full_graph=False, backend=None),
    "d2s": _d2s,
}
PEERS = (*CONVERTERS, "by-hand")


def prepare(scenario: Scenario, convert: Callable[[Any], Any] | None) -> tuple[Call, Call]:
    """The call to time, and a function that gives the values that it last computed.

    Args:
        scenario: what to run.
        convert: the peer's converter; ``None`` for the program by hand.
    """
    assert scenario.make is not None
    paddle.seed(0)
    work = scenario.make()
    arguments = work.arguments
    last: list[Any] = [None]
    if convert is None:
        assert scenario.by_hand is not None
        paddle.enable_static()
        run = scenario.by_hand(arguments)
        return _keep(last, run), lambda: arrays(last[0])
    converted = convert(work.function)
    if not scenario.backward:
        return _keep(last, lambda: converted(*arguments)), lambda: arrays(last[0])
    leaves = [tensor for tensor in arguments if not tensor.stop_gradient]
    if isinstance(work.function, paddle.nn.Layer):
        leaves += work.function.parameters()

    def step() -> Any:
        for leaf in leaves:
            leaf.clear_gradient(set_to_zero=False)
        loss = converted(*arguments)
        loss.backward()
        return loss

    return _keep(last, step), lambda: arrays([last[0], [leaf.grad for leaf in leaves]])


def _keep(last: list[Any], run: Call) -> Call:
    """``run``, with its result in ``last``: one store, the same for everyone."""

    def call() -> None:
        last[0] = run()

    return call


def arrays(result: Any) -> list[np.ndarray | None]:
    """The leaves of a result, as arrays."""
    if isinstance(result, list | tuple):
        return [leaf for part in result for leaf in arrays(part)]
    if isinstance(result, dict):
        return arrays([result[key] for key in sorted(result)])
    return [None if result is None else np.array(result)]


def differ(mine: list[np.ndarray | None], theirs: list[np.ndarray | None]) -> str:
    """In words, the first thing that ``mine`` has different; empty if nothing."""
    if len(mine) != len(theirs):
        return f"{len(mine)} values, should be {len(theirs)}"
    for index, (left, right) in enumerate(zip(mine, theirs, strict=True)):
        if left is None and right is None:
            continue
        if left is None or right is None:
            return f"value {index} is {'missing' if left is None else 'there, should not be'}"
        if left.shape != right.shape:
            return f"value {index} has shape {left.shape}, should be {right.shape}"
        if not np.allclose(left, right, RTOL, ATOL, equal_nan=True):
            worst = np.abs(left.astype("float64") - right.astype("float64")).max()
            return f"value {index} is off by {worst:.2g}"
    return ""


# -- in the process of a peer --------------------------------------------------------------------


def _serve(
    pipe: Connection, scenario: Scenario, peer: str, convert: Any, settings: Settings
) -> None:
    """Get ready, say so, then measure a round whenever asked."""
    try:
        with contextlib.nullcontext() if scenario.backward else paddle.no_grad():
            if scenario.measures:
                measure, first, values = scenario.measures[peer], None, []
                round_of, calls = measure, 1
                measure()
            else:
                call, seen = prepare(scenario, convert)
                first = _seconds(call, 1)
                values = [seen()]
                for _ in range(WARM_CALLS):
                    call()
                values.append(seen())
                calls = _calls(call, settings.round_s)

                def round_of() -> float:
                    return _seconds(call, calls) / calls

            pipe.send(("ready", first, values, calls))
            while pipe.recv() == "round":
                pipe.send(("round", round_of()))
    except BaseException as error:
        lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        text = lines[0] if lines else ""
        pipe.send(("fails", type(error).__name__, text[:200]))


def _seconds(call: Call, calls: int) -> float:
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start
    finally:
        gc.enable()


def _calls(call: Call, round_s: float) -> int:
    """How many calls make a round."""
    calls = 1
    while True:
        taken = _seconds(call, calls)
        if taken >= round_s / 4:
            return max(1, round(calls * round_s / taken))
        calls *= 4


# -- in the process that asks --------------------------------------------------------------------


class Peer:
    """A peer at work in its own process."""

    def __init__(self, scenario: Scenario, name: str, convert: Any, settings: Settings) -> None:
        self.limit_s = settings.limit_s
        # fork: a scenario is a closure, and the import of Paddle is paid once.
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, scenario, name, convert, settings), daemon=True
        )
        self._process.start()
        theirs.close()

    def answer(self) -> tuple[Any, ...]:
        """What the process says next; that it failed, if it says nothing in time."""
        try:
            if not self._pipe.poll(self.limit_s):
                return "fails", "Timeout", f"no answer in {self.limit_s:g} s"
            answer: tuple[Any, ...] = self._pipe.recv()
            return answer
        except EOFError:
            self._process.join()
            return "fails", "Crash", f"the process ended with {self._process.exitcode}"

    def round(self) -> tuple[Any, ...]:
        """One round."""
        with contextlib.suppress(BrokenPipeError):  # it has ended; answer() says so
            self._pipe.send("round")
        return self.answer()

    def stop(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def run_scenario(
    scenario: Scenario,
    settings: Settings,
    converters: Mapping[str, Callable[[Any], Any]] | None = None,
) -> dict[str, Measured]:
    """Measure ``scenario`` with every peer.

    Args:
        scenario: what to run.
        settings: how long.
        converters: the peers beside the program by hand, dygraph first; those of this module if
            not given.

    Raises:
        ScenarioError: the scenario does not run in dygraph.
    """
    converters = CONVERTERS if converters is None else converters
    results: dict[str, Measured] = {}
    with contextlib.ExitStack() as stack:
        working: dict[str, Peer] = {}
        expected: list[list[np.ndarray | None]] = []
        for name in (*converters, "by-hand"):
            if not scenario.has(name):
                results[name] = Measured("absent")
                continue
            peer = Peer(scenario, name, converters.get(name), settings)
            stack.callback(peer.stop)
            kind, *rest = peer.answer()
            if kind == "fails":
                if name == "dygraph":  # nothing could be compared with it
                    raise ScenarioError(f"{scenario.name} fails in dygraph: {': '.join(rest)}")
                results[name] = Measured("fails", ": ".join(rest))
                peer.stop()
                continue
            first, values, calls = rest
            if name == "dygraph":
                expected = values
            wrong = _wrong(values, expected)
            if wrong:
                results[name] = Measured("wrong", wrong)
                peer.stop()
                continue
            results[name] = Measured("timed", first_s=first, calls_per_round=calls)
            working[name] = peer
        for _ in range(settings.rounds):
            for name, peer in list(working.items()):
                kind, *rest = peer.round()
                if kind == "fails":
                    results[name] = Measured("fails", ": ".join(rest))
                    del working[name]
                else:
                    results[name].rounds_s.append(rest[0])
    return results


def _wrong(values: list[list[np.ndarray | None]], expected: list[list[np.ndarray | None]]) -> str:
    for when, mine, theirs in zip(("first", "warm"), values, expected, strict=False):
        found = differ(mine, theirs)
        if found:
            return f"{when} call: {found}"
    return ""


# -- the environment -----------------------------------------------------------------------------


def environment() -> dict[str, Any]:
    """Where the figures come from."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "paddle": paddle.__version__,
        "commit": _commit(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def environment_line(found: Mapping[str, Any]) -> str:
    """The environment in one line."""
    return (
        f"{found['cpu']}, {found['cores']} cores (load {found['load']}), Python {found['python']}, "
        f"Paddle {found['paddle']}, commit {found['commit']}, {found['time']}"
    )


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in _lines(Path("/proc/cpuinfo")):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from file


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
