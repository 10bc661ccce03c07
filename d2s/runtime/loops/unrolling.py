"""Trips of a loop over Python values, captured one after the other: how many, and of what."""

from __future__ import annotations

from collections.abc import Iterator

from d2s.errors import ContainerInGraphError, D2SError, UnsupportedInGraphError
from d2s.runtime.loops.rolling import Attempt
from d2s.runtime.trace import current, error_here, open_trace

GUARDED = 64
"""How many trips behind a ``break`` that the run decides are captured one by one."""

MOST_TRIPS = 100_000
"""How many trips of a Python loop are captured at most."""


def check_trips(trips: int, word: str) -> None:
    """Refuse to capture a loop over Python values that seems to be endless."""
    if trips > MOST_TRIPS and current() is not None:
        raise error_here(
            UnsupportedInGraphError,
            f"a {word} loop over Python values has been captured for {MOST_TRIPS} trips; one that "
            "a tensor is to end goes on for ever",
            "let a tensor decide the condition of the loop, or bound it by a number",
        )


def deeper(depth: int, attempt: Attempt | None = None) -> int:
    """One more trip behind a ``break`` that the run decides; too many are refused."""
    if depth == GUARDED:
        if attempt is not None and isinstance(attempt.reason, D2SError):
            raise attempt.reason
        raise error_here(
            UnsupportedInGraphError,
            f"a loop over Python objects goes on for more than {GUARDED} trips after a break that "
            "a tensor decides",
            "let a tensor decide the condition of the loop, iterate over a tensor, or bound the "
            "loop by a number",
        )
    return depth + 1


def items_of_list(items: list[object]) -> Iterator[object]:
    """The items of a list; one that grows under a tensor condition meanwhile is refused.

    Raises:
        ContainerInGraphError: (D2S207) the run decides how many items there are.
    """
    trace = open_trace()
    before = sum(each is items for each in trace.divided)
    grown = id(items) in trace.grown
    for item in items:
        yield item
        changed = sum(each is items for each in trace.divided) > before
        if changed or (id(items) in trace.grown and not grown):
            raise error_here(
                ContainerInGraphError,
                "a list gets another length under a tensor condition while it is iterated",
                "iterate a copy of it, or use while and an index",
            )
