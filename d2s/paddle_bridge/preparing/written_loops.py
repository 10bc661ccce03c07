"""Loop variables whose items are written where they lie.

Capture makes an item assignment an operation that gives another tensor, so each trip of a loop
copies a table of which it writes one item.  Where nobody reads the old table any more, the
operation may write into the memory of the loop variable, and the trip hands that on::

    while(c, i, t) {                         while(c, i, t) {
        u = set_value(t, v, i)                   u = set_value_(t, v, i)
        if(d) { a = set_value(u, w, j)           if(d) { a = set_value_(u, w, j)
                b = assign(a)                            yield(a) }
                yield(b) }               ->
        else { e = assign(u)                     else { yield(u) }
               yield(e) }  = r                     = r
        z = assign(r)
        yield(.., z)                             yield(.., r)
    }                                        }

What is followed is one tensor from the loop variable to what the trip hands on, through branches
and inner loops.  Each of its states may be read up to the operation that writes the next one.  The
outermost loop begins with a copy of its own, as capture lets all loops do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.values import is_fake
from d2s.paddle_bridge.walks import arguments_of, blocks_of, operations, parts_of

_WRITES: Final = {
    "pd_op.set_value_with_tensor": ("axes", "decrease_axes", "none_axes"),
    "pd_op.put_along_axis": ("axis", "reduce", "include_self"),
    "pd_op.scatter": ("overwrite",),
}
"""Operations that may write into their first operand, with their attributes in Paddle's order."""

Places = set[tuple[int, int]]
"""Operands, by the ids of their operations and their indices."""


@dataclass
class _Way:
    """What lies between two states of one tensor.

    Attributes:
        writes: operations that are to write in place.
        copies: those that are left out.
        handed: operands of blocks' ends and of loops that take the tensor itself.
    """

    writes: list[Any] = field(default_factory=list)
    copies: list[Any] = field(default_factory=list)
    handed: Places = field(default_factory=set)

    def add(self, other: _Way) -> None:
        """What lies between two states in front of it, or beside it."""
        self.writes += other.writes
        self.copies += other.copies
        self.handed |= other.handed


def write_in_place(program: Any) -> Places:
    """Let loops write items of their variables in place, where that tells nothing.

    Args:
        program: as it is about to run; of operations that make tensors of their own, and without
            Paddle's in-place pass.

    Returns:
        The operands of loops and ends of blocks that take the memory of a loop variable.
    """
    handed: Places = set()
    for loop in [each for each in operations(program) if each.name() == "pd_op.while"]:
        for index in range(loop.num_results()):
            _treat(loop, index, handed)
    return handed


def _treat(loop: Any, index: int, handed: Places) -> None:
    """One variable of a loop; outer loops come before those in them."""
    if (loop.id(), index + 1) in handed or not _begins_with_copy(loop, index + 1):
        return
    way = _through_loop(loop, index)
    if way is None or not way.writes:
        return
    for write in way.writes:
        _written(write)
    for copy in way.copies:
        copy.result(0).replace_all_uses_with(copy.operand_source(0))
        copy.get_parent_block().remove_op(copy)
    handed |= way.handed


def _through_loop(loop: Any, index: int) -> _Way | None:
    """From a variable to what a trip hands on for it, if that is the same tensor."""
    (body,) = blocks_of(loop)
    found = _back(body, index + 1)
    if found is None or found[0].id != arguments_of(body)[index].id:
        return None
    return found[1]


def _back(block: Any, index: int) -> tuple[Any, _Way] | None:
    """What an operand of a block's end was once, and the way; ``None`` if two operands take it."""
    end = block.ops[-1]
    places = {operation.id(): place for place, operation in enumerate(block.ops)}
    way = _Way(handed={(end.id(), index)})
    value, copies = _uncopied(end.operand_source(index), block)
    given = [operand.id for operand in end.operands_source()]
    if sum(given.count(each.id) for each in [value, *(copy.result(0) for copy in copies)]) != 1:
        return None
    way.copies += copies
    while True:
        maker = value.get_defining_op()
        if maker is None or maker.id() not in places:
            return value, way
        step = _step(maker, value)
        if step is None:
            return value, way
        before, between = step
        before, copies = _uncopied(before, block)
        between.copies += copies
        if not _are_done([before, *(copy.result(0) for copy in copies)], maker, places):
            return value, way
        way.add(between)
        value = before


