"""Lists that grow in static loops: TensorArrays in the program, lists to the reader (rule D1).

A :class:`GrowingList` has one TensorArray for each tensor of an item (items may be tuples) and a
length.  In a loop body an ``append`` writes at once.  Inside a branch an array cannot be an output
of the ``if``, so the item is *pending*: it leaves the branch as an ordinary value with a flag that
tells whether it counts, and is written behind the ``if``; a place beyond the length holds anything
and is written over by the next append.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.operators.context import current, error_here
from d2s.operators.hosts import raise_when
from d2s.operators.likeness import description_of
from d2s.operators.values import (
    as_value,
    is_tensor,
    mark_number,
    number_kind,
)


class NeedsElementError(BaseException):
    """An empty list is appended to inside a loop: the loop is captured again, prepared for it."""

    def __init__(self, target: Any, item: Any) -> None:
        super().__init__()
        self.target = target
        self.item = description_of(item)


class Element:
    """What is known of an item: its structure, and dtype, shape and number type of each leaf."""

    def __init__(self, item: Any) -> None:
        self.leaves: list[tuple[Any, list[int], type | None, bool]] = []
        self.build, self._host = self._scan(item)

    def _scan(self, item: Any) -> tuple[Callable[[list[Any]], Any], Callable[[list[Any]], Any]]:
        if type(item) in (tuple, list):
            parts = [self._scan(part) for part in item]
            kind = type(item)
            return (
                lambda leaves: kind(part[0](leaves) for part in parts),
                lambda leaves: kind(part[1](leaves) for part in parts),
            )
        if not (is_tensor(item) or number_kind(item) is not None):
            raise error_here(
                ContainerInGraphError,
                f"a value of type {type(item).__name__!r} is put into a list inside a static loop",
                "put tensors, numbers or tuples of them into it",
            )
        value = as_value(item)
        position = len(self.leaves)
        self.leaves.append((value.dtype, list(value.shape), number_kind(item), value.stop_gradient))

        def leaf(leaves: list[Any]) -> Any:
            kind = self.leaves[position][2]
            found = leaves[position]
            return found if kind is None else mark_number(found, kind)

        return leaf, lambda leaves: leaves[position]

    def build_host(self, leaves: list[Any]) -> Any:
        """An item of the leaves that a run has given."""
        return self._host(leaves)

    def flatten(self, item: Any) -> list[Any]:
        """The leaves of ``item`` as values with the dtypes of this element."""
        if type(item) in (tuple, list):
            flat = [leaf for part in item for leaf in Element(part).flatten(part)]
        else:
            flat = [as_value(item)]
        if len(flat) != len(self.leaves):
            raise error_here(
                ContainerInGraphError,
                "items of different structure are put into one list inside a static loop",
                "give every item the same structure",
            )
        return [
            leaf if leaf.dtype == dtype else paddle.cast(leaf, dtype)
            for leaf, (dtype, _, _, _) in zip(flat, self.leaves, strict=True)
        ]


class GrowingList:
    """See the module's text.

    Attributes:
        name: the variable, for messages.
        element: what the items are; ``None`` while nothing is known.
        arrays: one TensorArray for each leaf of an item.
        length: the number of items, a 0-D int64 value that stands for a Python int.
        pending: items of the present branch with the flag under which they count.
        home: how many blocks are around the arrays; deeper appends are pending.
        loose: the arrays may hold more items than ``length``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.element: Element | None = None
        self.arrays: list[Any] = []
        self.length: Any = None
        self.pending: list[tuple[Any, Any]] = []
        self.home = 0
        self.loose = True

    @staticmethod
    def of(items: list[Any], name: str, like: Any = None) -> GrowingList:
        """A growing list with the items of a Python list, made at the present place.

        Args:
            items: the items so far.
            name: the variable.
            like: an item that shows structure and differentiability, when it is known better
                than from ``items``.
        """
        made = GrowingList(name)
        capture = current()
        made.home = 0 if capture is None else len(capture.blocks)
        made.length = mark_number(paddle.full([], 0, "int64"), int)
        if like is not None:
            made.prepare(like)
        elif items:
            made.prepare(items[0])
        for item in items:
            made.append(item)
        return made

    def prepare(self, item: Any) -> None:
        """Make the arrays for items like ``item``, with a place holder at index 0."""
        self.element = Element(item)
        zero = paddle.full([], 0, "int64")
        for dtype, shape, _, stop_gradient in self.element.leaves:
            array = paddle.tensor.create_array(str(dtype).rsplit(".", 1)[-1])
            array.stop_gradient = stop_gradient
            filler = paddle.zeros([max(size, 1) if size else 0 for size in shape], dtype)
            filler.stop_gradient = stop_gradient
            if any(size < 0 for size in shape):
                bridge.relax(filler, shape)
            paddle.tensor.array_write(filler, zero, array)
            self.arrays.append(array)

    # -- snapshots, for branches and loops ------------------------------------------------------

    def d2s_freeze(self) -> tuple[Any, ...]:
        """What :meth:`d2s_thaw` needs."""
        return (tuple(self.arrays), self.length, tuple(self.pending), self.element)

    def d2s_thaw(self, items: tuple[Any, ...]) -> None:
        """Go back to a snapshot."""
        arrays, self.length, pending, self.element = items
        self.arrays, self.pending = list(arrays), list(pending)

    # -- what a list does ------------------------------------------------------------------------

    def _in_branch(self) -> bool:
        capture = current()
        return capture is not None and len(capture.blocks) > self.home

    def append(self, item: Any) -> None:
        """``list.append``."""
        if self.element is None:
            raise NeedsElementError(self, item)
        if self._in_branch():
            self.pending.append((item, True))
            return
        self._write(item, True)

    def _write(self, item: Any, counts: Any) -> None:
        assert self.element is not None
        capture = current()
        for array, leaf in zip(self.arrays, self.element.flatten(item), strict=True):
            if array.stop_gradient and not leaf.stop_gradient:
                if capture is not None and capture.blocks:
                    raise NeedsElementError(self, item)  # the arrays must let gradients through
                array.stop_gradient = False
            copy = paddle.assign(leaf)
            copy.stop_gradient = leaf.stop_gradient
            paddle.tensor.array_write(copy, self.length, array)
        step = paddle.full([], 1, "int64") if counts is True else paddle.cast(counts, "int64")
        self.length = mark_number(self.length + step, int)

    def settle(self, pending: list[tuple[Any, Any]]) -> None:
        """Write the items that a branch has left, or leave them to the branch around."""
        if self._in_branch():
            self.pending.extend(pending)
            return
        for item, counts in pending:
            self._write(item, counts)

    def _settled(self, what: str, *, changes: bool = False) -> None:
        """Refuse to look at a list while items wait for the end of their branch."""
        if self.pending or (changes and self._in_branch()):
            raise error_here(
                ContainerInGraphError,
                f"the list {self.name!r} is {what} inside a branch of a static loop",
                "append in the branch, and read the list outside of it",
            )

    def extend(self, items: Any) -> None:
        """``list.extend`` with a Python iterable."""
        for item in items:
            self.append(item)

    def __iadd__(self, items: Any) -> GrowingList:
        self.extend(items)
        return self

    def pop(self, index: Any = -1) -> Any:
        """``list.pop`` from the end."""
        self._settled("popped", changes=True)
        if index != -1:
            raise error_here(
                ContainerInGraphError,
                f"the list {self.name!r}, which grows in a static loop, is popped in its middle",
                "pop from its end",
            )
        raise_when(self.length == 0, IndexError("pop from empty list"))
        self.length = mark_number(self.length - 1, int)
        return self._read(self.length)

    def _read(self, index: Any) -> Any:
        if self.element is None:
            raise error_here(
                ContainerInGraphError,
                f"an item of the empty list {self.name!r} is read in a static loop",
                "append to the list before reading it",
            )
        leaves = []
        for array, (_, shape, _, stop_gradient) in zip(
            self.arrays, self.element.leaves, strict=True
        ):
            leaf = paddle.tensor.array_read(array, index)
            if list(leaf.shape) != shape:
                bridge.relax(leaf, shape)
            leaf.stop_gradient = stop_gradient
            leaves.append(leaf)
        return self.element.build(leaves)

    def _position(self, index: Any) -> Any:
        position = as_value(index)
        if position.dtype != paddle.int64:
            position = paddle.cast(position, "int64")
        position = paddle.where(position < 0, position + self.length, position)
        outside = (position < 0) | (position >= self.length)
        raise_when(outside, IndexError("list index out of range"))
        return position

    def __getitem__(self, index: Any) -> Any:
        self._settled("read")
        if isinstance(index, slice):
            raise error_here(
                ContainerInGraphError,
                f"the list {self.name!r}, which grows in a static loop, is sliced",
                "stack it first, and slice the tensor",
            )
        return self._read(self._position(index))

    def __setitem__(self, index: Any, item: Any) -> None:
        self._settled("written", changes=True)
        assert self.element is not None
        position = self._position(index)
        for array, leaf in zip(self.arrays, self.element.flatten(item), strict=True):
            paddle.tensor.array_write(paddle.assign(leaf), position, array)

    def d2s_len(self) -> Any:
        """``len``: a 0-D value that stands for a Python int."""
        self._settled("measured")
        return self.length

    def d2s_condition(self) -> Any:
        """A list is true when it is not empty."""
        return self.d2s_len() > 0

    def __iter__(self) -> Iterator[Any]:
        raise error_here(
            ContainerInGraphError,
            f"the list {self.name!r}, which grows in a static loop, is iterated by Python code",
            "iterate it with a for statement, or stack it first",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        raise error_here(
            ContainerInGraphError,
            f"list.{name} is called on {self.name!r}, which grows in a static loop",
            "use append, pop and index there, or stack the list first",
        )

    # -- as tensors ------------------------------------------------------------------------------

    def stacked(self, leaf: int = 0) -> Any:
        """The items (one leaf of each) along a new first axis, as many as there are."""
        if not self.arrays:
            raise error_here(
                ContainerInGraphError,
                f"the list {self.name!r} is stacked, but nothing was ever put into it",
                "append to the list first",
            )
        _, shape, _, _ = self.element.leaves[leaf]  # type: ignore[union-attr]
        whole = bridge.array_to_tensor(self.arrays[leaf])
        whole.stop_gradient = self.arrays[leaf].stop_gradient
        part = paddle.slice(whole, [0], [0], [self.length])
        if list(part.shape) != [-1, *shape]:
            bridge.relax(part, [-1, *shape])
        return part


def join_lists(
    merger: Any, target: GrowingList, true: tuple[Any, ...], false: tuple[Any, ...]
) -> Callable[[list[Any]], Any]:
    """The list after a branch whose sides have left different pending items.

    Args:
        merger: the branch.
        target: the list.
        true, false: what :meth:`GrowingList.d2s_freeze` gave at the end of each side.
    """
    base = len(target.pending)
    if true[1] is not false[1]:
        raise error_here(
            ContainerInGraphError,
            f"a branch pops from the list {target.name!r}, which grows in a static loop",
            "pop outside of the branch",
        )
    sides = list(true[2][base:]), list(false[2][base:])
    builders = []
    for position in range(max(len(sides[0]), len(sides[1]))):
        entries = [side[position] if position < len(side) else None for side in sides]
        if entries[0] is not None and entries[1] is not None:
            item = merger.merge(entries[0][0], entries[1][0], target.name)
            counts = merger.merge(entries[0][1], entries[1][1], target.name)
        else:
            which = entries[0] is not None
            thing, valid = entries[0] or entries[1] or (None, False)
            item = merger.kept(which, _as_values(merger, which, thing))
            counts = merger.merge(*((valid, False) if which else (False, valid)), target.name)
        builders.append((item, counts))

    def build(results: list[Any]) -> GrowingList:
        target.settle([(item(results), counts(results)) for item, counts in builders])
        return target

    return build


def _as_values(merger: Any, side: bool, item: Any) -> Any:
    """``item`` with its numbers and dygraph tensors made values of ``side``."""
    if type(item) in (tuple, list):
        return type(item)(_as_values(merger, side, part) for part in item)
    return merger.on(side, lambda: as_value(item))
