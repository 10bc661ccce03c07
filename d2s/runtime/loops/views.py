"""Variables of a static loop that are views of each other, in every trip (rules A1, C2).

``row = y[0]`` before a loop that writes into ``y``: both are variables of the loop, and in each
trip the one is still that part of the other.  That holds by induction: it does before the loop,
and behind a trip that begins so.  Where a trip leaves something else, the loop is captured again,
with a variable that is no view.

A trip may also leave a view of another place, and begin with none::

    last = start                    last, is_view, k = start, False, 0
    while i < n:                    while i < n:
        y[i] = last + 1                 y' = set_value(y); last' = where(is_view, y'[k], last)
        last = y[i]                     last, is_view, k = y'[i], True, i

Whether it is one, and where, are variables of the loop, where a capture without them was refused
(``Capture.places``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import paddle

from d2s.errors import InplaceError
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.aliasing.views.links import (
    Link,
    as_number,
    chain_of,
    link_of,
    note_link,
    slice_link,
)
from d2s.runtime.aliasing.views.related import are_apart, may_be_a_view
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.plans import Plans, Replan
from d2s.runtime.loops.carriers.tensor import TensorVariable
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind


@dataclass(frozen=True)
class LoopPlace:
    """What a variable may be a view of, as a trip has left it.

    Attributes:
        owner: the variable that it is a view of; ``None`` for what the loop does not change.
        base: that.
        key: the index; ``None`` for each number in it, which may be another one in each trip.
    """

    owner: str | None
    base: Any
    key: tuple[slice | None, ...]

    def numbers_of(self, link: Link | None, base: paddle.Tensor) -> list[Any] | None:
        """The numbers in the index of ``link``; ``None`` where it is no such view of ``base``."""
        if link is None or link.key is None or link.base.id != base.id:
            return None
        if pattern_of(link.key) != self.key:
            return None
        return [part for part in link.key if not isinstance(part, slice)]

    def filled(self, numbers: Sequence[Any]) -> tuple[Any, ...]:
        """The index with these numbers."""
        rest = iter(numbers)
        return tuple(next(rest) if part is None else part for part in self.key)


def pattern_of(key: tuple[Any, ...]) -> tuple[slice | None, ...]:
    """An index without its numbers."""
    return tuple(part if isinstance(part, slice) else None for part in key)


class LoopViews(Carrier):
    """The variables of one capture of a loop that are, or may be, views.

    It carries where they are, and no piece of the state.

    Attributes:
        found: those that begin as views: the variable, the one that it is a view of, and how;
            ``None`` in the place of that for what the loop does not change.
        placed: those that may be views, and of what.
        inits: the loop variables that say whether and where they are.
    """

    path = "the views of a loop"

    def __init__(self, carriers: Sequence[Carrier], plans: Plans) -> None:
        self.variables = [
            each
            for top in carriers
            for each in top.each()
            if isinstance(each, TensorVariable) and _is_plain(each.before)
        ]
        owners = {as_value(each.before).id: each for each in self.variables}
        self.found: list[tuple[TensorVariable, TensorVariable | None, Link]] = []
        for each in self.variables:
            links = [] if plans[each.path].alone else list(chain_of(as_value(each.before)))
            known = next((link for link in links if link.base.id in owners), None)
            if known is not None or links:
                link = known or links[-1]
                self.found.append((each, owners.get(link.base.id), link))
        self.inits = []
        self.placed: list[tuple[TensorVariable, LoopPlace]] = []
        for each in self.variables:
            place = plans[each.path].place
            if place is not None:
                self.placed.append((each, place))
                self.inits += self._state(each.before, place, self._before(place))

    def note(self, values: Sequence[paddle.Tensor]) -> None:
        """Note it of what the variables are now, in a trip or behind the loop.

        Args:
            values: the loop variables, of which the last ones are those of the places.
        """
        for each, owner, link in self.found:
            base = _now(link, owner)
            if _is_plain(each.now) and _is_plain(base) and each.now is not each.before:
                note_link(link, as_value(each.now), as_value(base))
        rest = iter(values[len(values) - len(self.inits) :])
        for each, place in self.placed:
            where, *numbers = (next(rest) for _ in range(1 + place.key.count(None)))
            base = self._base(place)
            if _is_plain(each.now) and _is_plain(base) and each.now is not each.before:
                view, base = as_value(each.now), as_value(base)
                note_link(slice_link(view, base, place.filled(numbers), where), view, base)

    def end(self, after: Sequence[object], is_outer: Callable[[Any], bool]) -> list[paddle.Tensor]:
        """A trip has left what the variables are now; the next values of ``inits``.

        Args:
            after: the whole state that it leaves, frozen.
            is_outer: whether a value is there before the loop.

        Raises:
            Replan: one is no longer what it was a view of, or has become one.
            InplaceError: (D2S304) one may be a view, and nobody can say of what.
        """
        wrong = [
            Replan(
                each.path,
                alone=True,
                place=self._new_place(each, is_outer) or self._place_of(owner, link),
            )
            for each, owner, link in self.found
            if not _is_still(each.now, _now(link, owner), link)
        ]
        if not wrong:
            known = {each.path for each in self._known()}
            places = {
                each.path: self._new_place(each, is_outer)
                for each in self.variables
                if each.path not in known
            }
            wrong = [Replan(path, place=each) for path, each in places.items() if each is not None]
        if wrong:
            wrong[0].others = wrong[1:]
            raise wrong[0]
        if open_trace().places:
            self._refuse_other_views(after)
        states = (self._state(each.now, place, self._base(place)) for each, place in self.placed)
        return [value for state in states for value in state]

    def _known(self) -> list[TensorVariable]:
        return [*(each for each, *_ in self.found), *(each for each, _ in self.placed)]

    def _refuse_other_views(self, after: Sequence[object]) -> None:
        """Refuse what may be a view in later trips, where a branch has asked for that before."""
        ids = {as_value(each.now).id for each in self._known() if _is_plain(each.now)}
        for tensor in (each for state in after for each in _tensors(state)):
            value = as_value(tensor)
            if value.id not in ids and number_kind(tensor) is None and may_be_a_view(value):
                raise _refusal()

    def _new_place(
        self, variable: TensorVariable, is_outer: Callable[[Any], bool]
    ) -> LoopPlace | None:
        """What a variable that a trip has left may be a view of."""
        changed = _is_plain(variable.now) and variable.now is not variable.before
        if not (open_trace().places and changed):
            return None
        link = link_of(as_value(variable.now))
        if link is None:
            return None
        owner = next((each for each in self.variables if _is(each.now, link.base)), None)
        if owner is None and not is_outer(link.base):
            return None
        place = self._place_of(owner, link)
        return None if place is None else self._checked(variable, place, link.base)

    def _place_of(self, owner: TensorVariable | None, link: Link) -> LoopPlace | None:
        """What else a variable that is the view ``link`` may be one of, in other trips."""
        if link.key is None or not open_trace().places:
            return None
        base = link.base if owner is None else None
        return LoopPlace(None if owner is None else owner.path, base, pattern_of(link.key))

    def _checked(
        self, variable: TensorVariable, place: LoopPlace, base: paddle.Tensor
    ) -> LoopPlace:
        names = [each.path for each in self.variables]
        if names.count(variable.path) > 1 or names.count(place.owner or "") > 1:
            raise _refusal()  # a plan is by name
        sizes = [size for part, size in zip(place.key, base.shape, strict=True) if part is None]
        if any(size < 1 for size in sizes):
            raise _refusal()
        return place

    def _state(self, view: object, place: LoopPlace, base: object) -> list[paddle.Tensor]:
        """Whether ``view`` is one of ``base``, and the numbers in its index."""
        if not (_is_plain(view) and _is_plain(base)):
            raise _refusal()
        value, whole = as_value(view), as_value(base)
        link = link_of(value)
        numbers = place.numbers_of(link, whole)
        if numbers is not None and link is not None:
            always = paddle.full([], True, "bool")
            where = always if link.where is None else paddle.assign(link.where)
            return [where, *map(as_number, numbers)]
        if not are_apart(value, whole):
            raise _refusal()
        zeros = [paddle.zeros([], "int64") for part in place.key if part is None]
        return [paddle.full([], False, "bool"), *zeros]

    def _base(self, place: LoopPlace) -> Any:
        owner = self._owner(place)
        return place.base if owner is None else owner.now

    def _before(self, place: LoopPlace) -> Any:
        owner = self._owner(place)
        return place.base if owner is None else owner.before

    def _owner(self, place: LoopPlace) -> TensorVariable | None:
        return next((each for each in self.variables if each.path == place.owner), None)


def _refusal() -> Exception:
    return error_here(
        InplaceError,
        "a variable of a loop may be a view of a tensor that is changed in place, of which nobody "
        "can say the place",
        "let the variable take a copy: row = y[i].clone()",
    )


def _now(link: Link, owner: TensorVariable | None) -> Any:
    return link.base if owner is None else owner.now


def _is_still(view: object, base: object, link: Link) -> bool:
    if not (_is_plain(view) and _is_plain(base)):
        return False
    whole = as_value(base).id
    chain = chain_of(as_value(view))
    return any(each.form == link.form and each.base.id == whole for each in chain)


def _tensors(state: object) -> Iterator[Any]:
    """The tensors of what was frozen, on all runs."""
    if isinstance(state, Choice):
        yield from _tensors(state.true)
        yield from _tensors(state.false)
    elif isinstance(state, Frozen) or type(state) is tuple:
        for item in state.items if isinstance(state, Frozen) else state:
            yield from _tensors(item)
    elif is_tensor(state):
        yield state


def _is(thing: object, value: paddle.Tensor) -> bool:
    return _is_plain(thing) and bool(as_value(thing).id == value.id)


def _is_plain(thing: object) -> bool:
    return is_tensor(thing) and number_kind(thing) is None
