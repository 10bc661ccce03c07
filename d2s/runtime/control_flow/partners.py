"""Which list or dict of one side of a branch stands where which one of the other side does.

A side may leave one new list in two places, and the other side another one in the same two::

    if x.sum() > 5:
        a = b = [x]                     one list behind the branch stands for both, in both places
    else:
        a = b = [x * 2]

Where the places differ (``a = [x]; b = [x]`` on the other side), whether ``a`` and ``b`` are one
is a matter of the run, and each side's lists stay as they are.
"""

from __future__ import annotations

from typing import Any, Final

from d2s.runtime.aliasing.reach import REACH
from d2s.runtime.aliasing.snapshots import Frozen, has_other_form
from d2s.runtime.control_flow.ends import Ends

_NOTHING: Final = object()
"""What a side has where it lacks a key."""


class Partners:
    """The containers that the two sides leave, place by place.

    Args:
        ends: what objects hold at the end of each side.
        true, false: what the sides leave, frozen.
    """

    def __init__(self, ends: tuple[Ends, Ends], true: list[Any], false: list[Any]) -> None:
        self._ends = ends
        self._places: dict[bool, dict[int, list[int]]] = {True: {}, False: {}}
        self._seen: dict[tuple[int, int], tuple[Any, Any]] = {}
        queue = list(zip(true, false, strict=True))
        self._stay = {id(one.container) for one, other in queue if _is_one(one, other)}
        while queue and len(self._seen) < REACH:
            queue += self._below(*queue.pop())
        self._too_many = bool(queue)

    def are_one(self, true: object, false: object) -> bool:
        """Whether each of the two containers stands only where the other one does."""
        mine, others = self._places[True].get(id(true), []), self._places[False].get(id(false), [])
        return not self._too_many and {*mine} <= {id(false)} and {*others} <= {id(true)}

    def stays(self, container: object) -> bool:
        """Whether both sides leave one container in one variable, which goes on as itself."""
        return id(container) in self._stay

    def is_shared(self, side: bool, container: object) -> bool:
        """Whether a side leaves a container in several places."""
        return self._too_many or len(self._places[side].get(id(container), [])) > 1

    def _below(self, *sides: Any) -> list[tuple[Any, Any]]:
        """Note what the two sides have in one place; what stands below it, pair by pair."""
        held = [each.container if isinstance(each, Frozen) else each for each in sides]
        for side, each, other in zip((True, False), sides, reversed(held), strict=True):
            if isinstance(each, Frozen):
                self._places[side].setdefault(id(each.container), []).append(id(other))
        if (id(held[0]), id(held[1])) in self._seen:
            return []
        self._seen[id(held[0]), id(held[1])] = sides
        true, false = (dict(ends.parts(each)) for ends, each in zip(self._ends, sides, strict=True))
        return [(true.get(key, _NOTHING), false.get(key, _NOTHING)) for key in {**true, **false}]


def _is_one(true: object, false: object) -> bool:
    """Whether two snapshots are of one container, which has one form on both sides."""
    if not (isinstance(true, Frozen) and isinstance(false, Frozen)):
        return False
    of_run = hasattr(type(true.container), "d2s_freeze")
    return true.container is false.container and (of_run or not has_other_form(true, false))
