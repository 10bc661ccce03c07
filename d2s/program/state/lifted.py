"""State that is an input of a program: numbers that it changes, tensors whose sizes it changes.

::

    self.steps += 1                      ->    an input for the number
    self.k = concat([self.k, k], 1)      ->    an input of shape [2, -1, 8]

The first program takes the number and the sizes as they are; the function itself changes them, so
there would be one program after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError
from d2s.program.keys.call_key import TensorLeaf
from d2s.program.keys.dimensions import SMALLEST
from d2s.program.state.guards import Guard
from d2s.program.state.places import Place, Reading
from d2s.program.state.records import Change, Given
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import NUMBER_DTYPES, mark_number, number_kind


def counters_of(changes: list[Change]) -> list[Change]:
    """Numbers, and tensors of other sizes, that stand in the state afterwards."""
    parts = [each for change in changes for each in _parts(change)]
    return [each for each in parts if _counts(each) or varies(each)]


def _counts(change: Change) -> bool:
    """Whether a Python number of the state is another one afterwards."""

    def number(value: Any) -> bool:
        if isinstance(value, Choice):
            return number(value.true) and number(value.false)
        return number_kind(value) in (int, float)

    return type(change.before) in (int, float) and number(change.value)


def varies(change: Change) -> bool:
    """Whether a tensor of the state gives place to one of other sizes, and no gradient counts."""
    before, value = change.before, change.value
    if not bridge.is_eager(before) or not bridge.is_value(value) or number_kind(value) is not None:
        return False
    now, then = list(value.shape), list(before.shape)
    alike = value.dtype == before.dtype and len(now) == len(then)
    return alike and now != then and before.stop_gradient and value.stop_gradient


def _parts(change: Change) -> list[Change]:
    """The entries that have changed, for a list that has as many items as before."""
    if not change.whole:
        return [change]
    if not isinstance(change.record.scope, list) or len(change.value) != len(change.before):
        return []
    pairs = enumerate(zip(change.value, change.before, strict=True))
    return [Change(change.record, at, now, was) for at, (now, was) in pairs if now is not was]


def leaf_of(changes: list[Change], now: Any) -> TensorLeaf | None:
    """The input for what stands ``now`` at the place of ``changes``; ``None`` if it can be none.

    A size that each program leaves as it is now is no reason for another one.
    """
    path = changes[-1].place.path
    if _is_number(now):
        return TensorLeaf(path, NUMBER_DTYPES[type(now)], (), True)
    left = [change.value for change in changes if varies(change)]
    left += [c.before for c in changes if isinstance(c, Given) and bridge.is_eager(c.before)]
    if not left or not _can_be_given(now):
        return None
    alike = [each for each in left if each.dtype == now.dtype and len(each.shape) == len(now.shape)]
    # Paddle decides about sizes 0 and 1 while it captures, as for arguments.
    shape = tuple(
        -1 if size >= SMALLEST and any(each.shape[axis] != size for each in alike) else size
        for axis, size in enumerate(now.shape)
    )
    return TensorLeaf(path, _name(now.dtype), shape, True) if -1 in shape else None


def _can_be_given(now: Any) -> bool:
    return bridge.is_eager(now) and now.stop_gradient and now.is_contiguous()


def _name(dtype: object) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def _is_number(thing: object) -> bool:
    return type(thing) in (int, float)


@dataclass(frozen=True)
class Lifted:
    """A place outside of the arguments, and the input of the program for what stands there.

    Attributes:
        change: what the function does to it.
        leaf: the input.
    """

    change: Change
    leaf: TensorLeaf

    @property
    def place(self) -> Place:
        """Where it is kept."""
        return self.change.place

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, whose sizes vary."""
        return bool(self.leaf.shape)

    def value(self) -> Any:
        """The input, which stands at the place from now on, to which another way may lead."""
        place, leaf = self.place, self.leaf
        now = place.get()
        value = paddle.static.data(f"d2s_{leaf.path}", list(leaf.shape), leaf.dtype)
        value.stop_gradient = True
        if self.is_tensor:
            place.put(value)
        elif _is_number(now):
            place.put(mark_number(value, type(now)))
        return value

    def given(self) -> Any:
        """What a run gives the program."""
        now = self.place.get()
        return now if self.is_tensor else paddle.to_tensor(now, self.leaf.dtype)

    def guard(self, place: Place) -> Guard:
        """Whether what stands at ``place`` fits the input."""
        if not self.is_tensor:
            return Guard(place, type, type(place.get()))
        return Guard(place, self.fits, True)

    def fits(self, now: Any) -> bool:
        """Whether a tensor may be given for the input."""
        if not _can_be_given(now) or _name(now.dtype) != self.leaf.dtype:
            return False
        wanted, shape = self.leaf.shape, now.shape
        return len(wanted) == len(shape) and all(
            size >= SMALLEST if open_ < 0 else size == open_
            for open_, size in zip(wanted, shape, strict=True)
        )


def lift(known: list[list[Change]]) -> tuple[Lifted, ...]:
    """What becomes an input of a program that is captured now; tensors come first.

    Args:
        known: for each place, what programs do to it, the newest last.
    """
    leaves = [(each[-1], leaf_of(each, each[-1].place.get())) for each in known]
    found = [Lifted(change, leaf) for change, leaf in leaves if leaf is not None]
    return tuple(sorted(found, key=lambda each: not each.is_tensor))


def apart_from(lifted: tuple[Lifted, ...], homes: list[tuple[int, Place]]) -> Iterator[Guard]:
    """That tensors which are inputs are no other tensors of the state, which the program takes.

    Raises:
        NotStaticError: one of them is.
    """
    mine = [each.place for each in lifted if each.is_tensor]
    others = [place for _, place in homes]

    def told(places: list[Place]) -> bool:
        ids = {id(place.get()) for place in places}
        return len(ids) == len(places) and ids.isdisjoint(id(place.get()) for place in others)

    if not told(mine):
        raise NotStaticError("one tensor stands at two places of the state", cure="copy it")
    if mine:
        yield Guard(Reading(mine, told, " and ".join(place.path for place in mine)), bool, True)
