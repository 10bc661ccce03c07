"""Lists whose length the run decides: tensors in the program, lists to the reader (rule D1).

A :class:`DynamicList` keeps the leaves of its items (an item may be a tuple, a dict with fixed
keys, a named tuple or a list) in one of two forms:

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

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import names_of
from d2s.runtime.host.text import HostText, formatted_text
from d2s.runtime.lists.likeness import (
    Maybe,
    description_of,
    labels_of,
    maybe,
    wants_gradients,
)
from d2s.runtime.trace import OnceMoreError, current, error_here, tentatively
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    carried,
    cast_plain,
    is_tensor,
    mark_number,
    number_kind,
)


class NeedsElementError(OnceMoreError):
    """A Python list changes its length in a loop: the loop is captured again, prepared for it."""

    def __init__(self, target: Any, item: Any) -> None:
        super().__init__()
        self.target = target
        self.item = description_of(item)


class NeedsRowsError(OnceMoreError):
    """Something is asked of a list in a loop that its arrays cannot give."""

    def __init__(self, target: DynamicList) -> None:
        super().__init__()
        self.target = target


class Leaf(NamedTuple):
    """What is known of one leaf of every item."""

    dtype: Any
    shape: list[int]
    kind: type | None
    stop_gradient: bool


Make = Callable[[list[Any]], Any]
"""From leaves to an item."""


class Element:
    """What is known of an item: its structure, and dtype, shape and number type of each leaf.

    Attributes:
        leaves: the leaves.
        form: the structure; ``None`` for a tensor or number alone.
        tables: the constants one of which a leaf counts off, by the leaf's position.
        has_text: there are texts in it, or other constants such as ``None``.
    """

    def __init__(self, item: Any) -> None:
        self.leaves: list[Leaf] = []
        self.tables: dict[int, list[Any]] = {}
        self.has_text = False
        self.form, self._build, self._host = self._scan(item)
        if not self.leaves:
            raise error_here(
                ContainerInGraphError,
                "an item without any tensor or number is put into a list whose length a tensor "
                "decides",
                "put tensors, numbers or tuples of them into it",
            )

    def _scan(self, item: Any) -> tuple[Any, Make, Make]:
        labels = labels_of(item)
        if labels is not None:
            return self._scan_label(list(labels))
        parts = _parts(item)
        self.has_text = self.has_text or (parts is not None and parts[0] in (HostText, Maybe))
        if parts is not None:
            kind, keys, items = parts
            scanned = [self._scan(part) for part in items]
            make = _maker(kind, keys)
            return (
                (kind, keys, tuple(part[0] for part in scanned)),
                lambda leaves: make([part[1](leaves) for part in scanned], True),
                lambda leaves: make([part[2](leaves) for part in scanned], False),
            )
        if isinstance(item, Choice):
            item = item.get()
        value = _leaf(item)
        position = len(self.leaves)
        self.leaves.append(
            Leaf(value.dtype, list(value.shape), number_kind(item), value.stop_gradient)
        )

        def leaf(leaves: list[Any]) -> Any:
            kind = self.leaves[position].kind
            found = leaves[position]
            return found if kind is None else mark_number(found, kind)

        return None, leaf, lambda leaves: leaves[position]

    def _scan_label(self, table: list[Any]) -> tuple[Any, Make, Make]:
        """One of several constants: the leaf says which one."""
        position = len(self.leaves)
        self.leaves.append(Leaf(paddle.int64, [], None, True))
        self.tables[position] = table
        self.has_text = True

        def chosen(leaves: list[Any]) -> Any:
            result = table[-1]
            for index in reversed(range(len(table) - 1)):
                result = Choice(leaves[position] == index, table[index], result, "item")
            return result

        return "label", chosen, lambda leaves: table[int(leaves[position])]

    def _tag(self, position: int, item: Any) -> Any:
        """Which of the constants ``item`` is, as a value; -1 for one that is not known yet."""
        places = {constant: index for index, constant in enumerate(self.tables[position])}
        if not isinstance(item, Choice):
            (constant, *_) = labels_of(item) or (None,)
            return paddle.full([], places.get(constant, -1), "int64")
        tag: Any = None
        for constant, holds in item.alternatives():
            mine = paddle.full([], places.get(constant, -1), "int64")
            tag = mine if tag is None else paddle.where(holds, mine, tag)
        return tag

    def _unknown(self, position: int, item: Any) -> list[Any]:
        """The constants of ``item`` that are not known yet."""
        return [each for each in labels_of(item) or () if each not in self.tables[position]]

    def build(self, leaves: list[Any]) -> Any:
        """An item of a program; a list or dict in it cannot be changed in place."""
        return self._build(leaves)

    def build_host(self, leaves: list[Any]) -> Any:
        """An item of the leaves that a run has given."""
        return self._host(leaves)

    def flatten(self, item: Any) -> list[Any]:
        """The leaves of ``item`` as values with the dtypes of this element."""
        other = Element(item)
        if other.form != self.form:
            raise error_here(
                ContainerInGraphError,
                "items of different structure are put into one list whose length a tensor decides",
                "give every item the same structure",
            )
        for mine, theirs in zip(self.leaves, other.leaves, strict=True):
            numbers = mine.kind is not None or theirs.kind is not None
            if mine.kind is not theirs.kind or (not numbers and mine.dtype != theirs.dtype):
                raise error_here(
                    ContainerInGraphError,
                    f"{_words(mine)} and {_words(theirs)} are put into one list whose length a "
                    "tensor decides",
                    "give every item the same type",
                )
            if len(mine.shape) != len(theirs.shape):
                raise error_here(
                    ContainerInGraphError,
                    f"tensors of shape {mine.shape} and of shape {theirs.shape} are put into one "
                    "list whose length a tensor decides",
                    "give every item the same number of dimensions",
                )
        return [
            self._tag(position, part)
            if position in self.tables
            else cast_plain(_leaf(part), self.leaves[position].dtype)
            for position, part in enumerate(leaves_of(item))
        ]

    def relaxed(self, item: Any) -> Any | None:
        """``item`` where it shows that a dimension or gradient differs between items."""
        for position, (part, leaf) in enumerate(zip(leaves_of(item), self.leaves, strict=True)):
            if position in self.tables:
                if self._unknown(position, part):
                    return item
                continue
            value = _leaf(part)
            if not value.stop_gradient and leaf.stop_gradient:
                return item
            if any(a not in (b, -1) for a, b in zip(leaf.shape, value.shape, strict=True)):
                return item
        return None

    def widen(self, item: Any) -> None:
        """Let dimensions that differ in ``item`` be open, and gradients through."""
        for position, (part, leaf) in enumerate(zip(leaves_of(item), self.leaves, strict=True)):
            if position in self.tables:
                self.tables[position].extend(self._unknown(position, part))
                continue
            value = _leaf(part)
            shape = [a if a == b else -1 for a, b in zip(leaf.shape, value.shape, strict=True)]
            stop = leaf.stop_gradient and value.stop_gradient
            self.leaves[position] = leaf._replace(shape=shape, stop_gradient=stop)


def _words(leaf: Leaf) -> str:
    name = str(leaf.dtype).rsplit(".", 1)[-1]
    if leaf.kind is not None:
        return f"a Python {leaf.kind.__name__}"
    return f"{'an' if name[0] == 'i' else 'a'} {name} tensor"


def _parts(item: Any) -> tuple[type, tuple[Any, ...], list[Any]] | None:
    """Type, keys and parts of an item that is a structure."""
    if isinstance(item, DynamicList):
        raise error_here(
            ContainerInGraphError,
            "a list whose length a tensor decides is put into another one",
            "stack it first, or put it into a tuple or dict outside of the loop",
        )
    found = maybe(item)
    if found is not None:
        return Maybe, (), [found.absent, found.present]
    if type(item) is HostText and all(_is_plain_part(part) for part in item.parts):
        keys = tuple((None, "") if isinstance(part, str) else part[1:] for part in item.parts)
        return HostText, keys, [p if isinstance(p, str) else p[0] for p in item.parts]
    if type(item) in (tuple, list, FixedList) or (
        isinstance(item, tuple) and hasattr(item, "_make")
    ):
        return (list if type(item) is FixedList else type(item)), (len(item),), list(item)
    if type(item) in (dict, FixedDict):
        return dict, tuple(item), list(item.values())
    return None


def _is_plain_part(part: Any) -> bool:
    """Whether a part of a text is text, or something that is formatted in a constant way."""
    return isinstance(part, str) or all(each is None or isinstance(each, str) for each in part[1:])


def _text(keys: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    """The parts of a text, of how they are formatted and what they are."""
    return tuple((part, *key) for part, key in zip(parts, keys, strict=True))


def _maker(kind: type, keys: tuple[Any, ...]) -> Callable[[list[Any], bool], Any]:
    if kind is Maybe:
        return lambda parts, fixed: (
            Choice(parts[0], None, parts[1], "item") if fixed else None if parts[0] else parts[1]
        )
    if kind is HostText:
        return lambda parts, fixed: (HostText if fixed else formatted_text)(_text(keys, parts))
    if kind is list:
        return lambda parts, fixed: FixedList(parts) if fixed else parts
    if kind is dict:
        return lambda parts, fixed: (FixedDict if fixed else dict)(zip(keys, parts, strict=True))
    if hasattr(kind, "_make"):
        return lambda parts, fixed: kind._make(parts)
    return lambda parts, fixed: tuple(parts)


def _leaf(item: Any) -> Any:
    if isinstance(item, Choice):
        item = item.get()
    if not (is_tensor(item) or number_kind(item) is not None):
        raise error_here(
            ContainerInGraphError,
            f"a value of type {type(item).__name__!r} is put into a list whose length a tensor "
            "decides",
            "put tensors, numbers or tuples of them into it",
        )
    return as_value(item)


def leaves_of(item: Any) -> list[Any]:
    """The leaves of an item: tensors, numbers and constants."""
    parts = None if labels_of(item) is not None else _parts(item)
    if parts is None:
        return [item]
    return [leaf for part in parts[2] for leaf in leaves_of(part)]


def _fixed(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        raise error_here(
            ContainerInGraphError,
            f"a {name} that is an item of a list whose length a tensor decides is changed in place",
            "make a new one, and assign it to the place in the list",
        )

    return method


class FixedList(list[Any]):
    """A list that was read out of a growing one: a change in place would be lost."""

    d2s_plain = list


class FixedDict(dict[Any, Any]):
    """A dict that was read out of a growing list: a change in place would be lost."""

    d2s_plain = dict


for _name in (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(FixedList, _name, _fixed("list"))
for _name in (
    "pop", "popitem", "clear", "update", "setdefault", "__setitem__", "__delitem__", "__ior__",
):  # fmt: skip
    setattr(FixedDict, _name, _fixed("dict"))


def _int(value: Any) -> Any:
    """An index, which may be a tensor, as a 0-D int64 value."""
    if isinstance(value, Choice):
        value = value.get()
    if number_kind(value) is float:
        raise TypeError("list indices must be integers or slices, not float")
    value = cast_plain(as_value(value), "int64")
    return paddle.reshape(value, []) if list(value.shape) else value


def _opened(row: Any, shape: list[int]) -> Any:
    """``row`` with an open first dimension and ``shape`` behind it."""
    return _relaxed(row, [-1, *shape])


class DynamicList:
    """See the module's text.

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
        self.arrays: list[Any] = []
        self.rows: list[Any] | None = None
        self.origin: list[Any] | None = None
        self.pending: list[tuple[Any, Any]] = []
        self.home = 0
        self.carried = 0
        self.frozen = False
        self._length: Any = None

    @staticmethod
    def of(items: list[Any], name: str, like: Any = None, *, arrays: bool = False) -> DynamicList:
        """A growing list with the items of a Python list, made at the present place.

        Args:
            items: the items so far.
            name: the variable.
            like: an item that shows structure and differentiability, when it is known better
                than from ``items``.
            arrays: begin in the form of arrays, for a loop that appends.
        """
        if arrays and DynamicList._described(items, name, like).element.has_text:
            arrays = False
        if not arrays:
            made = DynamicList.for_items(items, name, like)
            if items:
                made._concat(items)
            return made
        made = DynamicList._described(items, name, like)
        made._length = mark_number(paddle.full([], 0, "int64"), int)
        zero = paddle.full([], 0, "int64")
        for dtype, shape, _, stop_gradient in made.element.leaves:
            array = paddle.tensor.create_array(str(dtype).rsplit(".", 1)[-1])
            array.stop_gradient = stop_gradient
            filler = paddle.zeros([max(size, 1) if size else 0 for size in shape], dtype)
            filler.stop_gradient = stop_gradient
            if any(size < 0 for size in shape):
                bridge.relax(filler, shape)
            paddle.tensor.array_write(filler, zero, array)
            made.arrays.append(array)
        for item in items:
            made._write(item, True)
        return made

    @staticmethod
    def for_items(items: list[Any], name: str, like: Any = None) -> DynamicList:
        """An empty list, in the form of rows, that any of these items may be put into.

        Args:
            items: what shows dtypes, shapes and gradients; none of them is read.
            name: the variable.
            like: see :meth:`of`.
        """
        made = DynamicList._described(items, name, like)
        made.rows = [_no_rows(leaf) for leaf in made.element.leaves]
        return made

    @staticmethod
    def _described(items: list[Any], name: str, like: Any) -> DynamicList:
        """A list made at the present place for these items, which has no form yet."""
        element = Element(items[0] if like is None else like)
        for item in items:
            element.flatten(item)
            element.widen(item)
        made = DynamicList(name, element)
        capture = current()
        made.home = 0 if capture is None else len(capture.blocks)
        return made

    def like(self, rows: list[Any], name: str | None = None) -> DynamicList:
        """A list of its own with other rows."""
        made = DynamicList(name or self.name, self.element)
        capture = current()
        made.home = 0 if capture is None else len(capture.blocks)
        made._set(rows)
        return made

    def _set(self, rows: list[Any]) -> None:
        self.arrays, self._length = [], None
        self.rows = [
            _opened(row, leaf.shape) for row, leaf in zip(rows, self.element.leaves, strict=True)
        ]

    # -- snapshots, for branches and loops -------------------------------------------------------

    def d2s_freeze(self) -> tuple[Any, ...]:
        """What :meth:`d2s_thaw` needs."""
        if self.arrays and not self.carried and self.rows is None and not self._in_branch():
            self.rows = self._stacked()  # inside of a branch or loop it would be too late
        rows = None if self.rows is None else tuple(self.rows)
        return (tuple(self.arrays), self._length, tuple(self.pending), self.element, rows)

    def d2s_thaw(self, items: tuple[Any, ...]) -> None:
        """Go back to a snapshot."""
        arrays, self._length, pending, self.element, rows = items
        self.arrays, self.pending = list(arrays), list(pending)
        self.rows = None if rows is None else list(rows)

    def d2s_values(self) -> list[Any]:
        """The values that it is made of."""
        return [*self.arrays, *(self.rows or [])]

    def hold(self, arrays: list[Any], length: Any) -> None:
        """Take over arrays that a loop has carried."""
        self.arrays, self._length, self.rows, self.pending = arrays, length, None, []

    def hold_rows(self, rows: list[Any]) -> None:
        """Take over rows that a loop has carried."""
        self.pending = []
        self._set(rows)

    def holds_still(self, before: tuple[Any, ...]) -> bool:
        """Whether the items are those of a snapshot."""
        arrays, length, pending, _, rows = before
        if len(self.pending) != len(pending):
            return False
        if self.arrays:
            return self._length is length
        mine = self.rows or []
        if arrays and rows is None:
            return False
        return len(mine) == len(rows or ()) and all(
            a is b for a, b in zip(mine, rows or (), strict=True)
        )

    def widen_for(self, item: Any) -> None:
        """Be prepared for items like ``item``."""
        if self.element.relaxed(item) is not None:
            rows = self.need_rows()
            self.element.widen(item)
            self._set(rows)

    def sample(self) -> Any:
        """An item of zeros."""
        leaves = []
        for leaf in self.element.leaves:
            made = paddle.zeros([max(size, 1) if size else 0 for size in leaf.shape], leaf.dtype)
            made.stop_gradient = leaf.stop_gradient
            leaves.append(_relaxed(made, leaf.shape))
        return self.element.build(leaves)

    # -- the two forms ---------------------------------------------------------------------------

    def _in_branch(self) -> bool:
        capture = current()
        return capture is not None and len(capture.blocks) > self.home

    def _stacked(self) -> list[Any]:
        """What the arrays hold, as rows."""
        rows = []
        for array, leaf in zip(self.arrays, self.element.leaves, strict=True):
            whole = _sharing(bridge.array_to_tensor(array), [array])
            whole.stop_gradient = array.stop_gradient
            part = paddle.slice(whole, [0], [0], [self._length])
            rows.append(_opened(_joined([_no_rows(leaf), part]), leaf.shape))
        return rows

    def need_rows(self) -> list[Any]:
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

    def _change(self) -> list[Any]:
        """The rows, about to be changed."""
        if self.frozen:
            raise AttributeError("'tuple' object cannot be changed")
        return self.need_rows()

    @property
    def length(self) -> Any:
        """The number of items, a 0-D int64 value that stands for a Python int."""
        if self._length is not None and not self.pending:
            return self._length
        (row, *_) = self.need_rows()
        return mark_number(paddle.shape(row)[0].astype("int64") - 1, int)

    # -- growing ---------------------------------------------------------------------------------

    def append(self, item: Any) -> None:
        """``list.append``."""
        if self.frozen:
            raise AttributeError("'tuple' object has no attribute 'append'")
        self.element.flatten(item)
        self._widen(item)
        if self.arrays and self.carried:
            if self._in_branch():
                self.pending.append((item, True))
            else:
                self._write(item, True)
            return
        self._concat([item])

    def _widen(self, item: Any) -> None:
        """Take in that ``item`` differs from the others in a dimension, or is differentiable."""
        if self.element.relaxed(item) is None:
            return
        capture = current()
        if capture is not None and any(block.kind == "loop" for block in capture.blocks):
            raise NeedsElementError(self, item)  # to be known from before the loop on
        self.need_rows()
        self.element.widen(item)

    def _write(self, item: Any, counts: Any) -> None:
        for array, leaf in zip(self.arrays, self.element.flatten(item), strict=True):
            paddle.tensor.array_write(carried(leaf), self._length, array)
        step = paddle.full([], 1, "int64") if counts is True else paddle.cast(counts, "int64")
        self._length = mark_number(self._length + step, int)

    def _concat(self, items: list[Any]) -> None:
        """Put ``items`` behind the rows."""
        rows = self._change()
        leaves = [self.element.flatten(item) for item in items]
        self._set(
            [
                _joined([row, *(self._row(item[position], position) for item in leaves)])
                for position, row in enumerate(rows)
            ]
        )

    def settle(self, pending: list[tuple[Any, Any]]) -> None:
        """Write the items that a branch has left, or leave them to the branch around."""
        if self._in_branch():
            self.pending.extend(pending)
            return
        for item, counts in pending:
            self._write(item, counts)

    def extend(self, items: Any) -> None:
        """``list.extend``."""
        other = self._operand(items)
        if other is None:
            for item in list(items):
                self.append(item)
            return
        mine, theirs = self._change(), other.items()
        self._set([_joined(list(pair)) for pair in zip(mine, theirs, strict=True)])

    def _operand(self, items: Any) -> DynamicList | None:
        """``items`` as a list like this one when the run decides how many they are."""
        if is_tensor(items):
            value = as_value(items)
            if not list(value.shape) or value.shape[0] >= 0:
                return None
            return of_tensor(value, self.name)
        if not hasattr(type(items), "d2s_growing"):
            return None
        other: DynamicList = items.d2s_growing()
        other.need_rows()
        if other.element.form != self.element.form:
            raise error_here(
                ContainerInGraphError,
                "lists with items of different structure are joined",
                "give every item the same structure",
            )
        for mine, theirs in zip(self.element.leaves, other.element.leaves, strict=True):
            if mine.dtype != theirs.dtype or mine.kind is not theirs.kind:
                raise error_here(
                    ContainerInGraphError,
                    f"a list of {_words(mine)} and a list of {_words(theirs)} are joined, whose "
                    "lengths tensors decide",
                    "give every item the same type",
                )
        return other

    def d2s_growing(self) -> DynamicList:
        """Itself, where a list is wanted whose length the run decides."""
        return self

    def __iadd__(self, items: Any) -> DynamicList:
        self.extend(items)
        return self

    def __add__(self, items: Any) -> DynamicList:
        if isinstance(items, tuple):
            raise TypeError(f'can only concatenate list (not "{type(items).__name__}") to list')
        if not (type(items) is list or isinstance(items, DynamicList)):
            return NotImplemented
        made = self.copy()
        made.extend(items)
        return made

    def __radd__(self, items: Any) -> DynamicList:
        if isinstance(items, tuple):
            raise TypeError('can only concatenate tuple (not "list") to tuple')
        if type(items) is not list:
            return NotImplemented
        made = self.like([_no_rows(leaf) for leaf in self.element.leaves])
        made.extend(items)
        made.extend(self)
        return made

    def __mul__(self, count: Any) -> DynamicList:
        times = _int(count)
        times = paddle.where(times < 0, paddle.zeros_like(times), times)
        length = self.length
        return self._picked(paddle.arange(0, length * times, dtype="int64") % _atleast_one(length))

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> DynamicList:
        self._set((self * count).need_rows())
        return self

    # -- reading ---------------------------------------------------------------------------------

    def _position(self, index: Any, message: str = "list index out of range") -> Any:
        position, length = _int(index), self.length
        position = paddle.where(position < 0, position + length, position)
        outside = (position < 0) | (position >= length)
        raise_when(outside, IndexError(message))
        return position

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        if self.arrays and self.carried and not self._in_branch() and self._constant():
            return self._read(self._position(index))
        return self._item(self._position(index))

    def _constant(self) -> bool:
        """Whether no gradient goes through the items."""
        return not wants_gradients() or all(leaf.stop_gradient for leaf in self.element.leaves)

    def _item(self, position: Any) -> Any:
        return self.element.build([row[position + 1] for row in self.need_rows()])

    def _read(self, position: Any) -> Any:
        """An item out of the arrays."""
        leaves = []
        for array, (_, shape, _, stop_gradient) in zip(
            self.arrays, self.element.leaves, strict=True
        ):
            leaf = paddle.tensor.array_read(array, position)
            if list(leaf.shape) != shape:
                bridge.relax(leaf, shape)
            leaf.stop_gradient = stop_gradient
            leaves.append(leaf)
        return self.element.build(leaves)

    def _picked(self, order: Any) -> DynamicList:
        """The items at the positions that the 1-D tensor ``order`` holds."""
        places = paddle.concat([paddle.zeros([1], "int64"), order + 1])
        rows = self.need_rows()
        return self.like([_sharing(paddle.gather(row, places), [row]) for row in rows])

    def where(self, flags: Any) -> DynamicList:
        """The items for which the 1-D bool tensor ``flags`` holds."""
        return self._picked(paddle.reshape(paddle.nonzero(flags), [-1]))

    def items(self) -> list[Any]:
        """The rows of the items."""
        end = self.length + 1
        return [
            _opened(paddle.slice(row, [0], [1], [end]), leaf.shape)
            for row, leaf in zip(self.need_rows(), self.element.leaves, strict=True)
        ]

    def _bounds(self, key: slice) -> tuple[Any, Any]:
        """Start and stop of a slice of step 1, between 0 and the length."""
        length = self.length

        def bound(value: Any, default: Any) -> Any:
            if value is None:
                return default
            value = _int(value)
            value = paddle.where(value < 0, value + length, value)
            value = paddle.where(value < 0, paddle.zeros_like(value), value)
            return paddle.minimum(value, length)

        start = bound(key.start, paddle.full([], 0, "int64"))
        return start, paddle.maximum(start, bound(key.stop, length))

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
        if step > 0:
            start, stop = self._bounds(key)
        elif key.start is None and key.stop is None:
            start, stop = self.length - 1, paddle.full([], -1, "int64")
        else:
            # l[a:b:-s] is the part from b + 1 to a, every s-th from its end.
            stop, start = self._bounds(
                slice(
                    None if key.stop is None else _after(key.stop, self.length),
                    None if key.start is None else _after(key.start, self.length),
                )
            )
            start, stop = start - 1, stop - 1
        return self._picked(paddle.arange(start, stop, step, dtype="int64"))

    def _part(self, start: Any, stop: Any) -> DynamicList:
        return self.like(
            [
                _joined([row[:1], paddle.slice(row, [0], [start + 1], [stop + 1])])
                for row in self.need_rows()
            ]
        )

    def d2s_len(self) -> Any:
        """``len``: a 0-D value that stands for a Python int."""
        return self.length

    def d2s_condition(self) -> Any:
        """A list is true when it is not empty."""
        return self.length > 0

    def _equal(self, item: Any) -> Any:
        """For each item whether it equals ``item``, a 1-D tensor."""
        (row, *others) = self.items()
        if self.element.form == "label":
            if labels_of(item) is None:
                return paddle.full_like(row, False, "bool")
            return (row == self.element.flatten(item)[0]) & (row >= 0)
        if (
            others
            or self.element.form is not None
            or not (is_tensor(item) or number_kind(item) is not None or isinstance(item, Choice))
        ):
            raise error_here(
                ContainerInGraphError,
                f"tuples are compared with the items of {self.name!r}, whose length a tensor "
                "decides",
                "keep a list of what is compared",
            )
        leaf = self.element.leaves[0]
        if any(size > 1 for size in (*leaf.shape, *getattr(item, "shape", ()))):
            raise error_here(
                ContainerInGraphError,
                f"tensors of shape {leaf.shape} are compared in {self.name!r}, which needs one "
                "element",
                "compare with stacked tensors, and say how with .all() or .any()",
            )
        same = row == item
        return paddle.reshape(same, [-1])

    def __contains__(self, item: Any) -> bool:
        raise error_here(
            ContainerInGraphError,
            f"'in' asks code that stays Python about {self.name!r}, whose length a tensor decides",
            "ask in a converted function",
        )

    def contains(self, item: Any) -> Any:
        """``item in list``."""
        if labels_of(item) is not None and self.element.form is None:
            return False  # the items are tensors and numbers
        return mark_number(self._equal(item).any(), bool)

    def count(self, item: Any) -> Any:
        """``list.count``."""
        return mark_number(paddle.cast(self._equal(item), "int64").sum(), int)

    def index(self, item: Any, *bounds: Any) -> Any:
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
        return self.like(list(self.need_rows()))

    def d2s_tuple(self) -> DynamicList:
        """``tuple``."""
        made = self.copy()
        made.frozen = True
        return made

    def __eq__(self, other: object) -> Any:
        if type(other) is list and not other:
            return mark_number(self.length == 0, bool)
        if other is self:
            return True
        if not isinstance(other, list | DynamicList):
            return NotImplemented
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
        return self.element.form is None and self.element.leaves[0].kind is not None

    def _numbers_of(self, other: Any) -> DynamicList | None:
        """``other`` as a list like this one, if it is one of numbers."""
        if isinstance(other, DynamicList):
            return other if other._is_of_numbers() and other.frozen is self.frozen else None
        if not all(number_kind(item) is not None for item in other) or self.frozen:
            return None
        kinds = {number_kind(item) for item in other}
        widest = float if float in kinds else int if int in kinds else bool
        same = [cast_plain(as_value(item), NUMBER_DTYPES[widest]) for item in other]
        return DynamicList.of([mark_number(item, widest) for item in same], "list")

    def _equals(self, other: DynamicList) -> Any:
        """Whether both have the same numbers, as a 0-D bool value."""
        size = paddle.minimum(self.length, other.length)
        zero = paddle.full([], 0, "int64")
        mine, theirs = (each._part(zero, size).items()[0] for each in (self, other))
        kinds = [each.element.leaves[0].kind for each in (self, other)]
        dtype = NUMBER_DTYPES[float if float in kinds else int]
        equal = cast_plain(mine, dtype) == cast_plain(theirs, dtype)
        return paddle.logical_and(equal.all(), self.length == other.length)

    def __ne__(self, other: object) -> Any:
        same = self == other
        return mark_number(paddle.logical_not(same), bool) if is_tensor(same) else not same

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:
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

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "d2s_")) or not hasattr(list, name):
            raise AttributeError(f"'list' object has no attribute {name!r}")
        raise error_here(
            ContainerInGraphError,
            f"list.{name} is called on {self.name!r}, whose length a tensor decides",
            "stack the list first",
        )

    # -- changing --------------------------------------------------------------------------------

    def _spliced(self, start: Any, stop: Any, between: list[list[Any]]) -> None:
        """Put the rows of ``between`` in the place of those from ``start`` to ``stop``."""
        rows = self._change()
        end = self.length + 1
        self._set(
            [
                _joined(
                    [
                        paddle.slice(row, [0], [0], [start + 1]),
                        *(part[position] for part in between),
                        paddle.slice(row, [0], [stop + 1], [end]),
                    ]
                )
                for position, row in enumerate(rows)
            ]
        )

    def _row_of(self, item: Any) -> list[Any]:
        """``item`` as the rows of a list of it alone."""
        leaves = self.element.flatten(item)
        self._widen(item)
        return [self._row(leaf, position) for position, leaf in enumerate(leaves)]

    def _row(self, leaf: Any, position: int) -> Any:
        """The leaf of an item at ``position`` as a row; one of a number is nobody else's."""
        row = paddle.unsqueeze(leaf, 0)
        return row if self.element.leaves[position].kind is None else _sharing(row, [])

    def __setitem__(self, index: Any, item: Any) -> None:
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
            parts = [other.items()] if other is not None else list(map(self._row_of, item))
            self._spliced(start, stop, parts)
            return
        position = self._position(index, "list assignment index out of range")
        self._spliced(position, position + 1, [self._row_of(item)])

    def __delitem__(self, index: Any) -> None:
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

    def insert(self, index: Any, item: Any) -> None:
        """``list.insert``."""
        self._change()
        (start, _) = self._bounds(slice(index, None))
        self._spliced(start, start, [self._row_of(item)])

    def pop(self, index: Any = -1) -> Any:
        """``list.pop``."""
        rows = self._change()
        length = self.length
        raise_when(length == 0, IndexError("pop from empty list"))
        if type(index) is int and index in (-1, 0):
            position = length - 1 if index else paddle.full([], 0, "int64")
        else:
            position = self._position(index, "pop index out of range")
        item = self._item(position)
        if type(index) is int and index == -1:
            self._set([paddle.slice(row, [0], [0], [length]) for row in rows])
        else:
            self._spliced(position, position + 1, [])
        return item

    def remove(self, item: Any) -> None:
        """``list.remove``."""
        same = self._equal(item)
        raise_when(~same.any(), ValueError("list.remove(x): x not in list"))
        del self[paddle.argmax(paddle.cast(same, "int64"))]

    def clear(self) -> None:
        """``list.clear``."""
        self._set([row[:1] for row in self._change()])

    def reverse(self) -> None:
        """``list.reverse``."""
        rows = self._change()
        items = zip(rows, self.items(), strict=True)
        self._set(
            [_joined([row[:1], _sharing(paddle.flip(part, [0]), [part])]) for row, part in items]
        )

    def ordered(self, keys: DynamicList, reverse: bool) -> DynamicList:
        """The items by the numbers of ``keys``; equals stay as they are, also in reverse."""
        (row, *others) = keys.items()
        if others or keys.element.form is not None or any(s > 1 for s in row.shape[1:]):
            raise error_here(
                ContainerInGraphError,
                f"{self.name!r}, whose length a tensor decides, is sorted by something else than "
                "one number for each item",
                "give a key that is a number or a tensor of one element",
            )
        order = paddle.argsort(paddle.reshape(row, [-1]), descending=reverse, stable=True)
        return self._picked(order)

    def replace(self, other: DynamicList) -> None:
        """Hold the items of ``other``."""
        self._change()
        self._set(list(other.need_rows()))

    # -- as tensors ------------------------------------------------------------------------------

    def stacked(self, leaf: int = 0) -> Any:
        """The items (one leaf of each) along a new first axis, as many as there are."""
        if self.element.has_text:
            raise error_here(
                ContainerInGraphError,
                f"tensors are wanted of {self.name!r}, whose length a tensor decides, and which "
                "holds other things, too",
                "put the tensors into a list of their own",
            )
        return _sharing(self.items()[leaf], [])  # a copy of what the items are

    def d2s_shown(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        """The items stacked, leaf by leaf, and what makes the list of a run's stacks."""
        element = self.element
        kinds = [leaf.kind for leaf in element.leaves]
        make = tuple if self.frozen else list

        def build(stacks: list[Any]) -> Any:
            columns = []
            for stacked, kind in zip(stacks, kinds, strict=True):
                rows = paddle.unbind(stacked) if stacked.shape[0] else []
                columns.append(rows if kind is None else [kind(row.item()) for row in rows])
            return make(element.build_host(list(row)) for row in zip(*columns, strict=True))

        return self.items(), build

    def __repr__(self) -> str:
        return "<list that grows on the run>"


def repeated(things: Any, times: Any) -> Any:
    """``things * times`` of a list, tuple or text, where the run knows how many times."""
    if isinstance(things, str):
        return HostText((things,)) * times
    if not things:
        return things[:]
    made = DynamicList.of(list(things), "list") * times
    return made.d2s_tuple() if isinstance(things, tuple) else made


def of_tensor(value: Any, name: str) -> DynamicList:
    """The rows of a tensor as a list."""
    element = Element(
        paddle.zeros([1 if size < 0 else size for size in value.shape[1:]], value.dtype)
    )
    element.leaves[0] = element.leaves[0]._replace(
        shape=list(value.shape[1:]), stop_gradient=value.stop_gradient
    )
    return of_columns(element, [value], name)


def of_columns(element: Element, columns: list[Any], name: str) -> DynamicList:
    """A list of items like ``element``, whose leaves are the rows of ``columns``."""
    pairs = zip(element.leaves, columns, strict=True)
    return DynamicList(name, element).like(
        [_joined([_no_rows(leaf), column]) for leaf, column in pairs]
    )


def _no_rows(leaf: Leaf) -> Any:
    """The rows of no item: one that nobody reads."""
    made = paddle.zeros([1, *(max(size, 1) if size else 0 for size in leaf.shape)], leaf.dtype)
    made.stop_gradient = leaf.stop_gradient
    return _opened(made, leaf.shape)


def _relaxed(value: Any, shape: list[int]) -> Any:
    if list(value.shape) != shape:
        bridge.relax(value, shape)
    return value


def _joined(rows: list[Any]) -> Any:
    made = paddle.concat([_fitted(rows[0], rows[-1]), *rows[1:]])
    made.stop_gradient = all(row.stop_gradient for row in rows)
    return _sharing(made, rows)


def _sharing(made: Any, parts: list[Any]) -> Any:
    """``made``, which holds the very tensors of ``parts`` in dygraph; of none, it is a copy."""
    capture = current()
    if capture is not None:
        capture.sharing[made.id] = (made, parts)
    return made


def _fitted(first: Any, other: Any) -> Any:
    """``first``, with the open dimensions of ``other`` where it has the row of no item only.

    That row is made before any item is there to tell how long an open dimension is.
    """
    if first is other or all(size >= 0 for size in first.shape[1:]):
        return first
    alone = paddle.shape(first)[0] == 1
    sizes = [
        size
        if size >= 0
        else paddle.where(alone, paddle.shape(other)[axis], paddle.shape(first)[axis])
        for axis, size in enumerate(first.shape)
        if axis
    ]
    made = paddle.expand(first, [-1, *sizes])
    made.stop_gradient = first.stop_gradient
    return _relaxed(made, list(first.shape))


def _atleast_one(length: Any) -> Any:
    return paddle.maximum(length, paddle.full([], 1, "int64"))


def _after(bound: Any, length: Any) -> Any:
    """The place behind the item at ``bound``, as a bound that is not negative."""
    place = _int(bound)
    place = paddle.where(place < 0, place + length, place)
    return paddle.maximum(place, paddle.full([], -1, "int64")) + 1


# -- branches ------------------------------------------------------------------------------------


def join_lists(
    merger: Any, target: DynamicList, true: tuple[Any, ...], false: tuple[Any, ...]
) -> Callable[[list[Any]], Any]:
    """The list after a branch.

    Args:
        merger: the branch.
        target: the list.
        true, false: what :meth:`DynamicList.d2s_freeze` gave at the end of each side.
    """
    if true[0] and false[0]:
        return _join_pending(merger, target, true, false)
    sides = [snapshot[4] for snapshot in (true, false)]
    element = true[3]
    if all(left is right for left, right in zip(*sides, strict=True)):
        rows = list(sides[0])
        return lambda results: _with(target, element, rows)
    outputs = [
        _output(merger, leaf, left, right)
        for leaf, left, right in zip(element.leaves, *sides, strict=True)
    ]
    return lambda results: _with(target, element, [output(results) for output in outputs])


def _output(merger: Any, leaf: Leaf, true: Any, false: Any) -> Any:
    copies = [merger.copied(True, true), merger.copied(False, false)]
    return merger.output(*(_opened(copy, leaf.shape) for copy in copies))


def _with(target: DynamicList, element: Element, rows: list[Any]) -> DynamicList:
    target.element = element
    target.pending = []
    target._set(rows)
    return target


def _join_pending(
    merger: Any, target: DynamicList, true: tuple[Any, ...], false: tuple[Any, ...]
) -> Callable[[list[Any]], Any]:
    """The list after a branch whose sides have left different pending items."""
    base = len(target.pending)
    sides = list(true[2][base:]), list(false[2][base:])
    builders = []
    for position in range(max(len(sides[0]), len(sides[1]))):
        entries = [side[position] if position < len(side) else None for side in sides]
        if entries[0] is not None and entries[1] is not None:
            item = _pending_item(merger, target, entries[0][0], entries[1][0])
            counts = _counts(merger, entries[0][1], entries[1][1])
        else:
            which = entries[0] is not None
            thing, valid = entries[0] or entries[1] or (None, False)
            item = merger.kept(which, _as_values(merger, which, thing))
            counts = _counts(merger, *((valid, False) if which else (False, valid)))
        builders.append((item, counts))

    def build(results: list[Any]) -> DynamicList:
        target.settle([(item(results), counts(results)) for item, counts in builders])
        return target

    return build


def _counts(merger: Any, true: Any, false: Any) -> Callable[[list[Any]], Any]:
    """Whether an item counts, from whether it does on each side."""
    if true is True and false is True:
        return lambda results: True
    built: Callable[[list[Any]], Any] = merger.output(
        merger.as_flag(True, true), merger.as_flag(False, false)
    )
    return built


def _pending_item(merger: Any, target: DynamicList, true: Any, false: Any) -> Any:
    """The item that one side or the other has left: leaf by leaf, as the element says."""
    element = target.element
    pairs = [
        merger.on(side, lambda item=item: element.flatten(item))
        for side, item in ((True, true), (False, false))
    ]
    outputs = [
        merger.output(
            merger.copied(True, left),
            merger.copied(False, right),
            leaf.kind,
        )
        for left, right, leaf in zip(*pairs, element.leaves, strict=True)
    ]
    return lambda results: element.build([output(results) for output in outputs])


def _as_values(merger: Any, side: bool, item: Any) -> Any:
    """``item`` with its numbers and dygraph tensors made values of ``side``."""
    if type(item) in (tuple, list):
        return type(item)(_as_values(merger, side, part) for part in item)
    if type(item) is dict:
        return {key: _as_values(merger, side, part) for key, part in item.items()}
    return merger.on(side, lambda: _leaf(item))


def join_different(
    merger: Any, true: Any, false: Any, name: str
) -> Callable[[list[Any]], Any] | None:
    """A growing list of one side and another list of the other, as one; ``None``: impossible."""
    target = true.container if isinstance(true.container, DynamicList) else false.container
    others = [snapshot.container for snapshot in (true, false) if snapshot.container is not target]
    if type(others[0]) not in (list, DynamicList):
        return None
    for container in (target, *others):
        known = names_of(container, name)
        if known:
            raise error_here(
                ContainerInGraphError,
                f"the list {name!r}, known as {known[0]!r} too, is one of two lists behind a "
                "tensor branch, whose lengths tensors decide",
                "use one name for it",
            )
    element: Element = target.element
    sides = []
    for side, snapshot in ((True, true), (False, false)):
        if isinstance(snapshot.container, DynamicList):
            rows = snapshot.items[4]
            if rows is None or snapshot.items[3].form != element.form:
                return None
        else:
            items = list(snapshot.items)
            with tentatively():
                try:
                    rows = merger.on(side, lambda items=items: rows_of(element, items))
                except ContainerInGraphError:
                    return None
        sides.append(rows)
    for row, other in zip(*sides, strict=True):
        if row.dtype != other.dtype:
            return None
    outputs = [
        _output(merger, leaf, left, right)
        for leaf, left, right in zip(element.leaves, *sides, strict=True)
    ]

    def build(results: list[Any]) -> DynamicList:
        made = DynamicList(name, element)
        made.origin = target.origin
        return made.like([output(results) for output in outputs])

    return build


def rows_of(element: Element, items: list[Any]) -> list[Any]:
    """The rows of a list with these items."""
    made = DynamicList("", element)
    made = made.like([_no_rows(leaf) for leaf in element.leaves])
    if items:
        made.extend(items)
    return made.need_rows()


def kept_list(merger: Any, side: bool, snapshot: Any) -> Callable[[list[Any]], Any]:
    """A list that only one side of a branch has, in a fresh one."""
    target, (_, _, _, element, rows) = snapshot.container, snapshot.items
    outputs = []
    for row in rows or ():
        mine, other = merger.copied(side, row), merger.placeholder(not side, row)
        outputs.append(merger.output(*((mine, other) if side else (other, mine))))

    def build(results: list[Any]) -> DynamicList:
        made = DynamicList(target.name, element)
        capture = current()
        made.home = 0 if capture is None else len(capture.blocks)
        made.frozen, made.origin = target.frozen, target.origin
        made._set([output(results) for output in outputs])
        return made

    return build
