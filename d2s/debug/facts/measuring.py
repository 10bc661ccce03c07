"""Calls in dygraph and as programs, after each of which everything is as it was before."""

from __future__ import annotations

import collections
import contextlib
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.debug.facts.evidence import Place, Places
from d2s.errors import D2SError
from d2s.program.static_function import StaticFunction
from d2s.selfcheck.check import Checker, Work, target_of
from d2s.selfcheck.report import Report
from d2s.selfcheck.runs import Raised, Seen

_SETTLING: Final = 12
"""So many calls may find a break more each."""

_SHORT: Final = 0.02
"""About the seconds of a round that is compared with the next one."""

_WARM: Final = 80
"""So many calls find out what pays."""

_ROUNDS: Final = 7
_ROUND: Final = 0.05
"""About the seconds of a round."""

_PROFILED: Final = 0.5
_MOST_PROFILED: Final = 100
"""Seconds and calls in which operations are measured."""


@dataclass(frozen=True)
class Timing:
    """How long a call takes: medians of rounds in turn, of many warm calls each.

    Attributes:
        first_s: the first call, which captures.
        dygraph_s, program_s: the calls after that.
        rounds, calls: how many rounds there were of each, and calls in a round.
    """

    first_s: float
    dygraph_s: float
    program_s: float
    rounds: int
    calls: int

    @property
    def speedup(self) -> float:
        """How many times as fast as dygraph the programs are."""
        return self.dygraph_s / self.program_s


@dataclass(frozen=True)
class Share:
    """What of one warm call happens inside of programs.

    Attributes:
        operations_inside, operations_outside: operations that ran, each as often as it did.
        seconds, seconds_inside: the time of the call, and of the programs in it.
    """

    operations_inside: int
    operations_outside: int
    seconds: float
    seconds_inside: float


@dataclass(frozen=True)
class Profile:
    """What the operations of programs take, each measured as it runs, by the user's lines.

    Attributes:
        seconds: of all operations in one call.
        calls: how many calls were measured.
        lines: of a file's line, with what it calls, in one call.
    """

    seconds: float
    calls: int
    lines: dict[Place, float]

    def share(self, file: str, line: int) -> float:
        """The part of the time that a line takes."""
        return self.lines.get((file, line), 0.0) / self.seconds if self.seconds else 0.0


