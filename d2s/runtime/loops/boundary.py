"""Loop variables of open size on both sides of a loop's edge, where they may be empty.

A ``while`` of Paddle cannot carry a tensor without elements.  A variable that may have none gets
one more element along each open dimension outside of the trips, which is cut off inside.

That a variable always has elements is shown by induction: it has some before the loop, and a trip
that begins with some leaves some.  Where a trip does not, the loop is captured again.
"""

from __future__ import annotations

from collections.abc import Sequence

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.sizes.empties import (
    axes_of,
    cut,
    has_given_sizes,
    may_be_empty,
    note_filled,
    padded,
)
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.plans import Plans
from d2s.runtime.trace import OnceMoreError


class OtherSizesError(OnceMoreError):
    """A trip may leave tensors without elements: the loop is captured again, prepared for it.

    Args:
        empty: the variables that may be such.
        own: those whose sizes are not those of arguments, as they were before the loop.
    """

    def __init__(self, empty: set[str], own: set[str]) -> None:
        super().__init__()
        self.empty = empty
        self.own = own


class Boundary:
    """What the variables of one static loop are inside and outside of the trips.

    Attributes:
        inits: their first values, as the loop takes them.
        names: of those with open dimensions, by their numbers.
        wide: the open dimensions of those that may be empty.
        filled: those that never are.
        given: of these, those whose sizes are those of arguments.
    """

    def __init__(self, carriers: Sequence[Carrier], plans: Plans) -> None:
        inits = [init for carrier in carriers for init in carrier.inits]
        names = [f"{each.path} {place}" for each in carriers for place in range(len(each.inits))]
        open_ = {number: axes for number, init in enumerate(inits) if (axes := _open(init))}
        self.names = {number: names[number] for number in open_}
        self.wide = {
            number: axes
            for number, axes in open_.items()
            if plans.may_be_empty(names[number]) or may_be_empty(inits[number])
        }
        self.filled = open_.keys() - self.wide.keys()
        self.given = {
            number
            for number in self.filled
            if names[number] not in plans.own_sizes and has_given_sizes(inits[number])
        }
        self.inits = self._padded(inits)

    def _padded(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        return [
            padded(value, self.wide[number]) if number in self.wide else value
            for number, value in enumerate(values)
        ]

    def enter(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        """The variables in a trip, or behind the loop."""
        for number in self.filled:
            note_filled(values[number], given=number in self.given)
        return [
            cut(value, self.wide[number]) if number in self.wide else value
            for number, value in enumerate(values)
        ]

    def leave(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        """What a trip leaves, as the loop takes it.

        Raises:
            OtherSizesError: they are not as before the loop, which is not prepared for it.
        """
        empty = {self.names[each] for each in self.filled if may_be_empty(values[each])}
        own = {self.names[each] for each in self.given if not has_given_sizes(values[each])}
        if empty or own:
            raise OtherSizesError(empty, own)
        return self._padded(values)


def _open(value: paddle.Tensor) -> list[int]:
    return axes_of(value) if bridge.shape_of(value) is not None else []
