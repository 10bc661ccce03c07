"""Tensors that a loop changes in place under one name after another (rules A1, F3).

    keep = a                                the memory of `a` is written in every second trip
    while i < n:                            under the name `b`, and `keep` shows that in dygraph
        b[i] = a[i - 1] + 1
        a, b = b, a

A write in a trip tells every name of what it writes (``aliasing.inplace``); of what a variable
held in the trip before it knows nothing.  So a loop that both hands tensors from variable to
variable and writes one of them in place is refused where somebody else knows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InplaceError
from d2s.runtime.aliasing.chosen import sources_of
from d2s.runtime.aliasing.inplace import outer_holders
from d2s.runtime.aliasing.snapshots import freeze, tensors_in
from d2s.runtime.aliasing.views.related import bases_of
from d2s.runtime.trace import Block, error_here, open_trace
from d2s.runtime.values.tensors import as_value, root_of


class HandedOn:
    """The tensors that a trip of a loop begins with, and where they are when it ends.

    Args:
        op: the loop, whose body is about to be captured.
        block: its body.
    """

    def __init__(self, op: bridge.WhileOp, block: Block) -> None:
        self._op = op
        self._block = block
        self._notes = open_trace().notes
        self._begins = [freeze(value) for value in block.given]
        self._names: list[str] = []
        self._before: list[Any] = []
        self._given: list[Any] = []
        self._after: list[Any] = []
        self._place: dict[int, int] = {}
        self._inner: dict[int, list[Any]] = {}
        self._made: set[int] = set()  # ids only: an inner loop may be captured once more

    def makes(self, value: paddle.Tensor) -> bool:
        """Whether each trip makes a tensor of its own that ``value`` is, as far as is known yet.

        A loop that is under way may hand on another one to its next trip; :meth:`end` looks again.
        """
        begins = {each.id for state in self._begins for each in map(as_value, tensors_in(state))}
        for inside in (dict, self._inside):  # what is inside takes longer to find
            self._inner = inside()
            found = self._origins(value, views=True)
            if found.keys() & begins:
                return False
        if any(map(self._is_outer, found.values())):
            return False
        self._made.add(value.id)
        return True

    def _inside(self) -> dict[int, list[Any]]:
        """The variables of loops in the body, and what they may be: by their ids."""
        found = {one.id: others for one, *others in self._op.carried_inside()}
        blocks = open_trace().blocks
        for block in blocks[blocks.index(self._block) + 1 :]:
            for was, now in zip(block.before, block.given, strict=False):
                pairs = zip(tensors_in(freeze(now)), tensors_in(was), strict=False)
                found |= {as_value(now).id: [as_value(was)] for now, was in pairs}
        return found

    def end(self, after: Sequence[object]) -> None:
        """A trip has left ``after``, frozen.

        Raises:
            InplaceError: (D2S304) it changes what others know, where a write cannot tell them: a
                name outside of the loop, an argument, or another variable.
        """
        if not self._notes.renewed:
            return
        for name, *states in zip(
            self._block.names, self._block.before, self._begins, after, strict=True
        ):
            before, given, left = map(tensors_in, states)
            if len(before) == len(given) == len(left):
                self._names += [name] * len(before)
                self._before += before
                self._given += map(as_value, given)
                self._after += map(as_value, left)
        for place, value in enumerate(self._given):  # names that stay names of one tensor are one
            self._place.setdefault(value.id, place)
        self._inner = self._inside()
        self._check()

    def _check(self) -> None:
        self._check_made()
        found = [self._origins(value) for value in self._after]
        came = [{self._place[key] for key in each if key in self._place} for each in found]
        outer = [[each for each in values.values() if self._is_outer(each)] for values in found]
        taken = [places - {self._own(place)} for place, places in enumerate(came)]
        if not any(outer) and not any(taken):
            return
        later, written = self._later(came), self._written()
        for place, places in enumerate(taken):
            if later[self._own(place)] & written:
                for value in [*(self._before[each] for each in places), *outer[place]]:
                    self._check_others(place, value)
                for each in places:
                    self._check_variables(place, each)
        read = [place for place in self._place.values() if self._is_read(place, came)]
        for one, other in itertools.combinations(read, 2):
            if came[one] & came[other] and (later[one] | later[other]) & written:
                raise self._refusal(one, repr(self._names[other]))

    def _check_made(self) -> None:
        """Look again at what was taken for tensors of the trip's own."""
        for value in (old for old in self._changed() if old.id in self._made):
            for each in self._origins(value, views=True).values():
                place = self._place.get(each.id)
                if place is not None:
                    self._check_others(place, self._before[place])
                    self._check_variables(place, place)

    def _origins(self, value: Any, *, views: bool = False) -> dict[int, Any]:
        """The values that are, or may be, the same tensor as ``value``, some writes earlier.

        Args:
            value: the value.
            views: also those that it is, or may be, a view of.
        """
        found: dict[int, Any] = {}
        queue = [value]
        while queue:
            each = queue.pop()
            if each.id in found:
                continue
            found[each.id] = each
            if each.id not in self._place:
                queue += [*sources_of(each, self._notes), *self._inner.get(each.id, ())]
                queue += [old for _, old in filter(None, [self._notes.renewed.get(each.id)])]
                queue += bases_of(each, self._notes) if views else ()
        return found

    def _own(self, place: int) -> int:
        return self._place[self._given[place].id]

    def _is_outer(self, value: paddle.Tensor) -> bool:
        known = value.id in self._place or value.id in self._inner
        return not (known or self._op.makes(value))

    def _later(self, came: list[set[int]]) -> list[set[int]]:
        """The places at which a tensor is, in this trip's end and in those after it."""
        later = [{place} for place in range(len(came))]
        while True:
            sizes = [*map(len, later)]
            for place, places in enumerate(came):
                for each in places:
                    later[each] |= later[self._own(place)]
            if sizes == [*map(len, later)]:
                return later

    def _written(self) -> set[int]:
        """The places whose tensors a trip changes in place."""
        return {
            self._place[key]
            for old in self._changed()
            if not self._is_outer(old)
            for key in self._origins(old)
            if key in self._place
        }

    def _changed(self) -> Iterator[Any]:
        """What a write has put another value in the place of, and has really changed."""
        for new, old in self._notes.renewed.values():
            if new.id not in self._notes.selected:
                yield old

    def _is_read(self, place: int, came: list[set[int]]) -> bool:
        """Whether a trip looks at what it begins with there."""
        return any(place in places for places in came) or bool(self._given[place].all_used_ops())

    def _check_others(self, place: int, value: Any) -> None:
        if root_of(value) is not None or bridge.tensor_of(value) is not None:
            raise self._refusal(place, "an argument or a tensor of the state")
        holder = next(outer_holders(value, self._block), None)
        if holder is not None:
            raise self._refusal(place, repr(holder.path))

    def _check_variables(self, place: int, other: int) -> None:
        """Refuse it where another variable has begun as what ``place`` takes over."""
        taken = as_value(self._before[other]).id
        for each, value in enumerate(self._before):
            if self._own(each) != other and as_value(value).id == taken:
                raise self._refusal(place, repr(self._names[each]))

    def _refusal(self, place: int, also: str) -> Exception:
        return error_here(
            InplaceError,
            f"a loop changes a tensor in place that {self._names[place]!r} has taken over from "
            f"another variable, and {also} is the same tensor in some trips",
            "let a variable take over a copy: b = a.clone()",
        )