def _uncopied(value: Any, block: Any) -> tuple[Any, list[Any]]:
    """What ``value`` is a copy of that nobody else reads, and the copies."""
    copies: list[Any] = []
    while True:
        copy = value.get_defining_op()
        if copy is None or copy.name() != "pd_op.assign" or copy.get_parent_block() != block:
            return value, copies
        if not _is_read_once(copy):
            return value, copies
        copies.append(copy)
        value = copy.operand_source(0)


def _step(maker: Any, value: Any) -> tuple[Any, _Way] | None:
    """The state before the operation that has made ``value``, if it is one of the same tensor."""
    if maker.name() in _WRITES:
        return maker.operand_source(0), _Way(writes=[maker])
    index = [result.id for result in maker.results()].index(value.id)
    if maker.name() == "pd_op.while":
        way = _through_loop(maker, index)
        if way is None:
            return None
        way.handed.add((maker.id(), index + 1))
        return maker.operand_source(index + 1), way
    if maker.name() != "pd_op.if":
        return None
    sides = [each for each in (_back(side, index) for side in blocks_of(maker)) if each]
    if len(sides) != 2 or sides[0][0].id != sides[1][0].id:
        return None
    sides[0][1].add(sides[1][1])
    return sides[0]


def _are_done(states: list[Any], writer: Any, places: dict[int, int]) -> bool:
    """Whether all have read a state of the tensor when ``writer`` makes the next one.

    Args:
        states: the state, and copies of it that are left out.
        writer: an operation that writes, or a branch or loop in which one does.
        places: of the operations of its block.
    """
    own, known = writer.name() == "pd_op.if", {state.id for state in states}
    for reader in itertools.chain.from_iterable(map(_readers, states)):
        place = _place(reader, places)
        if place is None or place < places[writer.id()]:
            continue  # outside of this block, or in front
        # The sides of a branch have been looked at for themselves.
        if place > places[writer.id()] or not (own or reader.id() == writer.id()):
            return False
    return own or sum(part.id in known for part in _parts(writer)) == 1


def _readers(value: Any) -> Iterator[Any]:
    """The operations that read ``value``, by a list of values, too."""
    for user in value.all_used_ops():
        yield user
        if user.name() == "builtin.combine":
            yield from user.result(0).all_used_ops()


def _parts(operation: Any) -> Iterator[Any]:
    """What an operation reads, by a list of values, too."""
    for value in itertools.filterfalse(is_fake, operation.operands_source()):
        yield from parts_of(value) if value.is_combine() else [value]


def _place(operation: Any, places: dict[int, int]) -> int | None:
    while operation.id() not in places:
        block = operation.get_parent_block()
        if block is None:  # the program itself
            return None
        operation = block.parent_op
    return places[operation.id()]


def _begins_with_copy(loop: Any, index: int) -> bool:
    """Whether a loop takes what nobody else has."""
    maker = loop.operand_source(index).get_defining_op()
    if maker is None or maker.name() != "pd_op.assign" or not _is_read_once(maker):
        return False
    return bool(maker.get_parent_block() == loop.get_parent_block())


def _is_read_once(operation: Any) -> bool:
    return len(operation.result(0).all_used_ops()) == 1


def _written(write: Any) -> None:
    """Let an operation write into its first operand."""
    pir.set_insertion_point(write)
    in_place = getattr(paddle._C_ops, write.name().removeprefix("pd_op.") + "_")
    attributes, before = write.attrs(), write.result(0)
    given = [attributes[name] for name in _WRITES[write.name()]]
    after = in_place(*write.operands_source(), *given)
    after.get_defining_op().copy_attrs_from(write)
    after.stop_gradient = before.stop_gradient
    before.replace_all_uses_with(after)
    write.get_parent_block().remove_op(write)
