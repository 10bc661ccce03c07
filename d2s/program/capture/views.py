"""Refuse item assignments that dygraph would show through a view and a program would not.

In dygraph ``pivot = a[0]`` is a view: after ``a[0] = 7`` it reads 7.  In a program the assignment
makes a new value, and the slice keeps the old one.  After the capture the program is searched for
an assignment after which a view of the tensor (or, for an assignment *to* a view, the tensor
itself) is still used.  The search errs on the side of refusing.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import InplaceError
from d2s.runtime.trace import ValueNotes

_STORES: Final = frozenset(
    {
        "pd_op.set_value",
        "pd_op.set_value_",
        "pd_op.set_value_with_tensor",
        "pd_op.set_value_with_tensor_",
        "pd_op.index_put",
        "pd_op.index_put_",
    }
)

_VIEWS: Final = frozenset(
    f"pd_op.{name}"
    for name in [
        "slice",
        "strided_slice",
        "reshape",
        "transpose",
        "squeeze",
        "unsqueeze",
        "flatten",
        "split",
        "split_with_num",
        "unbind",
        "as_strided",
        "diagonal",
        "view_shape",
        "view_dtype",
    ]
)


_COPIES: Final = ("pd_op.assign", "pd_op.cast", "pd_op.pylayer")
"""What may be between what an assignment to an item makes and what is bound for it."""

_MOST_COPIES: Final = 3

_OUTSIDE: Final = ("pd_op.data", "builtin.parameter")
"""What gives the values of arguments and of tensors of the state."""

_SIZES: Final = frozenset(
    f"pd_op.{name}" for name in ("shape", "shape64", "numel", "full_like", "empty_like")
)
"""They read the size of the first operand, and none of its contents."""

_Path = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Spot:
    """Where something stands: block and index from the outside in, and the loops around.

    The arguments of a block stand before its first operation, at -1.
    """

    path: _Path
    loops: frozenset[_Path]


class _Storages:
    """Which values are one tensor to the user: union-find over values."""

    def __init__(self) -> None:
        self.parent: dict[int, int] = {}

    def find(self, value: int) -> int:
        while (above := self.parent.get(value, value)) != value:
            value = above
        return value

    def join(self, one: int, other: int) -> None:
        self.parent[self.find(one)] = self.find(other)


def _after(later: _Spot, earlier: _Spot) -> bool:
    for one, other in zip(later.path, earlier.path, strict=False):
        if one != other:
            return one[0] == other[0] and one[1] > other[1]
    return False


def _is_copy(operation: Any, copies: Container[int]) -> bool:
    """Whether d2s has made what ``operation`` gives to hand its operand on."""
    return (
        operation.num_results() == 1
        and operation.num_operands() > 0
        and operation.result(0).id in copies
    )


def _before_cast(value: Any) -> Any:
    """What is cast, to the dtype that it has."""
    made = value.get_defining_op()
    if made is not None and made.name() == "pd_op.cast":
        source = made.operand_source(0)
        return source if source.dtype == value.dtype else value
    return value


@dataclass(frozen=True)
class _Store:
    """An assignment to an item, or to a whole tensor of no dimensions.

    Attributes:
        operation, spot: what makes it, and where.
        written: the value that is written into.
        fresh: what that has become.
    """

    operation: Any
    spot: _Spot
    written: int
    fresh: int


@dataclass
class _Value:
    """What becomes of a value.

    Attributes:
        made: where.
        uses: where operations read it, and what is made by them, and by those around.
        handed: where it is handed on, and the values that are it from there on.
    """

    made: _Spot
    uses: list[tuple[_Spot, tuple[int, ...]]] = field(default_factory=list)
    handed: list[tuple[_Spot, list[int]]] = field(default_factory=list)


class Analysis:
    """The values of a program, and which of them share their storage.

    Args:
        program: the captured program.
        notes, gradients: as :func:`check_views` gets them.

    Attributes:
        values: by their ids.
        stores: the assignments, with what is written and what it has become.
        outside: values that stand for arguments and for tensors of the state.
        parameters: those of them that stand for parameters.
        storages: the values that are one tensor.
        appended: lists of the run, and where something is appended to them.
        sources: for values that are others', or parts of them, the ones they are made of.
        linked: for each storage, those that are views of it, or that it is a view of.
        members: for each storage, its values.
    """

    def __init__(self, program: Any, notes: ValueNotes, gradients: Container[int]) -> None:
        self.copies = notes.copies
        self.shared = {
            number: [base.id for base in bases] for number, (_, bases) in notes.shared().items()
        }
        self.gradients = gradients
        self.renewed = {number: old for number, (_, old) in notes.renewed.items()}
        self.selected = notes.selected.keys()
        self.waited = frozenset(notes.waited)
        self.sometimes = {
            number for number, link in notes.links.items() if link and link.where is not None
        }
        self.outside: set[int] = set()
        self.parameters: set[int] = set()
        self.values: dict[int, _Value] = {}
        self.stores: list[_Store] = []
        self.storages = _Storages()
        self.sources: dict[int, list[int]] = {}
        self.appended: list[tuple[int, _Spot]] = []
        self._blocks = 0
        self._views: list[tuple[int, int]] = []
        self._last = 0
        self._walk(program.global_block(), _Spot((), frozenset()), ())
        self.linked = self._links()
        self.members: dict[int, list[int]] = {}
        for value in self.values:
            self.members.setdefault(self.storages.find(value), []).append(value)

    def may_hold(self, storage: int, made: _Spot, birth: _Spot, store: _Spot) -> bool:
        """Whether a value may hold, or be a part of, a tensor when something is written into it.

        Args:
            storage: that of the value.
            made: where the value is made.
            birth: where the tensor is made.
            store: where it is written.
        """
        appends = [spot for array, spot in self.appended if self.storages.find(array) == storage]
        if not appends:
            return not _after(birth, made)
        return any(
            _after(spot, birth)
            and (_after(store, spot) or not (spot.loops & store.loops) <= birth.loops)
            for spot in appends
        )

    def born(self, value: int) -> list[_Spot]:
        """Where the tensors are made that ``value`` may be, or be a part of."""
        found: list[_Spot] = []
        queue, seen = [value], {value}
        while queue:
            at = queue.pop()
            sources = self.sources.get(at, [])
            if not sources and at in self.values:
                found.append(self.values[at].made)
            queue += {*sources} - seen
            seen.update(sources)
        return found

    def _links(self) -> dict[int, set[int]]:
        """``linked``: a view of a view is one of all below it."""
        below: dict[int, set[int]] = {}
        for view, base in self._views:
            pair = self.storages.find(view), self.storages.find(base)
            if pair[0] != pair[1]:
                below.setdefault(pair[0], set()).add(pair[1])
        linked: dict[int, set[int]] = {}
        for view in below:
            queue, seen = [view], {view}
            while queue:
                found = below.get(queue.pop(), set()) - seen
                seen |= found
                queue += found
            for base in seen - {view}:
                linked.setdefault(view, set()).add(base)
                linked.setdefault(base, set()).add(view)
        return linked

    def _walk(self, block: Any, around: _Spot, makes: tuple[int, ...]) -> None:
        """Note what is in ``block``, which is a part of what makes the values ``makes``."""
        self._blocks += 1
        mine = self._blocks
        for argument in bridge.arguments_of(block):
            self.values[argument.id] = _Value(_Spot((*around.path, (mine, -1)), around.loops))
        for index, operation in enumerate(block.ops):
            spot = _Spot((*around.path, (mine, index)), around.loops)
            made = (*makes, *(result.id for result in operation.results()))
            for result in operation.results():
                self.values[result.id] = _Value(spot)
            self._note(operation, spot, made)
            loop = operation.name() == "pd_op.while"
            inside = _Spot(spot.path, spot.loops | {spot.path} if loop else spot.loops)
            for inner in bridge.blocks_of(operation):
                self._walk(inner, inside, made)
                if (loop or operation.name() == "pd_op.if") and inner.ops:
                    end = (*spot.path, (self._last, len(inner.ops) - 1))
                    self._yielded(operation, inner, _Spot(end, inside.loops))
        self._last = mine

    def _note(self, operation: Any, spot: _Spot, made: tuple[int, ...]) -> None:
        name = operation.name()
        operands, results = operation.operands_source(), operation.results()
        copy = _is_copy(operation, self.copies)
        if name in _OUTSIDE:
            self.outside |= {result.id for result in results}
        if name == "builtin.parameter":  # which stays itself when it is changed
            self.parameters |= {result.id for result in results}
        self._note_store(operation, spot)
        if copy or self._is_store(operation):
            self._hand(operands[0], results[:1], spot)
        elif name == "pd_op.while":
            (body,) = bridge.blocks_of(operation)
            for init, argument, result in zip(
                operands[1:], bridge.arguments_of(body), results, strict=False
            ):
                self._hand(init, [argument, result], spot)
        writes = name == "pd_op.array_write_"
        if writes:  # the list holds the very tensor that was appended
            self._hand(operands[0], results[:1], spot)
            self.appended.append((operands[0].id, spot))
        for result in results:
            bases = self.shared.get(result.id)
            if writes:
                bases = [_before_cast(operands[1]).id]
            elif bases is None and not copy and (name in _VIEWS or name == "builtin.split"):
                bases = [operands[0].id]
            if bases:
                self.sources.setdefault(result.id, []).extend(bases)
                self._views.extend((result.id, base) for base in bases)
        handing = ("cf.yield", "pd_op.while", "pd_op.array_write_")
        if copy or name in handing or operation.id() in self.gradients:
            return
        for value in operands[name in _SIZES :]:
            if bridge.is_value(value) and not bridge.is_fake(value) and value.id in self.values:
                self.values[value.id].uses.append((spot, made))

    def _note_store(self, operation: Any, spot: _Spot) -> None:
        results = operation.results()
        if self._is_store(operation):
            written = operation.operand_source(0).id
            self.stores.append(_Store(operation, spot, written, results[0].id))
            return
        for fresh in (each for each in results if each.id in self.renewed):
            old = self.renewed[fresh.id]
            # What may be a view, and is told of a write to what it is of, stays itself otherwise.
            if not list(fresh.shape) and fresh.id not in self.selected:
                self.stores.append(_Store(operation, spot, old.id, fresh.id))
            self._join(old, [fresh])

    def _is_store(self, operation: Any) -> bool:
        """Whether ``operation`` is an assignment, not a ``paddle.index_put`` that makes a value."""
        name = operation.name()
        if name != "pd_op.index_put":
            return name in _STORES
        waiting = [(operation.result(0), 0)]
        while waiting:
            value, depth = waiting.pop()
            if value.id in self.renewed:
                return True
            for user in value.all_used_ops() if depth < _MOST_COPIES else ():
                if user.name().endswith("_"):
                    return True
                if user.name() in _COPIES:
                    waiting += [(each, depth + 1) for each in user.results()]
        return False

    def _join(self, value: Any, others: list[Any]) -> None:
        for other in others:
            if other.id in self.sometimes:  # what it may be is no part of what else it may be
                self._views.append((other.id, value.id))
            else:
                self.storages.join(other.id, value.id)
            self.sources.setdefault(other.id, []).append(value.id)

    def _hand(self, value: Any, others: list[Any], spot: _Spot) -> None:
        self._join(value, others)
        if value.id in self.values:
            self.values[value.id].handed.append((spot, [other.id for other in others]))

    def _yielded(self, operation: Any, block: Any, end: _Spot) -> None:
        loop = operation.name() == "pd_op.while"
        arguments = bridge.arguments_of(block) if loop else operation.results()
        yields = block.ops[-1].operands_source()[loop:]
        for value, result, argument in zip(yields, operation.results(), arguments, strict=False):
            self._hand(value, [result, argument] if loop else [result], end)


def check_views(program: Any, notes: ValueNotes, gradients: Container[int] = ()) -> None:
    """Refuse ``program`` when a view and an item assignment disagree with dygraph.

    Args:
        program: the captured program.
        notes: what the capture knows of its values.
        gradients: ids of operations that are there for gradients, which dygraph gives what the
            forward part has seen.

    Raises:
        InplaceError: (D2S304) the assignment would be seen through a view in dygraph.
    """
    stores = (operation.name() in _STORES for operation in bridge.operations(program))
    if not (notes.renewed or any(stores)):
        return
    known = Analysis(program, notes, gradients)
    for store in known.stores:
        if _is_missed(known, store, notes.settled.get(store.fresh, frozenset())):
            _refuse(store.operation)


def _is_missed(known: Analysis, store: _Store, group: frozenset[int]) -> bool:
    """Whether something reads, behind ``store``, what was before it in a view, or in the base.

    Args:
        known: the program.
        store: the assignment.
        group: what was made anew because of it.
    """
    spot = store.spot
    others = known.linked.get(known.storages.find(store.written), ())
    born = known.born(store.written) if others else []
    queue = [
        (value, False)
        for other in others
        for value in known.members[other]
        if value not in group
        and _after(spot, (made := known.values[value].made))
        and any(known.may_hold(other, made, birth, spot) for birth in born)
    ]
    renewed = {known.storages.find(value) for value in group}
    if any(at in known.outside and known.storages.find(at) not in renewed for at, _ in queue):
        return True  # somebody reads it when the program has ended
    if store.written in known.waited - group - known.parameters:
        queue.append((store.written, False))  # an operand that has waited for the call that writes
        # What has its contents from here on may have the gradient of what was there before.
        group |= {new for new, old in known.renewed.items() if old.id == store.written}
    seen = set(queue)
    while queue:
        at, stale = queue.pop()
        found = known.values[at]
        loops = spot.loops - found.made.loops  # it keeps through their trips what it was

        def is_behind(place: _Spot, loops: frozenset[_Path] = loops, stale: bool = stale) -> bool:
            return stale or _after(place, spot) or not loops.isdisjoint(place.loops)

        for place, results in found.uses:
            # What the assignment itself has made anew reads what was before.
            if is_behind(place) and not any(result in group for result in results):
                return True
        for place, values in found.handed:
            if is_behind(place):
                handed = {(other, True) for other in values if other not in group} - seen
                seen |= handed
                queue.extend(handed)
    return False


def _refuse(operation: Any) -> None:
    file, line = user_line(bridge.callstack(operation))
    raise InplaceError(
        "an item of a tensor is assigned while a part of it (a view, as from t[i] or reshape) is "
        "used later, which would see the new item in dygraph",
        cure="take the part with .clone(), or take it again after the assignment",
        file=file,
        line=line,
    )
