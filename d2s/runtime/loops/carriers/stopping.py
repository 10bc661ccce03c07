"""Whether a tensor that the trips change stops gradients: as it began, or as the trips decide.

``total = paddle.zeros([])`` has a gradient behind ``while ...: total = total + x * w`` if there was
a trip.  Where one trip can say something else than another, a bool goes along as a loop variable.
"""

from __future__ import annotations

from typing import Final

import paddle

from d2s.runtime.control_flow.stops import (
    Stops,
    Test,
    are_followed,
    both,
    computed,
    note_stops,
    opposite,
    stops_of,
    test_of,
)
from d2s.runtime.trace import OnceMoreError
from d2s.runtime.values.tensors import is_float

_AS_BEFORE: Final = Test((), "as before", 1 << 30)
"""It has no gradient if the loop variable had none in this trip: nobody can compute it."""


class TripsDifferError(OnceMoreError):
    """A trip decides whether a variable has a gradient: captured again, with a bool for each."""


class Stopping:
    """When one loop variable stops gradients.

    Args:
        value: the variable before the loop.
        gradient: a trip gives it a gradient.
        differ: the trips decide which variables of the loop have one.

    Attributes:
        inits: a bool that is carried with it; none where all trips agree.
    """

    def __init__(self, value: paddle.Tensor, *, gradient: bool, differ: bool) -> None:
        self.follows = are_followed() and is_float(value.dtype)
        self.before = stops_of(value)
        self.gradient = gradient or not value.stop_gradient
        self.inits: list[paddle.Tensor] = []
        if self.follows and self.gradient and (differ or isinstance(self.before, Test)):
            self.inits = [_as_value(self.before)]

    def enter(self, value: paddle.Tensor, flags: list[paddle.Tensor]) -> None:
        """Note it of ``value``, the variable in a trip or behind the loop."""
        if flags:
            note_stops(value, test_of(flags[0]))
        elif self.follows and self.gradient and self.before is True:
            note_stops(value, _AS_BEFORE)

    def leave(self, value: paddle.Tensor) -> list[paddle.Tensor]:
        """The next bool, of what a trip has left.

        Raises:
            TripsDifferError: there is none yet, and the trips do not agree.
        """
        if not self.follows or not self.gradient:
            return []
        stops = stops_of(value)
        if self.inits:
            return [_as_value(stops)]
        if stops is not False:
            raise TripsDifferError
        return []

    def settle(self, value: paddle.Tensor, tripped: paddle.Tensor) -> None:
        """Note it of ``value`` behind a loop whose trips all give it a gradient."""
        if self.follows and self.gradient and not self.inits:
            note_stops(value, both(opposite(test_of(tripped)), self.before))


def _as_value(stops: Stops) -> paddle.Tensor:
    found = computed(stops)
    return paddle.full([], found, "bool") if isinstance(found, bool) else paddle.assign(found)
