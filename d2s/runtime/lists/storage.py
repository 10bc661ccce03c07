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
    tells whether it counts, and is written behind the ``if``; beyond the length stands anything.

A list that has left its loop gets rows as soon as somebody reads it: an array has one reader.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import is_known_besides
from d2s.runtime.aliasing.reach import comes_to
from d2s.runtime.aliasing.snapshots import note_placed
from d2s.runtime.lists import lending
from d2s.runtime.lists.items import fixed
from d2s.runtime.lists.items.elements import Element, OfRunLength, is_from_outside
from d2s.runtime.lists.items.fixed import Write, attach, owner_of_view, parts_within
from d2s.runtime.lists.items.lookers import Lookers
from d2s.runtime.lists.items.pools import are_one, wish_for
from d2s.runtime.lists.items.rows import joined, opened, sharing, zero_rows
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.trace import OnceMoreError, current, error_here
from d2s.runtime.values.tables import called
from d2s.runtime.values.tensors import carried, mark_number, passing_in, zeros_of
from d2s.runtime.values.tree import bare, entries, is_mutable

Store = TypeVar("Store", bound="ItemStore")


class NeedsElementError(OnceMoreError):
    """A Python list changes its length in a loop: the loop is captured again, prepared for it."""

    def __init__(self, target: object, element: Element) -> None:
        super().__init__()
        self.target = target
        self.element = element


class NeedsRowsError(OnceMoreError):
    """Something is asked of a list in a loop that its arrays cannot give."""

    def __init__(self, target: ItemStore) -> None:
        super().__init__()
        self.target = target


class ListSnapshot(NamedTuple):
    """What a list held at one time.

    Attributes:
        arrays, length, pending, element, rows, placed: those of :class:`ItemStore`.
    """

    arrays: tuple[paddle.Tensor, ...]
    length: paddle.Tensor | None
    pending: tuple[tuple[Any, Any], ...]
    element: Element
    rows: tuple[paddle.Tensor, ...] | None
    placed: bool


