"""Tensors that are another one on some runs: what branches and loops leave, items that are picked.

What an ``if`` hands on is one tensor or another, and two variables may be the same one on a side::

    if x.sum() > 0:         a', b' = if(..., yield v, v; yield a, b)
        a = b = v           a' is b' on the true side, and a write to one is one to the other

So may_be says of a value what else is the same tensor on some runs, and a write that cannot tell
is refused.  In a program ``rows[i]`` is a value of its own, too, taken out by its position::

    row = rows[i]           row = stack(rows)[i]
    row[0] = 7              row' = set_value(row); rows[k]' = where(i == k, row', rows[k]), each k

and the other way round, where an item changes while ``row`` is still read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.holders import is_same
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.trace import Capture, ValueNotes, current
from d2s.runtime.values.tensors import as_value, is_tensor
from d2s.runtime.values.tree import children


@dataclass(frozen=True)
class Pick:
    """A value that is one of several.

    Attributes:
        value: the value.
        items: what it may be.
        position: which one it is, a 0-D integer.
    """

    value: Any
    items: tuple[Any, ...]
    position: Any

    def holds(self, item: paddle.Tensor) -> Any:
        """Whether the run has picked ``item``, which may stand in several places; 0-D bool."""
        found: Any = None
        for index, each in enumerate(self.items):
            if is_same(each, item):
                mine = self.position == index
                found = mine if found is None else found | mine
        return found

    def place_of(self, item: paddle.Tensor) -> int:
        """Where ``item`` stands among those of :meth:`different`."""
        return next(k for k, each in enumerate(self.different()) if is_same(each, item))

    def different(self) -> list[Any]:
        """The items, each once."""
        found: list[Any] = []
        for item in self.items:
            if not any(is_same(item, other) for other in found):
                found.append(item)
        return found


def note_pick(value: paddle.Tensor, items: list[Any], position: paddle.Tensor) -> None:
    """Note that ``value`` is the one of ``items`` at ``position``."""
    capture = current()
    if capture is not None:
        capture.notes.picks[value.id] = Pick(value, tuple(items), position)
        capture.notes.sharing[value.id] = (value, [as_value(item) for item in items])


def picks_of(item: paddle.Tensor) -> list[Pick]:
    """The picks that ``item`` may be."""
    capture = current()
    picks = [] if capture is None else list(capture.notes.picks.values())
    return [pick for pick in picks if any(is_same(each, item) for each in pick.items)]


def merged(holds: paddle.Tensor, fresh: paddle.Tensor, old: paddle.Tensor) -> list[Any]:
    """``fresh`` where ``holds``, else ``old``, as the last of the values that are made for it.

    It is an item assignment, so that views of ``old`` are noticed.
    """
    before = as_value(old)
    if not list(before.shape):
        return [paddle.where(holds, fresh, before)]
    made = paddle.where(paddle.expand(holds, before.shape), fresh, before)
    return [made, bridge.with_item(before, ..., made)]


def may_be(value: paddle.Tensor, notes: ValueNotes | None = None) -> Iterator[Any]:
    """Values that are the same tensor as ``value`` in dygraph, on some runs and not on others.

    A branch that hands a tensor on, or a loop without a trip, leaves the tensor that there was::

        z = y                   y is what ``z`` may be behind the ``if``, and the other way round
        if x.sum() > 0:
            z = z + 1

    Args:
        value: the value.
        notes: what the capture knows of its values; ``None`` for the one that goes on.
    """
    capture = current()
    if notes is None and capture is not None:
        notes = capture.notes
    notes = notes or ValueNotes()
    beside, entered = _Beside(notes), [] if capture is None else begun_with(capture)
    mine = [value]
    for one in mine:  # what the variables of the loops around began with, too
        mine += [was for was, now in entered if now.id == one.id]
    before = list(_closure(mine, beside.sources, notes))
    twins = [each for one in (*mine, *before) for each in beside.of(one)]
    found = [*before, *twins, *_closure([*mine, *twins], _outcomes, notes)]
    seen = {one.id for one in mine}
    for other in found:
        if other.id not in seen:
            seen.add(other.id)
            found += [now for was, now in entered if was.id == other.id]
            yield other


def begun_with(capture: Capture) -> list[tuple[Any, Any]]:
    """What the variables of the open loops began with, and what they are in a trip."""
    return [
        pair
        for block in capture.blocks
        for was, now in zip(block.before, block.given, strict=False)
        for pair in _in_the_same_place(was, now)
    ]


def _in_the_same_place(was: object, now: object) -> Iterator[tuple[Any, Any]]:
    """The tensors of a snapshot, with those that stand in their places in ``now``."""
    if is_tensor(was) and is_tensor(now):
        yield as_value(was), as_value(now)
    elif isinstance(was, Frozen) or type(was) is tuple:
        parts = was.by_key().values() if isinstance(was, Frozen) else was
        for pair in zip(parts, children(now), strict=False):
            yield from _in_the_same_place(*pair)


def _closure(
    values: list[Any], step: Callable[[Any, ValueNotes], Iterable[Any]], notes: ValueNotes
) -> Iterator[Any]:
    """What comes of ``values`` by one step after the other."""
    seen, queue = {value.id for value in values}, list(values)
    while queue:
        for other in step(queue.pop(), notes):
            if other.id not in seen:
                seen.add(other.id)
                queue.append(other)
                yield other


class _Beside:
    """Results of one branch or loop that are the same tensor on some runs, both made inside of it.

    Args:
        notes: what the capture knows of its values.
    """

    def __init__(self, notes: ValueNotes) -> None:
        self._notes = notes
        self._found: dict[int, list[Any]] = {}
        self._ends: dict[int, list[list[Any]]] = {}
        self._comes_of: dict[int, set[int]] = {}
        self._sources: dict[int, list[Any]] = {}

    def sources(self, value: paddle.Tensor, notes: ValueNotes) -> list[Any]:
        """:func:`sources_of`, asked once."""
        found = self._sources.get(value.id)
        if found is None:
            found = self._sources[value.id] = list(sources_of(value, notes))
        return found

    def of(self, value: paddle.Tensor) -> list[Any]:
        """The other results of what hands out ``value`` that it is on some runs."""
        operation = value.get_defining_op()
        if value.id in self._found or operation is None or operation.num_results() == 1:
            return self._found.get(value.id, [])
        if operation.name() not in ("pd_op.if", "pd_op.while"):
            return []
        results = operation.results()
        mine = [result.id for result in results].index(value.id)
        found = {
            index: results[index]
            for ends in self._ends_of(operation)
            for index in self._same(ends, mine)
        }
        self._found[value.id] = list(found.values())
        return self._found[value.id]

    def _ends_of(self, operation: Any) -> list[list[Any]]:
        """What each side, or a trip, leaves for the results; copies are what they are of."""
        key = operation.id()
        if key not in self._ends:
            loop = operation.name() == "pd_op.while"
            ends = [block.ops[-1] for block in bridge.blocks_of(operation) if block.ops]
            self._ends[key] = [
                [_original(each, self._notes) for each in end.operands_source()[loop:]]
                for end in ends
                if end.name() == "cf.yield"
            ]
        return self._ends[key]

    def _same(self, ends: list[Any], mine: int) -> Iterator[int]:
        """Which of ``ends`` may be the same tensor as the one of the index ``mine``."""
        if mine >= len(ends):
            return
        own = self._before(ends[mine])
        for index, end in enumerate(ends):
            if index != mine and (end.id in own or ends[mine].id in self._before(end)):
                yield index

    def _before(self, value: Any) -> set[int]:
        """The ids of ``value`` and of what it may be, from the operations that made it."""
        operation = value.get_defining_op()
        if operation is None or operation.name() not in ("pd_op.if", "pd_op.while"):
            return {value.id}
        before = self._comes_of.get(value.id)
        if before is None:
            made = [value, *_closure([value], self.sources, self._notes)]
            before = {each.id for one in made for each in (one, *self.of(one))}
            self._comes_of[value.id] = before
        return before


def sources_of(value: paddle.Tensor, notes: ValueNotes) -> Iterator[Any]:
    """What ``value`` may be, from the operation that made it."""
    operation = value.get_defining_op()
    if operation is None:
        return
    if _is_copy(operation, notes):
        yield operation.operand_source(0)
    yield from notes.selected.get(value.id, (value, ()))[1]
    loop = operation.name() == "pd_op.while"
    if loop or operation.name() == "pd_op.if":
        ids = [result.id for result in operation.results()]
        index = ids.index(value.id) + loop
        if loop:
            yield operation.operand_source(index)
        for block in bridge.blocks_of(operation):
            end = block.ops[-1] if block.ops else None
            if end is not None and end.name() == "cf.yield" and index < end.num_operands():
                left = end.operand_source(index)
                yield left
                pick = notes.picks.get(_original(left, notes).id)
                yield from () if pick is None else map(as_value, pick.items)


def _outcomes(value: paddle.Tensor, notes: ValueNotes) -> Iterator[Any]:
    """What may be ``value``, from the operations that take it."""
    yield from notes.taken.get(value.id, (value, ()))[1]
    for user in value.all_used_ops():
        name = user.name()
        if _is_copy(user, notes):
            yield user.result(0)
            continue
        at = user.get_parent_block().parent_op if name == "cf.yield" else user
        if name not in ("cf.yield", "pd_op.while"):
            continue
        loop = at.name() == "pd_op.while"
        for index, operand in enumerate(user.operands_source()[loop:]):
            if operand.id == value.id and index < at.num_results():
                yield at.result(index)


def _is_copy(operation: Any, notes: ValueNotes) -> bool:
    return operation.num_results() == 1 and operation.result(0).id in notes.copies


def _original(value: Any, notes: ValueNotes) -> Any:
    """What ``value`` is a copy of, made to hand it on."""
    operation = value.get_defining_op()
    while operation is not None and _is_copy(operation, notes):
        value = operation.operand_source(0)
        operation = value.get_defining_op()
    return value
