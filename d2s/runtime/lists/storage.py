"""What a dynamic list holds: the leaves of its items, in one of two forms.

*rows*
    one tensor for each leaf, the items along a new first axis.  Every operation of a list is one
    on these tensors, also inside branches and loops, and its gradient is right.  An ``append``
    copies what is there.  Before the first item stands a row of zeros, because Paddle 3.3.1 does
    not hand a tensor without elements out of a branch or loop: the old one stays.

*arrays*
    one TensorArray for each leaf.  An ``append`` in a loop costs what it writes, so a loop that
    only appends begins with this form; an item may be read by its index where no gradient goes
    through it.  Whatever else is asked of the list in that loop raises :class:`NeedsRowsError`,
    and the loop is captured again with rows.  Inside a branch an array cannot be an output of the
    ``if``, so the item is *pending*: it leaves the branch as an ordinary value with a flag that
    tells whether it counts, and is written behind the ``if``; a place beyond the length holds
    anything and is written over by the next append.

A list that has left its loop gets rows as soon as somebody reads it: an array has one reader.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, TypeVar

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.runtime.lists.elements import Element, OfRunLength
from d2s.runtime.lists.likeness import description_of
from d2s.runtime.lists.rows import joined, no_rows, opened, sharing
from d2s.runtime.trace import OnceMoreError, current
from d2s.runtime.values.tensors import carried, mark_number, zeros_of

Store = TypeVar("Store", bound="ItemStore")


class NeedsElementError(OnceMoreError):
    """A Python list changes its length in a loop: the loop is captured again, prepared for it."""

    def __init__(self, target: object, item: object) -> None:
        super().__init__()
        self.target = target
        self.item = description_of(item)


class NeedsRowsError(OnceMoreError):
    """Something is asked of a list in a loop that its arrays cannot give."""

    def __init__(self, target: ItemStore) -> None:
        super().__init__()
        self.target = target


class ListSnapshot(NamedTuple):
    """What a list held at one time.

    Attributes:
        arrays, length, pending, element, rows: those of :class:`ItemStore`.
    """

    arrays: tuple[paddle.Tensor, ...]
    length: paddle.Tensor | None
    pending: tuple[tuple[Any, Any], ...]
    element: Element
    rows: tuple[paddle.Tensor, ...] | None


class ItemStore(OfRunLength):
    """See the module's text; :class:`DynamicList` adds what a reader sees.

    Attributes:
        name: the variable, for messages.
        element: what the items are.
        arrays: one TensorArray for each leaf of an item; empty in the form of rows.
        rows: one tensor for each leaf; beside arrays, what they held when their loop was over.
        origin: the Python list that this one stands for, if it began as one.
        pending: items of the present branch with the flag under which they count.
        home: how many blocks are around the arrays; deeper appends are pending.
        carried: how many static loops under capture carry the arrays.
        frozen: it is a tuple to the reader.
    """

    def __init__(self, name: str, element: Element) -> None:
        self.name = name
        self.element: Element = element
        self.arrays: list[paddle.Tensor] = []
        self.rows: list[paddle.Tensor] | None = None
        self.origin: list[Any] | None = None
        self.pending: list[tuple[Any, Any]] = []
        self.home = 0
        self.carried = 0
        self.frozen = False
        self._length: paddle.Tensor | None = None

    @classmethod
    def of(
        cls: type[Store], items: list[Any], name: str, like: object = None, *, arrays: bool = False
    ) -> Store:
        """A growing list with the items of a Python list, made at the present place.

        Args:
            items: the items so far.
            name: the variable.
            like: an item that shows structure and differentiability, when it is known better
                than from ``items``.
            arrays: begin in the form of arrays, for a loop that appends.
        """
        if not arrays or cls._described(items, name, like).element.has_text:
            made = cls.for_items(items, name, like)
            if items:
                made._concat(items)
            return made
        made = cls._described(items, name, like)
        made._length = mark_number(paddle.full([], 0, "int64"), int)
        zero = paddle.full([], 0, "int64")
        for dtype, shape, _, stop_gradient in made.element.leaves:
            array = paddle.tensor.create_array(str(dtype).rsplit(".", 1)[-1])
            array.stop_gradient = stop_gradient
            filler = zeros_of(shape, dtype)
            filler.stop_gradient = stop_gradient
            paddle.tensor.array_write(filler, zero, array)
            made.arrays.append(array)
        for item in items:
            made._write(item, True)
        return made

    @classmethod
    def for_items(cls: type[Store], items: list[Any], name: str, like: object = None) -> Store:
        """An empty list, in the form of rows, that any of these items may be put into.

        Args:
            items: what shows dtypes, shapes and gradients; none of them is read.
            name: the variable.
            like: see :meth:`of`.
        """
        made = cls._described(items, name, like)
        made.rows = [no_rows(leaf) for leaf in made.element.leaves]
        return made

    @classmethod
    def _described(cls: type[Store], items: list[Any], name: str, like: object) -> Store:
        """A list made at the present place for these items, which has no form yet."""
        element = Element(items[0] if like is None else like)
        for item in items:
            element.flatten(item)
            element.widen(item)
        return cls._here(name, element)

    @classmethod
    def _here(cls: type[Store], name: str, element: Element) -> Store:
        """A list made at the present place, which has no form yet."""
        made = cls(name, element)
        capture = current()
        made.home = 0 if capture is None else len(capture.blocks)
        return made

    @classmethod
    def of_rows(cls: type[Store], name: str, element: Element, rows: list[paddle.Tensor]) -> Store:
        """A list made at the present place that holds these rows."""
        made = cls._here(name, element)
        made.set_rows(rows)
        return made

    def like(self: Store, rows: list[paddle.Tensor], name: str | None = None) -> Store:
        """A list of its own with other rows."""
        return self.of_rows(name or self.name, self.element, rows)

    def set_rows(self, rows: list[paddle.Tensor]) -> None:
        """Hold other rows."""
        self.arrays, self._length = [], None
        self.rows = [
            opened(row, leaf.shape) for row, leaf in zip(rows, self.element.leaves, strict=True)
        ]

    def d2s_freeze(self) -> tuple[Any, ...]:
        """The entries of a :class:`ListSnapshot`, in a tuple as the snapshots of others have."""
        if self.arrays and not self.carried and self.rows is None and not self._in_branch():
            self.rows = self._stacked()  # inside of a branch or loop it would be too late
        rows = None if self.rows is None else tuple(self.rows)
        return (tuple(self.arrays), self._length, tuple(self.pending), self.element, rows)

    def d2s_thaw(self, items: tuple[Any, ...]) -> None:
        """Go back to a snapshot."""
        arrays, self._length, pending, self.element, rows = items
        self.arrays, self.pending = list(arrays), list(pending)
        self.rows = None if rows is None else list(rows)

    def d2s_values(self) -> list[paddle.Tensor]:
        """The values that it is made of."""
        return [*self.arrays, *(self.rows or [])]

    def hold(self, arrays: list[paddle.Tensor], length: paddle.Tensor) -> None:
        """Take over arrays that a loop has carried."""
        self.arrays, self._length, self.rows, self.pending = arrays, length, None, []

    def hold_rows(self, rows: list[paddle.Tensor]) -> None:
        """Take over rows that a loop has carried."""
        self.pending = []
        self.set_rows(rows)

    def holds_still(self, items: tuple[Any, ...]) -> bool:
        """Whether the items are those of a snapshot."""
        before = ListSnapshot(*items)
        if len(self.pending) != len(before.pending):
            return False
        if self.arrays:
            return self._length is before.length
        if before.arrays and before.rows is None:
            return False
        mine, theirs = self.rows or (), before.rows or ()
        return len(mine) == len(theirs) and all(map(operator.is_, mine, theirs))

    def widen_for(self, item: object) -> None:
        """Be prepared for items like ``item``."""
        if self.element.relaxed(item) is not None:
            rows = self.need_rows()
            self.element.widen(item)
            self.set_rows(rows)

    def sample(self) -> Any:
        """An item of zeros."""
        leaves = []
        for leaf in self.element.leaves:
            leaves.append(zeros_of(leaf.shape, leaf.dtype))
            leaves[-1].stop_gradient = leaf.stop_gradient
        return self.element.build(leaves)

    def _in_branch(self) -> bool:
        capture = current()
        return capture is not None and len(capture.blocks) > self.home

    def _stacked(self) -> list[paddle.Tensor]:
        """What the arrays hold, as rows."""
        rows = []
        for array, leaf in zip(self.arrays, self.element.leaves, strict=True):
            whole = sharing(bridge.array_to_tensor(array), [array])
            whole.stop_gradient = array.stop_gradient
            part = paddle.slice(whole, [0], [0], [self._length])
            rows.append(opened(joined([no_rows(leaf), part]), leaf.shape))
        return rows

    def need_rows(self) -> list[paddle.Tensor]:
        """The rows; from now on the list has this form only.

        Raises:
            NeedsRowsError: a loop under capture carries the arrays.
        """
        if not self.arrays:
            assert self.rows is not None
            return self.rows
        if self.carried:
            raise NeedsRowsError(self)
        if self._in_branch():  # what is made here is not seen outside of the branch
            return self._stacked() if self.rows is None else self.rows
        if self.rows is None:
            self.rows = self._stacked()
        self.arrays, self._length = [], None
        return self.rows

    def _change(self) -> list[paddle.Tensor]:
        """The rows, about to be changed."""
        if self.frozen:
            raise AttributeError("'tuple' object cannot be changed")
        return self.need_rows()

    @property
    def length(self) -> paddle.Tensor:
        """The number of items, a 0-D int64 value that stands for a Python int."""
        if self._length is not None and not self.pending:
            return self._length
        (row, *_) = self.need_rows()
        return mark_number(paddle.shape(row)[0].astype("int64") - 1, int)

    def append(self, item: object) -> None:
        """``list.append``."""
        if self.frozen:
            raise AttributeError("'tuple' object has no attribute 'append'")
        self.element.flatten(item)
        note("list")
        self._widen(item)
        if self.arrays and self.carried:
            if self._in_branch():
                self.pending.append((item, True))
            else:
                self._write(item, True)
            return
        self._concat([item])

    def _widen(self, item: object) -> None:
        """Take in that ``item`` differs from the others in a dimension, or is differentiable."""
        if self.element.relaxed(item) is None:
            return
        capture = current()
        if capture is not None and any(block.kind == "loop" for block in capture.blocks):
            raise NeedsElementError(self, item)  # to be known from before the loop on
        self.need_rows()
        self.element.widen(item)

    def _write(self, item: object, counts: object) -> None:
        for array, leaf in zip(self.arrays, self.element.flatten(item), strict=True):
            paddle.tensor.array_write(carried(leaf), self._length, array)
        step = paddle.full([], 1, "int64") if counts is True else paddle.cast(counts, "int64")
        self._length = mark_number(self._length + step, int)

    def _concat(self, items: list[Any]) -> None:
        """Put ``items`` behind the rows."""
        rows = self._change()
        leaves = [self.element.flatten(item) for item in items]
        self.set_rows(
            [
                joined([row, *(self._row(item[position], position) for item in leaves)])
                for position, row in enumerate(rows)
            ]
        )

    def _row(self, leaf: paddle.Tensor, position: int) -> paddle.Tensor:
        """The leaf of an item at ``position`` as a row; one of a number is nobody else's."""
        row = paddle.unsqueeze(leaf, 0)
        return row if self.element.leaves[position].kind is None else sharing(row, [])

    def settle(self, pending: list[tuple[Any, Any]]) -> None:
        """Write the items that a branch has left, or leave them to the branch around."""
        if self._in_branch():
            self.pending.extend(pending)
            return
        for item, counts in pending:
            self._write(item, counts)
