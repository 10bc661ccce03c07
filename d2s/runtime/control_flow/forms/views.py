"""Items of lists of the run that the two sides of a branch have read, as one behind it.

row = a["k"] if c else b["k"]       a list that each side has read out of a dict of the run
row.append(x)                       one of a["k"] where c holds, of b["k"] where it does not
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import paddle

from d2s.runtime.aliasing.holders import is_held
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.control_flow.partners import Partners
from d2s.runtime.lists.items.fixed import (
    HandedOut,
    forget_view,
    handed_out,
    owner_of_view,
    route_of_view,
)
from d2s.runtime.trace import open_trace

Builder = Callable[[list[paddle.Tensor]], Any]


class Sides(Protocol):
    """The two sides of an ``if``: see ``merge.Merger``."""

    handed: list[HandedOut]

    @property
    def partners(self) -> Partners:
        """The containers that the sides leave, place by place."""

    def flag(self) -> Builder:
        """Yield which side was taken."""

    def output(self, true: object, false: object) -> Builder:
        """Yield ``true`` from one side and ``false`` from the other."""

    def copied(self, side: bool, value: object) -> Any:
        """A copy of a tensor or number in ``side``."""


def lent(merger: Sides, true: Frozen, false: Frozen, made: Builder) -> Builder:
    """What ``made`` gives for two containers, which may be items of lists of the run.

    A change of it goes to the place that the side which was taken has read it from.
    """
    owners = owner_of_view(true.container), owner_of_view(false.container)
    known = [owner for owner in owners if owner is not None]
    if not known:
        return made
    first, second = route_of_view(true.container), route_of_view(false.container)
    inside = any(owner.home > len(open_trace().blocks) for owner in known)
    if first is None or second is None or first[1:] != second[1:] or inside:
        nowhere = HandedOut((known[0], known[-1]))
        return lambda results: handed_out(made(results), nowhere)
    for side, view in ((True, true.container), (False, false.container)):
        if not merger.partners.is_shared(side, view) and not is_held(view):
            forget_view(view)
    flag = merger.flag()
    position = merger.output(merger.copied(True, first[0]), merger.copied(False, second[0]))

    def build(results: list[paddle.Tensor]) -> object:
        write = HandedOut((known[0], known[-1]), position(results), first[1:], flag(results))
        merger.handed.append(write)
        return handed_out(made(results), write)

    return build
