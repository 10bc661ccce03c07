"""The programs of one function: found by the call's key, dropped when there are too many.

The program that was used least recently is dropped first.  A function that keeps making programs
is told so once, with what keeps changing and the cure (D2S308).
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable
from typing import Any, Final

from d2s import config
from d2s.diagnostics.location import user_level
from d2s.errors import ManyProgramsWarning
from d2s.program.dispatch.entry import CLOCK, Entry, Reason
from d2s.program.dispatch.recent_calls import KnownCalls, Parts
from d2s.program.dispatch.specialized_call import warm_call
from d2s.program.keys.call_key import Call

CURES: Final = {
    "shape": "give to_static an input_spec with InputSpec([None, ...]) for the sizes that vary, "
    "or pad to a few sizes",
    "dtype": "cast it with .astype() before the call",
    "stop_gradient": "set its stop_gradient to the same value for every call",
    "value": "pass it as a tensor, or keep to a few values",
    "object": "pass the same object on every call, or a tensor in its place",
    "mode": "call the function in few modes: each has programs of its own",
    "state": "keep it in a tensor, or pass it as an argument",
}


UNSETTLED: Final = frozenset(("value", "object", "state"))
"""What may be another one on every call, so that no program fits the next one."""

_PATIENCE: Final = 15
"""So many programs in a row that run once; then calls run in dygraph for a while."""

_MOST_SECONDS: Final = 3.0
"""So long those may take that run once, by default."""

_LONGEST: Final = 16
"""So often that while gets longer, twice each time."""


class Programs:
    """Every program of one function, the oldest first.

    A call only reads, and what it reads is replaced as a whole, so that no lock is needed; who
    captures holds the lock of captures.

    Args:
        name: the function's name, for messages.
        function: the function itself.

    Attributes:
        entries: all of them.
        known: the program that a simple call has run; all is forgotten at each new program.
        made: how many there have been.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self.entries: tuple[Entry, ...] = ()
        self._by_key: dict[Any, tuple[Entry, ...]] = {}
        self.known = KnownCalls()
        self._changes: collections.Counter[tuple[str, str]] = collections.Counter()
        self.made = 0
        self._told = False
        self._runs = 0
        self._vain = 0
        self._seconds = 0.0
        self._rest = 0
        self._breaks = 0

    def fitting(self, key: Any) -> Entry | None:
        """The newest program for calls with this key that fits the state outside, too."""
        for entry in self._by_key.get(key, ()):
            if entry.runner.fresh():
                entry.used = next(CLOCK)
                return entry
        return None

    def again(
        self, quick: tuple[Parts, list[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Entry, list[Any]] | None:
        """The program of a call like one before it, if it still fits, and its tensors in order.

        Args:
            quick: what the call is made of, and its tensors.
            args, kwargs: the call.
        """
        parts, tensors = quick
        calls = self.known
        known = calls.last
        repeated = known is not None and known.parts == parts
        if known is None or not repeated:
            known = calls.find(parts)
            if known is None:
                return None
        entry = known.entry
        if not entry.runner.fresh():
            return None
        entry.used = next(CLOCK)
        if repeated:
            if known.warm is None:
                known.warm = warm_call(self._function, known, args, kwargs)
            calls.warm = known.warm
        if known.order is None:
            return entry, tensors
        return entry, [tensors[position] for position in known.order]

    def rests(self) -> bool:
        """Whether the present call is to run in dygraph: one program after the other ran once."""
        if not self._rest:
            return False
        self._rest -= 1
        return True

    def of(self, key: Any) -> tuple[Entry, ...]:
        """All programs for calls with this key, the newest first."""
        return self._by_key.get(key, ())

    @property
    def newest(self) -> Entry | None:
        """The program that was captured last."""
        entries = self.entries
        return entries[-1] if entries else None

    def add(self, entry: Entry) -> None:
        """Keep a program; drop the least recently used ones beyond the limit."""
        limit = max(config.get().max_programs, 1)
        kept = [*self.entries, entry]
        while len(kept) > limit:
            kept.remove(min(kept[:-1], key=lambda old: old.used))
        by_key: dict[Any, tuple[Entry, ...]] = {}
        for old in kept:
            by_key[old.key] = (old, *by_key.get(old.key, ()))
        self.entries, self._by_key, self.known = tuple(kept), by_key, KnownCalls()
        self.made += 1
        if entry.reason.kind != "first":
            self._changes[entry.reason.kind, entry.reason.subject] += 1
        self._count_vain(entry)
        self._tell(limit)

    def _count_vain(self, entry: Entry) -> None:
        """Let calls run in dygraph for a while when programs come and go without being used.

        The while gets longer each time that it has not helped.
        """
        runs = sum(old.runner.runs for old in self.entries)
        again = runs - self._runs > 1 or entry.reason.kind not in UNSETTLED or entry.call.arrays
        self._runs = runs
        self._vain = 0 if again else self._vain + 1
        if again:
            self._breaks, self._seconds = 0, 0.0
        if self._vain >= _PATIENCE:
            self._give_way()

    def spent(self, seconds: float) -> None:
        """The last program took that long to be captured, of a function that may run in dygraph."""
        if self._vain > 1 and not self._rest:
            self._seconds += seconds
            if self._seconds > _MOST_SECONDS:
                self._give_way()

    def _give_way(self) -> None:
        """Let the next calls run in dygraph."""
        self._vain = _PATIENCE - 1
        self._rest = _PATIENCE << min(self._breaks, _LONGEST)
        self._breaks += 1

    def clear(self) -> None:
        """Drop all."""
        self.entries, self._by_key, self.known = (), {}, KnownCalls()

    def _tell(self, limit: int) -> None:
        """Warn once of a function that makes ever more programs."""
        at = config.get().warn_programs
        if self._told or not at or self.made < min(at, limit + 1):
            return
        self._told = True
        (kind, subject), times = self._changes.most_common(1)[0]
        last = next(e.reason for e in reversed(self.entries) if e.reason.subject == subject)
        resting = "; most of its calls run in dygraph from here on" if self._rest else ""
        warnings.warn(
            f"{self.name!r} has been captured {self.made} times, {times} of them because "
            f"{subject} has changed (the last time: {last.text}){resting}\n"
            f"  cure: {CURES[kind]}  [{ManyProgramsWarning.code}]",
            ManyProgramsWarning,
            stacklevel=user_level(),
        )


def explain(call: Call, entries: tuple[Entry, ...]) -> Reason:
    """Why no program fits ``call``: how it differs from the program that is closest to it."""
    if not entries:
        return Reason("first", "", "first call")
    closest = differences(call, entries)
    if not closest:
        return Reason("state", "other arguments", "other arguments")
    return closest[0]


def differences(call: Call, entries: tuple[Entry, ...]) -> list[Reason]:
    """All that ``call`` differs in from the program that is closest to it."""
    return min((_differences(call, entry) for entry in reversed(entries)), key=len)


def _differences(call: Call, entry: Entry) -> list[Reason]:
    found: list[Reason] = []
    key, other = call.key, entry.key
    for leaf, was in zip(key[0], other[0], strict=False):
        path = leaf.path
        if leaf.dtype != was.dtype:
            found.append(Reason("dtype", path, f"{path} is {leaf.dtype}, was {was.dtype}"))
        if leaf.shape != was.shape:
            now, before = list(leaf.shape), list(was.shape)
            found.append(Reason("shape", path, f"{path} has shape {now}, had {before}"))
        if leaf.stop_gradient != was.stop_gradient:
            text = f"{path} has stop_gradient={leaf.stop_gradient}"
            found.append(Reason("stop_gradient", path, text))
    for (path, value), (_, was) in zip(key[1], other[1], strict=False):
        if value != was:
            kind = "value" if isinstance(value, tuple) else "object"
            found.append(Reason(kind, path, f"{path} is {_shown(value)}, was {_shown(was)}"))
    names = ("layers or train/eval mode", "grad mode", "default dtype", "AMP state")
    for name, mine, theirs in zip(names, key[2], other[2], strict=False):
        if mine != theirs:
            found.append(Reason("mode", f"the {name}", f"{name} changed"))
    lengths = len(key[0]) + len(key[1]), len(other[0]) + len(other[1])
    if lengths[0] != lengths[1]:
        found.append(Reason("object", "the structure of the arguments", "other arguments"))
    if not found:
        broken = entry.runner.broken()
        if broken is not None:
            found.append(Reason("state", broken, f"{broken} changed"))
    return found


def _shown(value: Any) -> str:
    return repr(value[1]) if isinstance(value, tuple) and len(value) > 1 else repr(value)
