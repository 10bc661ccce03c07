"""What is asked of d2s in a scenario, as ratios to what was measured beside it, and whether it is.

Where the floor itself is above a goal, nobody can meet it: then 1.15 times the floor is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from d2s.bench.texts import TITLES, duration

ABOVE_FLOOR: Final = 1.15
LEVEL: Final = 0.05
"""So far above a goal two figures may be level, if their rounds spread as much."""


@dataclass(frozen=True)
class Goal:
    """At most so many times what another peer takes, or so many seconds.

    Attributes:
        factor: how many times; seconds if there is no peer.
        than: a peer; ``best``: the fastest of dygraph, Paddle's converters and the program by hand;
            empty: nobody, ``factor`` is seconds.
    """

    factor: float
    than: str = ""

    @property
    def text(self) -> str:
        """For a reader.

        >>> Goal(1 / 8, "paddle-ast").text, Goal(0.15).text, Goal(1, "best").text
        ('≥ 8x faster than Paddle AST', '≤ 150 ms', 'no slower than the best')
        """
        if not self.than:
            return f"≤ {duration(self.factor)}"
        peer = "the best" if self.than == "best" else TITLES[self.than]
        if self.factor == 1:
            return f"no slower than {peer}"
        times = 1 / self.factor
        if self.factor < 1 and round(times, 1) == round(times, 6):
            return f"≥ {times:.3g}x faster than {peer}"
        return f"≤ {self.factor:.3g}x {peer}"


@dataclass(frozen=True)
class Verdict:
    """Whether a goal is met.

    Attributes:
        goal: in words, with what it was compared to.
        state: ``met``, ``missed``, ``level`` (above it by less than the noise) or ``unknown``.
        by: d2s's figure as a multiple of what was allowed; ``None`` if one is missing.
    """

    goal: str
    state: str
    by: float | None = None

    def __str__(self) -> str:
        measured = "" if self.by is None else f" ({self.by:.2f} of the limit)"
        return f"{self.goal}: {self.state}{measured}"


def judge(goal: Goal, peers: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Whether the figures of a scenario meet a goal.

    A peer that fails or is wrong is beaten.

    >>> peers = {"d2s": {"status": "timed", "best_s": 2.0, "spread": 0.0},
    ...          "dygraph": {"status": "timed", "best_s": 1.0, "spread": 0.0},
    ...          "paddle-ast": {"status": "fails", "detail": "Crash"},
    ...          "floor": {"status": "timed", "best_s": 1.9, "spread": 0.0}}
    >>> print(judge(Goal(3, "dygraph"), peers))
    ≤ 3x dygraph: met (0.67 of the limit)
    >>> print(judge(Goal(1, "dygraph"), peers))
    ≤ 1.15x floor (no slower than dygraph): met (0.92 of the limit)
    >>> print(judge(Goal(1 / 8, "paddle-ast"), peers))
    ≥ 8x faster than Paddle AST: met
    """
    mine = peers.get("d2s", {})
    if mine.get("status") != "timed":
        return Verdict(goal.text, "missed" if mine else "unknown")
    other = _compared(goal, peers)
    if other is None:
        beaten = any(peers.get(name) for name in _names(goal))
        return Verdict(goal.text, "met" if beaten else "unknown")
    allowed, text = goal.factor * other["best_s"], goal.text
    floor = peers.get("floor", {})
    if goal.than != "floor" and floor.get("status") == "timed" and floor["best_s"] > allowed:
        allowed, other = ABOVE_FLOOR * floor["best_s"], floor
        text = f"≤ {ABOVE_FLOOR}x floor ({goal.text})"
    by = mine["best_s"] / allowed
    noise = min(LEVEL, max(mine["spread"], other["spread"]))
    return Verdict(text, "met" if by <= 1 else "level" if by <= 1 + noise else "missed", by)


def _names(goal: Goal) -> tuple[str, ...]:
    return (
        ("dygraph", "paddle-ast", "paddle-sot", "by-hand") if goal.than == "best" else (goal.than,)
    )


def _compared(goal: Goal, peers: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The figures that d2s's are held against; ``None`` if nobody has any."""
    if not goal.than:
        return {"best_s": 1.0, "spread": 0.0}
    found = [peers[name] for name in _names(goal) if peers.get(name, {}).get("status") == "timed"]
    return min(found, key=lambda each: float(each["best_s"]), default=None)