def profiled(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile | None:
    """The time of each line in programs, captured with a probe before each operation.

    Returns:
        ``None`` where the call raises, the function is refused, or no program runs.
    """
    with bridge.stopwatch() as watch:
        session = Session(function, args, kwargs)
        if session.refused is not None or session.raised is not None:
            return None
        watch.clear()
        calls = session.repeated()
        spent = list(watch.spent())
    if not spent:
        return None
    places, lines = Places(), collections.defaultdict[Place, float](float)
    for operation, seconds in spent:
        for place in set(places.of(operation)):
            lines[place] += seconds / calls
    return Profile(sum(seconds for _, seconds in spent) / calls, calls, dict(lines))


class Session:
    """Calls of a conversion of its own, on the same arguments.

    Args:
        function: what is called.
        args, kwargs: the arguments.

    Attributes:
        converted: the conversion, one program or several.
        first_s: seconds of the first call.
        raised: what the call raises, in dygraph as well, and where.
        refused: the error with which d2s refuses the function even as several programs.

    Raises:
        NotAFunctionError, NotCheckableError, StaticModeError, TypeError: as ``Checker`` does.
    """

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._target = target_of(function, None, full_graph=False)
        self._arguments = args, kwargs
        self._work = Work(Checker(), self._target, args, kwargs)
        self.converted: StaticFunction = self._target.converted
        self.first_s = 0.0
        self.raised: str | None = None
        self.refused: D2SError | None = None
        self._settle()

    def _settle(self) -> None:
        """Call it until no more breaks are found."""
        before = -1
        for number in range(_SETTLING):
            seconds, seen = self._call(self._target.run, program=True)
            self.first_s = self.first_s if number else seconds
            self.refused = seen.refused
            if isinstance(seen.outcome, Raised):
                place = seen.outcome.place
                self.raised = f"{seen.outcome}{place and f' ({place})'}"
            breaks = len(self.converted.breaks)
            if self.refused is not None or breaks == before:
                return
            before = breaks

    def _call(
        self,
        function: Callable[..., Any],
        *,
        program: bool,
        calls: int = 1,
        around: contextlib.AbstractContextManager[object] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        tried: bool = False,
    ) -> tuple[float, Seen]:
        """Some calls on the same arguments, and the seconds of one."""
        took = 0.0

        def timed(*args: Any, **kwargs: Any) -> Any:
            nonlocal took
            with around or contextlib.nullcontext():
                start = clock()
                try:
                    for _ in range(calls - 1):
                        function(*args, **kwargs)
                    return function(*args, **kwargs)
                finally:
                    took = (clock() - start) / calls

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = self._work.observe(timed, program=program, gradients=False, tried=tried)
        return took, seen

    def repeated(self) -> int:
        """Calls of the programs for about half a second; how many there were."""
        end = time.perf_counter() + _PROFILED
        calls = 0
        while not calls or (calls < _MOST_PROFILED and time.perf_counter() < end):
            self._call(self._target.run, program=True)
            calls += 1
        return calls

    def check(self) -> Report:
        """The self-check on this call."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Checker().report(self._target, *self._arguments)

    def timing(self) -> Timing:
        """Medians of rounds in dygraph and as programs, one after the other in turn."""
        both = (self._target.function, False), (self._target.run, True)
        slower = max(self._call(function, program=flag)[0] for function, flag in both)
        calls = max(2, min(1000, round(_ROUND / max(slower, 1e-6))))
        found = [
            [self._call(function, program=flag, calls=calls)[0] for function, flag in both]
            for _ in range(_ROUNDS)
        ]
        dygraph, program = (statistics.median(each) for each in zip(*found, strict=True))
        return Timing(self.first_s, dygraph, program, _ROUNDS, calls)

    def compared(
        self, rounds: int, longest: float, clock: Callable[[], float] = time.process_time
    ) -> list[tuple[float, float]]:
        """Seconds of a call in dygraph and under the default, of pairs of rounds in turn.

        Args:
            rounds: how many pairs there are.
            longest: about so many seconds all of them may take.
            clock: what measures; the time of the process where the machine has other work.
        """
        both = (self._target.function, False), (self._target.run, True)
        slower = max(self._call(function, program=flag)[0] for function, flag in both)
        calls = max(1, min(1000, round(_SHORT / max(slower, 1e-6))))
        rounds = max(3, min(rounds, round(longest / (2 * calls * max(slower, 1e-6)))))
        self.converted.clear_programs()  # how fast they are is asked from the first call on
        warm = max(calls, min(_WARM, rounds * calls))
        self._call(self._target.run, program=True, calls=warm, tried=True)
        found = []
        for number in range(rounds):
            times = {
                flag: self._call(run, program=flag, calls=calls, clock=clock, tried=True)[0]
                for run, flag in (both if number % 2 else both[::-1])
            }
            found.append((times[False], times[True]))
        return found

    def share(self) -> Share:
        """What of a warm call happens inside of programs."""
        counts, spent = bridge.Counting(), _Inside()
        self._call(self._target.run, program=True, around=counts)
        seconds, _ = self._call(self._target.run, program=True, calls=2, around=spent)
        return Share(counts.inside, counts.outside, seconds, min(spent.seconds / 2, seconds))


class _Inside:
    """Adds up the seconds of the calls that run one program each.

    Attributes:
        seconds: the sum.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._call = StaticFunction.__call__

    def __enter__(self) -> _Inside:
        call = self._call

        def timed(this: StaticFunction, /, *args: Any, **kwargs: Any) -> Any:
            if this.islands is not None:
                return call(this, *args, **kwargs)
            start = time.perf_counter()
            try:
                return call(this, *args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        type.__setattr__(StaticFunction, "__call__", timed)
        return self

    def __exit__(self, *error: object) -> None:
        type.__setattr__(StaticFunction, "__call__", self._call)
