"""Lists whose length the run decides: tensors in the program, lists to the reader (rule D1).

A :class:`DynamicList` does with the rows and arrays of its store what a list of Python does with
its items; what cannot be said so is refused, with the way to say it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.items.elements import Element, Ragged, Single
from d2s.runtime.lists.items.equality import equal_rows
from d2s.runtime.lists.items.fixed import is_item_at, note_key
from d2s.runtime.lists.items.likeness import wants_gradients
from d2s.runtime.lists.items.parts import own
from d2s.runtime.lists.items.rows import Leaf, columns_of, joined, relaxed, sharing, zero_rows
from d2s.runtime.lists.items.structures import OneOf, union
from d2s.runtime.lists.ordered_items import OrderedItems
from d2s.runtime.lists.positions import (
    Indexed,
    as_index,
    bounds_of,
    position_of,
    positions_of,
)
from d2s.runtime.trace import error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
    passing_in,
)
from d2s.runtime.values.tree import PYTHONS, bare, is_mapping, refill
from d2s.syntax.bytecode import unpacks_into


@passing_in
class DynamicList(OrderedItems):
    """See the module's text."""

    def d2s_type(self) -> type:
        return type(self.made_of([]))

    def made_of(self, items: Iterable[Any]) -> Any:
        """What a run has made of it: a container of Python with these items."""
        if self.model is None:
            return tuple(items) if self.frozen else list(items)
        return refill(bare(self.model), dict(items) if is_mapping(self.model) else items)

    def at(self, index: paddle.Tensor) -> Any:
        """What an iteration gives in its place."""
        return self[index]

    def iterated(self) -> DynamicList:
        """The list of what an iteration gives, in its order."""
        return self

    # -- growing ---------------------------------------------------------------------------------

    def extend(self, items: Iterable[object]) -> None:
        """``list.extend``."""
        other = self._operand(items)
        if other is None:
            for item in list(items):
                self.append(item)
            return
        self._join([other.item_rows()])

    def _operand(self, items: object) -> DynamicList | None:
        """``items`` as a list like this one when the run decides how many they are."""
        if is_tensor(items):
            value = as_value(items)
            if not list(value.shape) or value.shape[0] >= 0:
                return None
            return of_tensor(value, self.name)
        items = items.items() if isinstance(items, Indexed) else items
        if not isinstance(items, DynamicList):
            return None
        items = items.iterated()
        self._check_lazy(items)
        items.need_rows()
        items.share()
        if items.element.has_objects:
            self.share()
        if union(self.element, items.element) != self.element:
            self.widen(items.element)
        if items.element == self.element:
            return items
        rows = self.element.converted(items.element, iter(items.need_rows()))
        return self.like(rows, items.name)

    def __iadd__(self, items: Iterable[object]) -> DynamicList:
        self.extend(items)
        return self

    def __add__(self, items: Iterable[object]) -> DynamicList:
        return NotImplemented if _word(items) is None else self._sum(self, items)

    def __radd__(self, items: Iterable[object]) -> DynamicList:
        return NotImplemented if _word(items) is None else self._sum(items, self)

    def _sum(self, first: Iterable[object], second: Iterable[object]) -> DynamicList:
        word, other = _word(first), _word(second)
        if word != other:
            raise TypeError(f'can only concatenate {word} (not "{other}") to {word}')
        if isinstance(first, DynamicList):
            made = first.as_list()
        else:
            made = self.selected([zero_rows(leaf) for leaf in self.element.leaves])
            made.frozen = False
            made.extend(first)
        made.extend(second)
        made.frozen = word == "tuple"
        return made

    def __mul__(self, count: object) -> DynamicList:
        times = as_index(count)
        times = paddle.where(times < 0, paddle.zeros_like(times), times)
        length = self.length
        at_least_one = paddle.maximum(length, paddle.full([], 1, "int64"))
        return self.picked(paddle.arange(0, length * times, dtype="int64") % at_least_one)

    __rmul__ = __mul__

    def __imul__(self, count: object) -> DynamicList:
        self.set_rows((self * count).need_rows())
        return self

    # -- reading ---------------------------------------------------------------------------------

    def _position(self, index: object, message: str = "list index out of range") -> paddle.Tensor:
        return position_of(as_index(index), self.length, message)

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        if self.arrays and self.carried and not self._in_branch() and self._constant():
            return self._read(self._position(index))
        item = self.item_at(self._position(index))
        note_key(item, index)
        return item

    def _constant(self) -> bool:
        """Whether no gradient goes through the items."""
        return not wants_gradients() or all(leaf.stop_gradient for leaf in self.element.leaves)

    def item_at(self, position: paddle.Tensor) -> Any:
        """The item at a position, a change of which goes there."""
        return self.taken(self._built(position), position)

    def write_back(self, item: object, position: paddle.Tensor) -> None:
        moves, self.writing = self.moves, True
        try:
            self._spliced(position, position + 1, [self._row_of(item)])
        finally:
            self.moves, self.writing = moves, False

    def _read(self, position: paddle.Tensor) -> Any:
        """An item out of the arrays."""
        leaves = []
        for array, known in zip(self.arrays, self.element.leaves, strict=True):
            leaf = relaxed(paddle.tensor.array_read(array, position), list(known.shape))
            leaf.stop_gradient = known.stop_gradient
            leaves.append(leaf)
        return self.element.build(leaves)

    def _bounds(self, key: slice) -> tuple[paddle.Tensor, paddle.Tensor]:
        """Start and stop of a slice of step 1, between 0 and the length."""
        return bounds_of(key, self.length)

    def _slice(self, key: slice) -> DynamicList:
        step = key.step
        if step is None or (type(step) is int and step == 1):
            start, stop = self._bounds(key)
            return self._part(start, stop)
        if type(step) is not int:
            raise error_here(
                ContainerInGraphError,
                f"a tensor decides the step of a slice of {self.name!r}, whose length a tensor "
                "decides",
                "use a constant step",
            )
        if step == 0:
            raise ValueError("slice step cannot be zero")
        return self.picked(positions_of(key, self.length))

    def _part(self, start: paddle.Tensor, stop: paddle.Tensor) -> DynamicList:
        return self.selected(
            [
                joined([row[:1], paddle.slice(row, [0], [start + 1], [stop + 1])])
                for row in self.need_rows()
            ]
        )

    def d2s_len(self) -> paddle.Tensor:
        """``len``: a 0-D value that stands for a Python int."""
        return self.length

    def d2s_condition(self) -> paddle.Tensor:
        """A list is true when it is not empty."""
        return self.length > 0

    def _equal(self, item: object) -> paddle.Tensor:
        """For each item whether it equals ``item``, a 1-D tensor."""
        if not (isinstance(self.element, Single) and self.element.leaf.kind is None):
            return equal_rows(self.element, self.item_rows(), item)
        (row,) = self.item_rows()
        if not (is_numeric(item) or isinstance(item, Choice)):
            return paddle.full_like(paddle.reshape(row, [-1]), False, "bool")
        leaf = self.element.leaf
        if any(size > 1 for size in (*leaf.shape, *getattr(item, "shape", ()))):
            raise error_here(
                ContainerInGraphError,
                f"tensors of shape {list(leaf.shape)} are compared in {self.name!r}, which needs "
                "one element",
                "compare with stacked tensors, and say how with .all() or .any()",
            )
        same = row == item
        return paddle.reshape(same, [-1])

    def __contains__(self, item: object) -> bool:
        raise error_here(
            ContainerInGraphError,
            f"'in' asks code that stays Python about {self.name!r}, whose length a tensor decides",
            "ask in a converted function",
        )

    def contains(self, item: object) -> Any:
        """``item in list``."""
        return mark_number(self._equal(item).any(), bool)

    def count(self, item: object) -> paddle.Tensor:
        """``list.count``."""
        return mark_number(paddle.cast(self._equal(item), "int64").sum(), int)

    def index(self, item: object, *bounds: object) -> paddle.Tensor:
        """``list.index``."""
        same = self._equal(item)
        if bounds:
            start, stop = self._bounds(slice(bounds[0], *bounds[1:] or (None,)))
            places = paddle.arange(0, self.length, dtype="int64")
            same = same & (places >= start) & (places < stop)
        raise_when(~same.any(), ValueError("list.index(x): x not in list"))
        return mark_number(paddle.argmax(paddle.cast(same, "int64")), int)

    def copy(self) -> DynamicList:
        """``list.copy``."""
        return self.selected(list(self.need_rows()))

    def as_list(self) -> DynamicList:
        """``list``."""
        made = DynamicList.of_rows(self.name, self.element, list(self.need_rows()))
        self.share()
        made.share()
        return made

    def d2s_tuple(self) -> DynamicList:
        """``tuple``."""
        made = self.as_list()
        made.frozen = True
        return made

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        word = _word(other)
        if word != _word(self):
            return NotImplemented if word is None else False
        if not isinstance(other, DynamicList) and not other:
            return mark_number(self.length == 0, bool)
        theirs = self._numbers_of(other)
        if theirs is None or not self._is_of_numbers():
            raise error_here(
                ContainerInGraphError,
                f"the list {self.name!r}, whose length a tensor decides, is compared with another "
                "one",
                "compare their lengths and their stacked items",
            )
        return mark_number(self._equals(theirs), bool)

    def _is_of_numbers(self) -> bool:
        """Whether every item is a number."""
        return isinstance(self.element, Single) and self.element.leaf.kind is not None

    def _numbers_of(self, other: Any) -> DynamicList | None:
        """``other`` as a list like this one, if it is one of numbers."""
        if isinstance(other, DynamicList):
            return other if other._is_of_numbers() else None
        kinds = {number_kind(item) for item in other}
        if None in kinds:
            return None
        widest = float if float in kinds else int if int in kinds else bool
        same = [cast_plain(as_value(item), NUMBER_DTYPES[widest]) for item in other]
        return DynamicList.of([mark_number(item, widest) for item in same], Words("a list"))

    def _equals(self, other: DynamicList) -> paddle.Tensor:
        """Whether both have the same numbers, as a 0-D bool value."""
        size = paddle.minimum(self.length, other.length)
        zero = paddle.full([], 0, "int64")
        mine, theirs = (each._part(zero, size).item_rows()[0] for each in (self, other))
        kinds = [each.element.leaves[0].kind for each in (self, other)]
        dtype = NUMBER_DTYPES[float if float in kinds else int]
        equal = cast_plain(mine, dtype) == cast_plain(theirs, dtype)
        return paddle.logical_and(equal.all(), self.length == other.length)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return mark_number(paddle.logical_not(same), bool) if is_tensor(same) else not same

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:
        if (count := unpacks_into(sys._getframe(1))) is not None:
            return iter(Indexed(self.d2s_len, self.at).parts(count))
        raise error_here(
            ContainerInGraphError,
            f"the list {self.name!r}, whose length a tensor decides, is iterated or unpacked by "
            "Python code",
            "iterate it with a for statement, take items by index or slice, or stack it first",
        )

    def __len__(self) -> int:
        raise error_here(
            ContainerInGraphError,
            f"the length of {self.name!r}, which a tensor decides, is asked for by Python code",
            "use len() in a converted function",
        )

    # -- changing --------------------------------------------------------------------------------

    def _spliced(
        self, start: paddle.Tensor, stop: paddle.Tensor, between: list[list[paddle.Tensor]]
    ) -> None:
        """Put the rows of ``between`` in the place of those from ``start`` to ``stop``."""
        rows = self._change()
        end = self.length + 1
        before = [paddle.slice(row, [0], [0], [start + 1]) for row in rows]
        after = [paddle.slice(row, [0], [stop + 1], [end]) for row in rows]
        self.set_rows(self._joined([before, *between, after]))

    def _row_of(self, item: object) -> list[paddle.Tensor]:
        """``item``, about to be one of these, as the rows of a list of it alone."""
        self._widen(item)
        return self._rows_of(item)

    def __setitem__(self, index: object, item: Any) -> None:
        if is_item_at(item, self, index):
            return
        self._change()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise error_here(
                    ContainerInGraphError,
                    f"an extended slice of {self.name!r}, whose length a tensor decides, is "
                    "assigned",
                    "assign item by item",
                )
            start, stop = self._bounds(index)
            other = self._operand(item)
            for each_ in () if other is not None else item:
                self._widen(each_)
            parts = [other.item_rows()] if other is not None else list(map(self._rows_of, item))
            self._spliced(start, stop, parts)
            return
        position = self._position(index, "list assignment index out of range")
        self._spliced(position, position + 1, [self._row_of(item)])

    def __delitem__(self, index: object) -> None:
        self._change()
        if isinstance(index, slice) and index.step not in (None, 1):
            raise error_here(
                ContainerInGraphError,
                f"an extended slice of {self.name!r}, whose length a tensor decides, is deleted",
                "make a new list of the items that stay",
            )
        if isinstance(index, slice):
            start, stop = self._bounds(index)
        else:
            start = self._position(index, "list assignment index out of range")
            stop = start + 1
        self._spliced(start, stop, [])

    def insert(self, index: object, item: object) -> None:
        """``list.insert``."""
        self._change()
        (start, _) = self._bounds(slice(index, None))
        self._spliced(start, start, [self._row_of(item)])

    def pop(self, index: object = -1, /) -> Any:
        """``list.pop``."""
        rows = self._change()
        length = self.length
        raise_when(length == 0, IndexError("pop from empty list"))
        if type(index) is int and index in (-1, 0):
            position = length - 1 if index else paddle.full([], 0, "int64")
        else:
            position = self._position(index, "pop index out of range")
        item = self._popped(position)
        if type(index) is int and index == -1:
            self.set_rows([paddle.slice(row, [0], [0], [length]) for row in rows])
        else:
            self._spliced(position, position + 1, [])
        return item

    def _popped(self, position: paddle.Tensor) -> Any:
        """An item that is about to leave the list; nobody else has it, but where it is known."""
        if self.element.has_objects:
            return self._built(position)
        known = self.shared or any(ref() is not None for ref, _ in self.lent)
        return self.item_at(position) if known else own(self._built(position))

    def remove(self, item: object) -> None:
        """``list.remove``."""
        same = self._equal(item)
        raise_when(~same.any(), ValueError("list.remove(x): x not in list"))
        del self[paddle.argmax(paddle.cast(same, "int64"))]

    def clear(self) -> None:
        """``list.clear``."""
        self.set_rows([row[:1] for row in self._change()])

    def reverse(self) -> None:
        """``list.reverse``."""
        rows = self._change()
        items = zip(rows, self.item_rows(), strict=True)
        self.set_rows(
            [joined([row[:1], sharing(paddle.flip(part, [0]), [part])]) for row, part in items]
        )

    # -- as tensors ------------------------------------------------------------------------------

    def stacked(self, leaf: int = 0, *, joins: bool = False) -> paddle.Tensor:
        """One leaf of each item along a new first axis; what ``joins`` them takes several sizes."""
        if isinstance(self.element, OneOf) and self.element.numeric:
            return self.element.as_tensors(self.item_rows())
        if isinstance(self.element, Ragged):
            return self._of_one_size(joins=joins)
        if self.element.has_text:
            raise error_here(
                ContainerInGraphError,
                f"tensors are wanted of {self.name!r}, whose length a tensor decides, and which "
                "holds other things, too",
                "put the tensors into a list of their own",
            )
        return sharing(self.item_rows()[leaf], [])  # a copy of what the items are

    def _of_one_size(self, *, joins: bool) -> paddle.Tensor:
        """The items, which have one size each, or the run raises."""
        sizes, whole = self.item_rows()
        said = "The shapes of the tensors in a list that is stacked are not the same."
        cause = f"the tensors that are joined in {self.name!r} have several sizes"
        differ = ContainerInGraphError(cause) if joins else ValueError(said)
        raise_when((sizes != sizes[:1]).any(), differ)
        return sharing(whole, [])

    def d2s_shown(self) -> tuple[list[paddle.Tensor], Callable[[list[Any]], Any]]:
        """The items stacked, leaf by leaf, and what makes the list of a run's stacks."""
        element = self.element

        def build(stacks: list[Any]) -> Any:
            columns = columns_of(stacks, element.leaves)
            items = [element.build(list(row), host=True) for row in zip(*columns, strict=True)]
            return self.made_of(items)

        return self.item_rows(), build

    def __repr__(self) -> str:
        return "<list that grows on the run>"


def _word(items: object) -> str | None:
    """What ``items`` is to the reader: a list, a tuple or another of Python's; ``None`` if none."""
    kind = items.d2s_type() if isinstance(items, DynamicList) else type(items)
    return next((base.__name__ for base in PYTHONS if issubclass(kind, base)), None)


def of_tensor(value: paddle.Tensor, name: str) -> DynamicList:
    """The rows of a tensor as a list."""
    leaf = Leaf(value.dtype, tuple(value.shape[1:]), None, value.stop_gradient)
    return of_columns(Single(leaf), [value], name)


def of_columns(element: Element, columns: list[paddle.Tensor], name: str) -> DynamicList:
    """A list of items like ``element``, whose leaves are the rows of ``columns``."""
    pairs = zip(element.leaves, columns, strict=True)
    rows = [joined([zero_rows(leaf), column]) for leaf, column in pairs]
    return DynamicList.of_rows(name, element, rows)
