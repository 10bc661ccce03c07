"""One piece of the state of a loop, and the values that carry it from trip to trip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import paddle

from d2s.runtime.lists.items.likeness import wants_gradients
from d2s.runtime.values.tensors import carried, is_float


class Carrier:
    """One piece of the loop's state.

    Attributes:
        path: the variable, or the way to the part of it.
        inits: its loop variables before the first trip.
        parts: the carriers of what it consists of.
        now: what it is at present: in a trip, what that leaves, behind the loop.
    """

    path: str
    inits: list[paddle.Tensor]
    parts: Sequence[Carrier] = ()
    now: object = None

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        """The object that the body (or the code behind the loop) sees."""
        raise NotImplementedError

    def split(self, after: object) -> list[paddle.Tensor]:
        """What the body left, as the next values of the loop variables."""
        raise NotImplementedError

    def settled(self, value: object, tripped: paddle.Tensor) -> object:
        """What the variable is behind the loop: without a trip it is what it was before.

        Args:
            value: what it is after the last trip.
            tripped: a bool value, whether there was a trip.
        """
        return value

    def each(self) -> Iterator[Carrier]:
        """This carrier, and those of its parts."""
        yield self
        for part in self.parts:
            yield from part.each()


def rebuilt(carriers: Sequence[Carrier], values: list[paddle.Tensor]) -> list[object]:
    """What several carriers make of the values of all their loop variables."""
    objects, rest = [], list(values)
    for carrier in carriers:
        count = len(carrier.inits)
        objects.append(carrier.rebuild(rest[:count]))
        rest = rest[count:]
    return objects


def seed(value: paddle.Tensor, *, gradient: bool = False) -> paddle.Tensor:
    """A copy of ``value`` to begin the loop with; with ``gradient`` it lets gradients through."""
    copy = carried(value)
    if gradient:
        copy.stop_gradient = False
    return copy


def opens(value: paddle.Tensor, init: paddle.Tensor) -> bool:
    """Whether a trip makes differentiable what the loop began with as a constant."""
    return bool(
        wants_gradients()
        and is_float(value.dtype)
        and init.stop_gradient
        and not value.stop_gradient
    )
