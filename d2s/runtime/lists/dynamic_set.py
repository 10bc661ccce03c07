"""Sets whose items the run decides (rule D2).

The order of a set shows in its iteration, where it is a matter of hashes.  Python's own set has it:
one to which the run adds the items in their order, as long as the function has done nothing else
with its sets than to add to them; where it has, that is refused::

    for token in set(tokens):  ...      the run asks a set of Python's for the places of the items
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Collection, Set
from typing import Any

import numpy as np
import paddle

from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.lists.dynamic_dict import DynamicKeys, first_and_last
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element, OfRunLength
from d2s.runtime.lists.items.equality import equal_pairs
from d2s.runtime.lists.items.ordering import columns_of_order, places_in_order, ties
from d2s.runtime.lists.items.rows import columns_of
from d2s.runtime.lists.items.structures import OneOf
from d2s.runtime.trace import error_here, open_trace, tentatively
from d2s.runtime.values.callbacks import host_values, raise_when, raise_where
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import mark_number, passing_in


@passing_in
class DynamicSet(DynamicKeys):
    """A set whose items the run decides."""

    def iterated(self) -> DynamicList:
        element, sets = self.element, open_trace().sets
        tensors = any(leaf.kind is None for leaf in element.leaves) and not element.has_text
        if "otherwise" in sets or element.has_mutable or element.has_objects or tensors:
            raise _refused_order(self.name)
        sets.add("iterated")

        def order(*stacks: Any) -> list[Any]:
            columns = columns_of(list(stacks), element.leaves)
            items = [element.build(list(row), host=True) for row in zip(*columns, strict=True)]
            places = {item: place for place, item in enumerate(items)}
            return [np.array([places[item] for item in set(items)], "int64")]

        (places,) = host_values(order, self.item_rows(), [([-1], "int64")], "the order of a set")
        return self.bag().picked(places)

    def otherwise(self) -> None:
        """Note that a set is not what comes of adding items in their order to an empty one.

        Raises:
            ContainerInGraphError: (D2S207) the function iterates one.
        """
        _note_otherwise(self.name)

    def at(self, index: paddle.Tensor) -> Any:
        return self.iterated()[index]

    as_list = iterated

    @classmethod
    def of_container(
        cls, container: Collection[object], name: str, element: Element | None = None
    ) -> DynamicSet:
        made = super().of_container(container, name, element)
        _note_order(container)
        return made

    def copy(self) -> DynamicSet:
        self.otherwise()
        return self.like(list(self.need_rows()))

    def _drop(self, key: object) -> paddle.Tensor:
        self.otherwise()
        return super()._drop(key)

    def refuse_ties(self, keys: DynamicList, *, reverse: bool, first: bool) -> None:
        """Let the run refuse to put the items in order by ``keys`` of which two are equal.

        Args:
            keys: those of the items.
            reverse: the greatest comes first.
            first: the item that comes first is all that is wanted.
        """
        columns = columns_of_order(keys.element, keys.item_rows(), self.name)
        equal = ties(columns, places_in_order(columns, reverse))
        with tentatively():
            refusal = error_here(
                ContainerInGraphError,
                f"two items of {self.name!r}, a set whose items only the run knows, have one key; "
                "which of them comes first is a matter of their hashes",
                "let the key end with the item: key=lambda item: (..., item)",
            )
        raise_when((equal[:1] if first else equal).any(), refusal)

    def add(self, item: object) -> None:
        """``set.add``."""
        self._put(item, item)

    def discard(self, item: object) -> None:
        """``set.discard``."""
        self._drop(item)

    def remove(self, item: object) -> None:
        """``set.remove``."""
        raise_where(~self._drop(item), lambda: KeyError(item))

    def update(self, *others: Any) -> None:
        """``set.update``."""
        for other in others:
            self.set_rows(self.union(other).need_rows())

    def _with(self, other: Any) -> tuple[DynamicSet, DynamicSet, paddle.Tensor]:
        """Both sets with one element, and of each pair of their items whether they are equal."""
        if not isinstance(other, DynamicSet):
            held = other.bag() if isinstance(other, DynamicKeys) else other
            if not isinstance(held, DynamicList | Set) and (items := list(held)):
                held = DynamicList.of(items, self.name)  # of which two may be equal on the run
            if isinstance(held, DynamicList):
                held = held.picked(first_and_last(held)[0])
                other = self.like(list(held.need_rows()), None, held.element)
            else:
                other = DynamicSet.of_container(set(held), self.name, self.element)
        self.widen(other.element)
        rows = self.element.converted(other.element, iter(other.need_rows()))
        theirs = self.like(rows)
        return self, theirs, equal_pairs(self.element, self.item_rows(), theirs.item_rows())

    def union(self, other: Any) -> DynamicSet:
        """``set.union``."""
        if not isinstance(other, DynamicList) or isinstance(other, DynamicKeys):
            self.otherwise()
        mine, theirs, same = self._with(other)
        more = theirs.where(~same.any(0))
        made = mine.like(list(mine.need_rows()))
        made._join([more.item_rows()])
        return made

    def intersection(self, other: Any) -> DynamicSet:
        """``set.intersection``."""
        self.otherwise()
        mine, _, same = self._with(other)
        if isinstance(mine.element, OneOf) and mine.element.of_numbers:
            raise error_here(
                ContainerInGraphError,
                f"{self.name!r}, a set whose items only the run knows, is intersected with numbers "
                "of another type; which of two equal ones stays is a matter of their hashes",
                "make them of one type",
            )
        return mine.where(same.any(1))

    def difference(self, other: Any) -> DynamicSet:
        """``set.difference``."""
        self.otherwise()
        mine, _, same = self._with(other)
        return mine.where(~same.any(1))

    def symmetric_difference(self, other: Any) -> DynamicSet:
        """``set.symmetric_difference``."""
        self.otherwise()
        mine, theirs, same = self._with(other)
        made = mine.where(~same.any(1))
        made._join([theirs.where(~same.any(0)).item_rows()])
        return made

    def issubset(self, other: Any) -> Any:
        """``set.issubset``."""
        _, _, same = self._with(other)
        return mark_number(same.any(1).all(), bool)

    def issuperset(self, other: Any) -> Any:
        """``set.issuperset``."""
        _, _, same = self._with(other)
        return mark_number(same.any(0).all(), bool)

    def isdisjoint(self, other: Any) -> Any:
        """``set.isdisjoint``."""
        _, _, same = self._with(other)
        return mark_number(~same.any(), bool)

    def _smaller(self, other: Any) -> Any:
        return self.issubset(other) & (self.length < _size(other))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Set | DynamicSet):
            return False
        return mark_number(self.issubset(other) & (self.length == _size(other)), bool)

    __hash__ = None
    __or__, __and__, __sub__, __xor__ = union, intersection, difference, symmetric_difference
    __le__, __ge__ = issubset, issuperset

    def __ror__(self, other: object) -> DynamicSet:
        return self.union(other)._of_class(other)

    def __rand__(self, other: object) -> DynamicSet:
        return self.intersection(other)._of_class(other)

    def __rxor__(self, other: object) -> DynamicSet:
        return self.symmetric_difference(other)._of_class(other)

    def __rsub__(self, other: Any) -> DynamicSet:
        _, theirs, same = self._with(other)
        return theirs.where(~same.any(0))._of_class(other)

    def _of_class(self, left: object) -> DynamicSet:
        """This new set, of the class that an operator with ``left`` on the left gives."""
        self.model = frozenset() if isinstance(left, frozenset) else set()
        return self

    def __lt__(self, other: Any) -> Any:
        return mark_number(self._smaller(other), bool)

    def pop(self, index: object = -1, /) -> Any:
        raise _refused_order(self.name)

    def _changed_to(self, made: DynamicSet) -> DynamicSet:
        """What ``|=`` and the like leave: this set, or another one in the place of a frozen one."""
        if isinstance(self.model, frozenset):
            return made
        self.widen(made.element)
        self.set_rows(made.need_rows())
        return self

    def intersection_update(self, other: object) -> None:
        """``set.intersection_update``."""
        self._changed_to(self.intersection(other))

    def difference_update(self, other: object) -> None:
        """``set.difference_update``."""
        self._changed_to(self.difference(other))

    def symmetric_difference_update(self, other: object) -> None:
        """``set.symmetric_difference_update``."""
        self._changed_to(self.symmetric_difference(other))


def _in_place(name: str) -> Callable[[DynamicSet, object], DynamicSet]:
    """The operator that changes a set to what its method ``name`` gives."""
    return lambda self, other: self._changed_to(getattr(self, name)(other))


for _operator in ("or", "and", "sub", "xor"):
    setattr(DynamicSet, f"__i{_operator}__", _in_place(f"__{_operator}__"))


def _size(other: Any) -> Any:
    """How many items another set has."""
    return other.length if isinstance(other, DynamicList) else len(other)


def _refused_order(known: str) -> D2SError:
    name = "" if isinstance(known, Words) else f"{known!r}, "
    return error_here(
        ContainerInGraphError,
        f"{name}a set whose items only the run knows is iterated, in an order that is that of "
        "their hashes",
        "iterate sorted(...) of it, or keep a list",
    )


def _note_otherwise(name: str) -> None:
    sets = open_trace().sets
    if "iterated" in sets:
        raise _refused_order(name)
    sets.add("otherwise")


def _note_order(container: Collection[object]) -> None:
    """Note in what order the items of a set of Python's come to be in one of the run."""
    if not _lies_as_added(container):
        _note_otherwise(Words("a set"))


OfRunLength.note_order = staticmethod(_note_order)


def _lies_as_added(container: Collection[object]) -> bool:
    """Whether a set of Python's has at most one item, and no gaps where others have been.

    Where the next items come to lie is a matter of these gaps, too, which CPython counts behind
    the head of the object.
    """
    filled = ctypes.c_ssize_t.from_address(id(container) + object.__basicsize__).value
    return len(container) == filled < 2 and sys.getsizeof(container) == sys.getsizeof(set())
