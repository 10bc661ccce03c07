"""Loop variables of open size on both sides of a loop's edge, where they may be empty.

A ``while`` of Paddle cannot carry a tensor without elements.  Where a variable may have none, it
gets one more element along each open dimension outside of the trips, which is cut off inside.
"""

from __future__ import annotations

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.empties import axes_of, cut, may_be_empty, note_filled, padded
from d2s.runtime.loops.carriers.plans import Plans
from d2s.runtime.trace import OnceMoreError


class MayBeEmptyError(OnceMoreError):
    """A trip may leave a tensor without elements: the loop is captured again, prepared for it."""


class Boundary:
    """What the variables of one static loop are inside and outside of the trips.

    Attributes:
        inits: their first values, as the loop takes them.
    """

    def __init__(self, inits: list[paddle.Tensor], plans: Plans) -> None:
        self.open = {
            index: axes for index, init in enumerate(inits) if (axes := _open_dimensions(init))
        }
        if any(may_be_empty(inits[index]) for index in self.open):
            plans.empties = True
        self.wide = plans.empties
        self.inits = self._padded(inits) if self.wide else inits

    def _padded(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        return [
            padded(value, self.open[index]) if index in self.open else value
            for index, value in enumerate(values)
        ]

    def enter(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        """The variables in a trip, or behind the loop."""
        if not self.wide:
            for index in self.open:
                note_filled(values[index])
            return values
        return [
            cut(value, self.open[index]) if index in self.open else value
            for index, value in enumerate(values)
        ]

    def leave(self, values: list[paddle.Tensor]) -> list[paddle.Tensor]:
        """What a trip leaves, as the loop takes it.

        Raises:
            MayBeEmptyError: something may be empty, and the loop is not prepared for it.
        """
        if self.wide:
            return self._padded(values)
        if any(may_be_empty(values[index]) for index in self.open):
            raise MayBeEmptyError
        return values


def _open_dimensions(value: paddle.Tensor) -> list[int]:
    return axes_of(value) if bridge.shape_of(value) is not None else []
