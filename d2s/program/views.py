"""Refuse item assignments that dygraph would show through a view and a program would not.

In dygraph ``pivot = a[0]`` is a view: after ``a[0] = 7`` it reads 7.  In a program the assignment
makes a new value, and the slice keeps the old one.  After the capture the program is searched for
an assignment after which a view of the tensor (or, for an assignment *to* a view, the tensor
itself) is still used.  The search errs on the side of refusing.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import InplaceError

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


@dataclass(frozen=True)
class _Spot:
    """Where an operation stands: block and index from the outside in, and the loops around."""

    path: tuple[tuple[int, int], ...]
    loops: frozenset[int]


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


def _walk(
    block: Any, path: tuple[tuple[int, int], ...], loops: frozenset[int], number: list[int]
) -> Iterator[tuple[Any, _Spot]]:
    number[0] += 1
    mine = number[0]
    for index, operation in enumerate(block.ops):
        spot = _Spot((*path, (mine, index)), loops)
        yield operation, spot
        inside = loops | {mine * 100_003 + index} if operation.name() == "pd_op.while" else loops
        for inner in bridge.blocks_of(operation):
            yield from _walk(inner, spot.path, inside, number)


def _after(later: _Spot, earlier: _Spot) -> bool:
    for one, other in zip(later.path, earlier.path, strict=False):
        if one != other:
            return one[0] == other[0] and one[1] > other[1]
    return False


def check_views(
    program: Any,
    copies: set[int],
    detached: set[int],
    settled: dict[int, Any],
    gradients: Container[int] = (),
) -> None:
    """Refuse ``program`` when a view and an item assignment disagree with dygraph.

    Args:
        program: the captured program.
        detached: ids of the values that ``detach`` has made, which are views in dygraph.
        copies: ids of the values that d2s itself copied to hand them on.
        settled: for values that a write has made, all that it has made of the storage.
        gradients: ids of operations that are there for gradients, which dygraph gives what the
            forward part has seen.

    Raises:
        InplaceError: (D2S304) the assignment would be seen through a view in dygraph.
    """
    spots = list(_walk(program.global_block(), (), frozenset(), [0]))
    stores = [(operation, spot) for operation, spot in spots if operation.name() in _STORES]
    if not stores:
        return
    storages = _Storages()
    views: list[tuple[int, int, _Spot]] = []
    below: dict[int, tuple[int, ...]] = {}
    for operation, spot in spots:
        name = operation.name()
        if (name == "pd_op.assign" and operation.result(0).id in copies) or name in _STORES:
            storages.join(operation.result(0).id, operation.operand_source(0).id)
        elif name == "pd_op.if":
            for block in operation.blocks():
                if _has_operations(block):
                    _join_yields(storages, operation.results(), block.ops[-1].operands_source())
        elif name == "pd_op.while":
            (body,) = operation.blocks()
            inits = operation.operands_source()[1:]
            yields = body.ops[-1].operands_source()[1:]
            for argument, init in zip(body.args(), inits, strict=False):
                storages.join(argument.id, init.id)
            _join_yields(storages, body.args(), yields)
            _join_yields(storages, operation.results(), yields)
        elif (
            name in _VIEWS
            or name == "builtin.split"
            or (name == "pd_op.assign" and operation.result(0).id in detached)
        ):
            base = operation.operand_source(0).id
            for result in operation.results():  # a view of a view is one of all below it
                below[result.id] = (base, *below.get(base, ()))
                views.extend((result.id, each, spot) for each in below[result.id])
    uses: dict[int, list[tuple[int, _Spot]]] = {}
    stale = _Stale(spots, storages, copies, settled)
    for operation, spot in spots:
        if (
            operation.name() == "cf.yield"
            or operation.id() in gradients
            or (operation.name() == "pd_op.assign" and operation.result(0).id in copies)
        ):
            continue
        for value in operation.operands_source():
            if bridge.is_value(value) and not bridge.is_fake(value):
                uses.setdefault(storages.find(value.id), []).append((value.id, spot))
    for operation, spot in stores:
        storage = storages.find(operation.operand_source(0).id)
        for view, base, made in views:
            pair = storages.find(view), storages.find(base)
            if storage not in pair or pair[0] == pair[1]:
                continue
            other = pair[0] if storage == pair[1] else pair[1]
            if _after(made, spot) and not (made.loops & spot.loops):
                continue
            for value, use in uses.get(other, ()):
                again = use.loops & spot.loops - made.loops
                if use.path == spot.path or not (_after(use, spot) or again):
                    continue
                if again or stale.reads(value, use, operation, spot, other):
                    _refuse(operation)


class _Stale:
    """Which values show what was before a write, of which d2s has renewed the other tensors."""

    def __init__(
        self,
        spots: list[tuple[Any, _Spot]],
        storages: _Storages,
        copies: set[int],
        settled: dict[int, Any],
    ) -> None:
        self.spots = spots
        self.storages = storages
        self.copies = copies
        self.settled = settled
        self.known: dict[tuple[int, int], set[int]] = {}

    def reads(self, value: int, use: _Spot, store: Any, spot: _Spot, storage: int) -> bool:
        """Whether the use of ``value`` would see in dygraph what ``store`` writes, and does not."""
        written = store.result(0).id
        group = self.settled.get(written)
        if group is None:
            return True
        for operation, place in self.spots:  # what the write itself has made reads the old values
            if use.path[: len(place.path)] == place.path and any(
                result.id in group for result in operation.results()
            ):
                return False
        if (written, storage) not in self.known:
            self.known[written, storage] = self._stale(group, spot, storage)
        return value in self.known[written, storage]

    def _stale(self, group: frozenset[str], spot: _Spot, storage: int) -> set[int]:
        found: set[int] = set()

        def add(value: Any) -> None:
            if self.storages.find(value.id) == storage and value.id not in group:
                found.add(value.id)

        for operation, place in self.spots:
            around = spot.path[: len(place.path)] == place.path
            for value in () if _after(place, spot) or around else operation.results():
                add(value)
            for block in () if _after(place, spot) else bridge.blocks_of(operation):
                for value in block.args():
                    add(value)
        size = -1
        while size != len(found):
            size = len(found)
            for operation, place in self.spots:
                around = len(place.path) < len(spot.path) and (
                    spot.path[: len(place.path)] == place.path
                )
                if _after(place, spot) or around:
                    self._hand_on(operation, place, spot, found, add)
        return found

    def _hand_on(
        self, operation: Any, place: _Spot, spot: _Spot, found: set[int], add: Any
    ) -> None:
        name = operation.name()
        whole = _after(place, spot)
        if (name == "pd_op.assign" and operation.result(0).id in self.copies) or name in _STORES:
            if operation.operand_source(0).id in found:
                add(operation.result(0))
        elif name in ("pd_op.if", "pd_op.while"):
            skipped = int(name == "pd_op.while")
            for block in filter(_has_operations, bridge.blocks_of(operation)):
                end = block.ops[-1]
                inside = any(
                    _after(at, spot)
                    for ending, at in self.spots
                    if ending is end or (ending.id() == end.id())
                )
                if not (whole or inside):
                    continue
                yields = end.operands_source()[skipped:]
                inits = operation.operands_source()[1:] if skipped else yields
                for index, result in enumerate(operation.results()):
                    sources = [yields[index], inits[index]] if whole else [yields[index]]
                    if any(source.id in found for source in sources):
                        add(result)
                        if skipped and index < len(block.args()):
                            add(block.args()[index])


def _has_operations(block: Any) -> bool:
    """Whether a side does and hands on anything."""
    return bool(block.ops)


def _join_yields(storages: _Storages, results: list[Any], yields: list[Any]) -> None:
    for result, value in zip(results, yields, strict=False):
        storages.join(result.id, value.id)


def _refuse(operation: Any) -> None:
    file, line = user_line(bridge.callstack(operation))
    raise InplaceError(
        "an item of a tensor is assigned while a part of it (a view, as from t[i] or reshape) is "
        "used later, which would see the new item in dygraph",
        cure="take the part with .clone(), or take it again after the assignment",
        file=file,
        line=line,
    )
