"""The clock: how long calls take, in rounds of many calls.

>>> ticks = iter(range(100))
>>> seconds(lambda: None, 3, lambda: float(next(ticks)))
1.0
"""

from __future__ import annotations

import contextlib
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from d2s.bench.values import Array

Clock = Callable[[], float]

WARM_CALLS: Final = 3


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


@dataclass(frozen=True)
class Started:
    """A task after its first calls.

    Attributes:
        first_s: seconds of the very first call; ``None`` where there is no such thing.
        values: what the first call and a warm one have computed.
        calls: how many calls make a round.
        note: what there is to say about how it runs.
    """

    first_s: float | None
    values: Sequence[Sequence[Array | None]]
    calls: int
    note: str = ""


class Task(Protocol):
    """What a peer does in its process."""

    def start(self, settings: Settings) -> Started:
        """Get ready: call it for the first time, and until it is warm."""

    def round(self) -> float:
        """Seconds of one call, over one round."""


class Calling(Protocol):
    """Something that can be called, and can tell what it has computed last."""

    def __call__(self) -> Any: ...

    def values(self) -> list[Array | None]: ...


class Calls:
    """The task of calling one thing again and again.

    Args:
        call: what is timed.
        around: the mode in which it is called.
        note: what there is to say about how it runs.
        clock: tells seconds.
    """

    def __init__(
        self,
        call: Calling,
        around: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
        note: str = "",
        clock: Clock = time.perf_counter,
    ) -> None:
        self._call = call
        self._around = around
        self._note = note
        self._clock = clock
        self._calls = 1

    def start(self, settings: Settings) -> Started:
        with self._around():
            first = seconds(self._call, 1, self._clock)
            values = [self._call.values()]
            for _ in range(WARM_CALLS):
                self._call()
            values.append(self._call.values())
            self._calls = calls_of_a_round(self._call, settings.round_s, self._clock)
        return Started(first, values, self._calls, self._note)

    def round(self) -> float:
        with self._around():
            return seconds(self._call, self._calls, self._clock) / self._calls


@dataclass
class Measuring:
    """The task of asking a function that measures something itself.

    Attributes:
        measure: gives seconds.
    """

    measure: Callable[[], float]

    def start(self, settings: Settings) -> Started:
        self.measure()
        return Started(None, (), 1)

    def round(self) -> float:
        return self.measure()


def seconds(call: Callable[[], Any], calls: int, clock: Clock = time.perf_counter) -> float:
    """How long so many calls take, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        for _ in range(calls):
            call()
        return clock() - start
    finally:
        gc.enable()


def calls_of_a_round(
    call: Callable[[], Any], round_s: float, clock: Clock = time.perf_counter
) -> int:
    """How many calls make a round of ``round_s`` seconds; at least one."""
    calls = 1
    while True:
        taken = seconds(call, calls, clock)
        if taken >= round_s / 4:
            return max(1, round(calls * round_s / taken))
        calls *= 4


@dataclass
class Measured:
    """What came out for one peer.

    Attributes:
        status: ``timed``, ``wrong`` or ``fails``.
        detail: why it is wrong or fails; how it runs.
        first_s: seconds of the first call.
        calls_per_round: how many calls a round has.
        rounds_s: seconds of a call, for each round.
    """

    status: str
    detail: str = ""
    first_s: float | None = None
    calls_per_round: int = 0
    rounds_s: list[float] = field(default_factory=list)

    @property
    def best_s(self) -> float:
        """The best round."""
        return min(self.rounds_s)

    def as_json(self) -> dict[str, Any]:
        """Plain values; times are seconds."""
        out: dict[str, Any] = {"status": self.status, "detail": self.detail}
        if self.status == "timed":
            out |= {
                "first_s": self.first_s,
                "best_s": self.best_s,
                "median_s": statistics.median(self.rounds_s),
                "spread": spread(self.rounds_s),
                "calls_per_round": self.calls_per_round,
                "rounds_s": self.rounds_s,
            }
        return out


def spread(rounds: Sequence[float]) -> float:
    """The range of the middle half, as a part of the median.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    0.6666666666666666
    """
    low, high = np.percentile(rounds, [25, 75])
    return float((high - low) / statistics.median(rounds))
