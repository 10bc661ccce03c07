"""Whether an island pays, and a driver: some calls are timed as programs, some in dygraph.

No call runs twice: one after the other takes the one way or the other, and both ways give the same.
What draws random numbers of Paddle is not tried: a program draws other ones than dygraph.
"""

from __future__ import annotations

import time
from typing import Final

EACH: Final = 5
"""So many calls are timed of each way; the fastest one counts."""

SETTLED: Final = 3
"""So many calls have to find their program before the first one is timed."""

GAIN: Final = 0.95
"""What a program may take at most, beside dygraph; the driver around it takes time as well."""

ORDER: Final = (True, False, False, True, False, True, True, False) * 3
"""Which calls of a driver run its islands: not every second one, as calls may alternate."""

BLOCK: Final = 5
"""So many calls in a row go one way where calls are short; the first one of them does not count, as
it finds the caches of the processor full of the other way.
"""

COUNTED: Final = 9
"""So many calls of each way count, the fastest ones: the others may have captured something."""

LEAST_GAIN: Final = 0.97
"""What a driver may take at most, beside dygraph: what calls it takes time as well."""

LEAST_LOSS: Final = 1.03
"""What the programs of a function may take at most, beside dygraph."""

UNDECIDED: Final = 64
"""So many calls of a driver are waited for until all of its islands are tried."""

SLOWER: Final = "a program takes longer there, or is impossible"


class Trial:
    """The times of one island.

    Attributes:
        pays: what has been found; ``None`` before.
    """

    def __init__(self) -> None:
        self.pays: bool | None = None
        self._settled = 0
        self._times: dict[bool, list[float]] = {True: [], False: []}
        self._start = 0.0

    def begin(self) -> bool:
        """Begin a call; whether it is to be a program."""
        program = self._settled < SETTLED or len(self._times[True]) <= len(self._times[False])
        self._start = time.perf_counter()
        return program

    def end(self, *, program: bool, captured: bool) -> None:
        """End a call that has come to its end.

        Args:
            program: which way it took.
            captured: a program was made for it, which is not what is timed.
        """
        took = time.perf_counter() - self._start
        if captured:
            self._settled = 0
            self._times = {True: [], False: []}
            return
        self._settled += 1
        if self._settled <= SETTLED:
            return
        self._times[program].append(took)
        fastest = [min(times) for times in self._times.values() if len(times) >= EACH]
        if len(fastest) == len(self._times):
            self.pays = fastest[0] <= GAIN * fastest[1]


class Drawn:
    """What islands have drawn that are not tried.

    Attributes:
        count: another number after each call of one.
    """

    count = 0


class Comparison:
    """The times of a converted function beside dygraph; calls need not be alike.

    Args:
        most: what it may take at most, dygraph being 1.
        block: so many calls in a row go one way.

    Attributes:
        pays: what has been found; ``None`` before.
    """

    def __init__(self, most: float = LEAST_GAIN, block: int = 1) -> None:
        self._most = most
        self._block = block
        self._order = [way for way in ORDER[: 6 if block > 1 else None] for _ in range(block)]
        self.pays: bool | None = None
        self._calls = 0
        self._waited = 0
        self._times: dict[bool, list[float]] = {True: [], False: []}

    def waits(self, undecided: bool) -> bool:
        """Whether the next call is not to be timed, as the islands are still ``undecided``."""
        self._waited += 1
        return undecided and self._waited <= UNDECIDED

    def way(self) -> bool:
        """Whether the next call is converted."""
        return self._order[min(self._calls, len(self._order) - 1)]

    def note(self, took: float, *, converted: bool, drawn: bool = False) -> None:
        """A call has come to its end.

        Args:
            took: its seconds.
            converted: whether it was not in dygraph.
            drawn: whether one of its islands has drawn random numbers, so that both ways differ.
        """
        if self._block == 1 or self._calls % self._block:
            self._times[converted].append(took)
        self._calls += 1
        if drawn:
            self.pays = True
        elif self._calls >= len(self._order):
            mine, dygraph = (sum(sorted(self._times[way])[:COUNTED]) for way in (True, False))
            self.pays = mine <= self._most * dygraph
