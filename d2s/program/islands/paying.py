"""Whether an island pays: some of its calls are timed as a program, some in dygraph.

No call runs twice: one after the other takes the one way or the other, and both ways give the same.
An island that draws random numbers is not tried, as a program draws other ones than dygraph does.
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