@passing_in
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
        view: the class of the view of a dict that it is to the reader, instead of a list.
        lookers: what shows it as it is now, while it does not change.
        model: an empty container of Python of the class that it stands for, if that is no list.
        writer: it is an item of another one, to which each change of it goes.
        moves: how often items may have got other places.
        shared: somebody else may know one of its items, a list or dict.
        placed: it has been put into another list, which does not see a change of it.
        refusal: what such a change raises where there is another reason.
        writing: what has become of an item is being written to its place.
        lent: what shows an item, with a mark that all have in common which show the same.
        lazy: the code of a generator expression, which Python would run item by item.
    """

    def __init__(self, name: str, element: Element) -> None:
        self.name = called(name)
        self.element: Element = element
        self.arrays: list[paddle.Tensor] = []
        self.rows: list[paddle.Tensor] | None = None
        self.origin: list[Any] | None = None
        self.pending: list[tuple[Any, Any]] = []
        self.home = 0
        self.carried = 0
        self.frozen = False
        self.view: type | None = None
        self.lookers = Lookers()
        self.model: Any = None
        self.writer: Write | None = None
        self.moves = 0
        self.shared = False
        self.placed = False
        self.refusal: Callable[[], Exception] | None = None
        self.writing = False
        self.lazy: tuple[Any, ...] = ()
        self.lent: list[tuple[Any, object]] = []
        self._length: paddle.Tensor | None = None

    @classmethod
    def of(
        cls: type[Store],
        items: list[Any],
        name: str,
        element: Element | None = None,
        *,
        arrays: bool = False,
        origin: list[Any] | None = None,
    ) -> Store:
        """A growing list with the items of a Python list, made at the present place.

        Args:
            items: the items so far.
            name: the variable.
            element: what is known of the items, and of those to come.
            arrays, origin: begin in the form of arrays; the list that it takes the place of.
        """
        made = cls.for_items(items, name, element)
        made.origin = origin
        if not arrays or made.element.wants_rows:
            if items:
                made._concat(items)
            return made
        made.rows = None
        made._length = mark_number(paddle.full([], 0, "int64"), int)
        zero = paddle.full([], 0, "int64")
        for leaf in made.element.leaves:
            array = paddle.tensor.create_array(str(leaf.dtype).rsplit(".", 1)[-1])
            array.stop_gradient = leaf.stop_gradient
            filler = zeros_of(leaf.shape, leaf.dtype)
            filler.stop_gradient = leaf.stop_gradient
            paddle.tensor.array_write(filler, zero, array)
            made.arrays.append(array)
        for item in items:
            made._write(item, True)
        return made

    @classmethod
    def of_container(
        cls: type[Store], container: Any, name: str, element: Element | None = None
    ) -> Store:
        """One with what a container of Python holds, and room for items of ``element``."""
        items = entries(container)
        made = cls.for_items(items, name, element)
        model = bare(container)
        made.model = None if type(model) is list else model
        if items:
            made._concat(items)
        return made

    @classmethod
    def for_items(
        cls: type[Store], items: list[Any], name: str, element: Element | None = None
    ) -> Store:
        """An empty list, in the form of rows, that any of these items may be put into.

        Args:
            items: what shows dtypes, shapes and gradients; none of them is read.
            name: the variable.
            element: see :meth:`of`.
        """
        known = [] if element is None else [element]
        joint = functools.reduce(union, [*known, *map(element_of, items)])
        made = cls._here(name, joint)
        made.rows = [zero_rows(leaf) for leaf in joint.leaves]
        return made

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

    def shell(self: Store) -> Store:
        """One of its kind, which holds nothing yet."""
        made = self._here(self.name, self.element)
        made.frozen, made.model = self.frozen, self.model
        return made

    def like(
        self: Store,
        rows: list[paddle.Tensor],
        name: str | None = None,
        element: Element | None = None,
    ) -> Store:
        """One of its kind with other rows."""
        made = self.shell()
        made.name, made.element = name or self.name, element or self.element
        self.share()
        made.share()
        made.set_rows(rows)
        return made

    def share(self) -> None:
        """Note that another list holds the objects of this one, too."""
        if self.element.has_objects:
            lending.settle(self)
            self.shared = True

    def set_rows(self, rows: list[paddle.Tensor]) -> None:
        """Hold other rows."""
        self.arrays, self._length = [], None
        self.rows = [
            opened(row, leaf.shape) for row, leaf in zip(rows, self.element.leaves, strict=True)
        ]
        self.moves += 1
        if self.writer is not None:
            self.writer(self)

    def d2s_freeze(self) -> tuple[Any, ...]:
        """The entries of a :class:`ListSnapshot`, in a tuple as the snapshots of others have."""
        if self.element.has_objects:
            lending.settle(self, deeper=False)
        if self.arrays and not self.carried and self.rows is None and not self._in_branch():
            self.rows = self._stacked()  # inside of a branch or loop it would be too late
        return self._snapshot()

    def _snapshot(self) -> tuple[Any, ...]:
        rows = None if self.rows is None else tuple(self.rows)
        pending = tuple(self.pending)
        return (tuple(self.arrays), self._length, pending, self.element, rows, self.placed)

    def d2s_thaw(self, items: tuple[Any, ...]) -> None:
        """Go back to a snapshot."""
        arrays, self._length, pending, self.element, rows, self.placed = items
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
        return self.d2s_same(items, self._snapshot())

    @staticmethod
    def d2s_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        """Whether two snapshots have the same items; a reader turns arrays into rows."""
        before, after = ListSnapshot(*one), ListSnapshot(*other)
        if not are_one(before.pending, after.pending):
            return False
        if before.arrays and after.arrays:
            return after.length is before.length
        if before.rows is None or after.rows is None:
            return False
        return are_one(before.rows, after.rows)

    def widen(self, element: Element) -> None:
        """Be prepared for items of another element, too."""
        joint = union(self.element, element)
        if joint != self.element:
            rows = joint.converted(self.element, iter(self.need_rows()))
            self.element = joint
            self.set_rows(rows)

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
            rows.append(opened(joined([zero_rows(leaf), part]), leaf.shape))
        return rows

    def need_rows(self) -> list[paddle.Tensor]:
        """The rows; from now on the list has this form only.

        Raises:
            NeedsRowsError: a loop under capture carries the arrays.
        """
        if not self.arrays:
            assert self.rows is not None
            if self.element.has_objects:
                lending.settle(self)
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
        self.check_placed()
        self.lookers.check(self.name)
        return self.need_rows()

    def check_placed(self) -> None:
        """Refuse a change that the list which this one has been put into would not see."""
        if self.placed:
            raise fixed.changed_in_another(self.name) if self.refusal is None else self.refusal()

    @property
    def length(self) -> paddle.Tensor:
        """The number of items, a 0-D int64 value that stands for a Python int."""
        if self._length is not None and not self.pending:
            return self._length
        row = self.need_rows()[0] if self.rows is None or self.arrays else self.rows[0]
        return mark_number(paddle.shape(row)[0].astype("int64") - 1, int)

    def append(self, item: object) -> None:
        """``list.append``."""
        if self.frozen:
            raise AttributeError("'tuple' object has no attribute 'append'")
        self.check_placed()
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
        """Take in that ``item`` differs from the others in its structure, sizes or gradient."""
        if item is self:
            raise error_here(
                ContainerInGraphError,
                f"{self.name!r}, whose length a tensor decides, is put into itself",
                "put a copy of it into it",
            )
        found = element_of(item)
        if union(self.element, found) == self.element:
            return
        capture = current()
        inside = [] if capture is None else capture.blocks[self.home :]
        if self.carried or any(block.kind == "loop" for block in inside):
            raise NeedsElementError(self, found)  # to be known from before the loop on
        self.widen(found)

    def _check_lazy(self, items: ItemStore) -> None:
        """Refuse items of a generator expression that sees this list grow by them."""
        if comes_to(items.lazy, self):
            raise error_here(
                ContainerInGraphError,
                f"a generator expression that {self.name!r} is extended by looks into it",
                "append in a for statement",
            )

    def _write(self, item: object, counts: object) -> None:
        if self.element.has_mutable:
            self._note_others(item)
        for array, leaf in zip(self.arrays, self.element.flatten(item), strict=True):
            paddle.tensor.array_write(carried(leaf), self._length, array)
        step = paddle.full([], 1, "int64") if counts is True else paddle.cast(counts, "int64")
        self._length = mark_number(self._length + step, int)

    def _concat(self, items: list[Any]) -> None:
        """Put ``items`` behind the rows."""
        self._join(list(map(self._rows_of, items)))

    def _join(self, parts: list[list[paddle.Tensor]]) -> None:
        """Put the rows of other lists behind these."""
        self.set_rows(self._joined([self._change(), *parts]))

    def _joined(self, parts: list[list[paddle.Tensor]]) -> list[paddle.Tensor]:
        """The rows of several lists, one behind the other."""
        return [
            joined(list(column), ragged=leaf.ragged)
            for column, leaf in zip(zip(*parts, strict=True), self.element.leaves, strict=True)
        ]

    def _rows_of(self, item: object) -> list[paddle.Tensor]:
        """``item`` as the rows of a list of it alone; one of a number is nobody else's."""
        if self.element.has_mutable:
            self._note_others(item)
        rows = [paddle.unsqueeze(leaf, 0) for leaf in self.element.flatten(item)]
        return [
            row if leaf.kind is None else sharing(row, [])
            for row, leaf in zip(rows, self.element.leaves, strict=True)
        ]

    def _note_others(self, item: Any) -> None:
        """Note that a list or dict in ``item`` is known under another name, too."""
        capture = current()
        if self.writing or capture is None:
            return
        if self.element.has_objects:
            lending.put_in(self, item)
        for part in parts_within(item):
            owner = owner_of_view(part)
            if owner is not None:
                owner.shared = self.shared = True
            elif isinstance(part, ItemStore):
                part.placed = True
            elif is_mutable(part) and (
                is_from_outside(part) or is_known_besides(part, self.origin)
            ):
                self.shared = True
                note_placed(part)

    def taken(self, item: Any, position: paddle.Tensor) -> Any:
        """``item``, read at ``position``, with what lets a list or dict in it be changed."""
        if not self.element.has_mutable:
            return item
        if self.element.has_objects:
            lending.lend(self, item, position)
        capture, moves, token = current(), self.moves, object()
        blocks = () if capture is None else tuple(capture.blocks)

        def write(new: Any) -> None:
            here = () if capture is None else tuple(capture.blocks)
            alive = [known for ref, known in self.lent if ref() is not None]
            if self.shared or self.moves != moves or here != blocks or set(alive) - {token}:
                raise self.cannot_write_back()
            self.write_back(new, position)

        def note(part: object) -> None:
            self.lent.append((weakref.ref(part), token))

        write.owner, write.note, write.token = self, note, token  # type: ignore[attr-defined]
        write.place = position, moves  # type: ignore[attr-defined]
        self.lent = [entry for entry in self.lent if entry[0]() is not None]
        for part in attach(item, write):
            note(part)
        return item

    def cannot_write_back(self) -> Exception:
        """The refusal to change an item in place, which this list would not see."""
        wish_for(self.element)
        return error_here(
            ContainerInGraphError,
            f"a list or dict that was taken out of {self.name!r}, whose length a tensor decides, "
            "is changed where another name may know it, or in a branch or loop of its own",
            f"change it as {self.name}[i].append(x), or assign a new one to its place",
        )

    def settle(self, pending: list[tuple[Any, Any]]) -> None:
        """Write the items that a branch has left, or leave them to the branch around."""
        if self._in_branch():
            self.pending.extend(pending)
            return
        for item, counts in pending:
            self._write(item, counts)
