"""Dicts and sets whose keys the run decides: lists of the run to the program, in Python's order.

A :class:`DynamicDict` is a list of pairs ``(key, value)``, a :class:`DynamicSet` one of keys.  A
key is looked for by comparing it with all that are there, and a new one comes behind them, which
is the order of a dict of Python's.  That of a set shows in its iteration, so that is refused.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.equality import equal_pairs, equal_rows
from d2s.runtime.lists.items.rows import zero_rows
from d2s.runtime.lists.items.structures import Structure
from d2s.runtime.trace import error_here
from d2s.runtime.values.callbacks import raise_when, raise_where
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import mark_number, number_kind, passing_in
from d2s.runtime.values.tree import is_mapping


@passing_in
class DynamicKeys(DynamicList):
    """What a dict and a set have in common."""

    def _keys(self) -> tuple[Element, list[paddle.Tensor]]:
        """What the keys are, and their rows."""
        return self.element, self.item_rows()

    def _place(self, key: object) -> tuple[paddle.Tensor, paddle.Tensor]:
        """Whether a key is there, and where: behind all others if not."""
        same = equal_rows(*self._keys(), key)
        found = same.any()
        first = paddle.argmax(paddle.cast(same, "int64"))
        return found, paddle.where(found, first, self.length)

    def bag(self) -> DynamicList:
        """The keys, for what asks nobody in what order they come."""
        element, rows = self._keys()
        blanks = [zero_rows(leaf) for leaf in element.leaves]
        made = DynamicList.of_rows(self.name, element, blanks)
        made._join([rows])
        return made

    def contains(self, item: object) -> Any:
        return mark_number(equal_rows(*self._keys(), item).any(), bool)

    def _put(self, key: object, item: object) -> None:
        """Let ``item`` be that of ``key``."""
        self._widen(item)
        found, place = self._place(key)
        end = place + paddle.cast(found, "int64")
        self._spliced(place, end, [self._rows_of(item)])

    def _drop(self, key: object) -> paddle.Tensor:
        """Without ``key``, if it is there; whether it was."""
        found, place = self._place(key)
        self._spliced(place, place + paddle.cast(found, "int64"), [])
        return found

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        raise error_here(
            ContainerInGraphError,
            f"{self.name!r}, whose keys only the run knows, is compared with another one",
            "compare what was put into them",
        )

    __hash__ = None

    def __getattribute__(self, name: str) -> Any:
        if name in _OF_SOME and not hasattr(self.model, name):
            raise AttributeError(f"{self.d2s_type().__name__!r} object has no attribute {name!r}")
        return super().__getattribute__(name)


_OF_SOME: Final = frozenset(
    name
    for kind in (list, collections.Counter, collections.OrderedDict, set)
    for name in set(dir(kind)) - {"copy", "clear", "pop"}
    if not name.startswith("_")
)
"""Names that some containers of Python have, and others have not."""


def first_and_last(keys: DynamicList) -> tuple[paddle.Tensor, paddle.Tensor, Any]:
    """The places of those that come first among their equals, of the last ones, and how many."""
    rows = keys.item_rows()
    same = paddle.cast(equal_pairs(keys.element, rows, rows), "int64")
    count = paddle.shape(rows[0])[0].astype("int64")
    places = paddle.arange(0, count, dtype="int64")
    earlier = paddle.cast(places.unsqueeze(0) < places.unsqueeze(1), "int64")
    first = paddle.reshape(paddle.nonzero((same * earlier).sum(1) == 0), [-1])
    # In front of all stands one that nobody reads, so that there is a greatest one.
    last = paddle.concat([(same * places.unsqueeze(0)), places.unsqueeze(1)], 1).max(1)
    return first, last, same.sum(1)


@passing_in
class DynamicDict(DynamicKeys):
    """A dict whose keys the run decides."""

    @classmethod
    def of_pairs(cls, pairs: DynamicList, model: Any) -> DynamicDict:
        """One of keys and values, of which equal keys are one: the last value is its."""
        made = cls(pairs.name, pairs.element)
        made.model = model
        keys = made.like(pairs.need_rows()).keys()
        first, last, _ = first_and_last(keys)
        count = len(keys.element.leaves)
        mine = pairs.picked(first).need_rows()[:count]
        theirs = pairs.picked(paddle.gather(last, first)).need_rows()[count:]
        return made.like([*mine, *theirs])

    def _parts(self) -> tuple[Structure, int]:
        """What a pair is, and how many leaves its key has."""
        assert isinstance(self.element, Structure)
        return self.element, len(self.element.parts[0].leaves)

    def _keys(self) -> tuple[Element, list[paddle.Tensor]]:
        pair, count = self._parts()
        return pair.parts[0], self.item_rows()[:count]

    def at(self, index: paddle.Tensor) -> Any:
        return self._item(index)[0]

    def __getitem__(self, key: object) -> Any:
        if isinstance(self.model, collections.Counter):
            return self.get(key, 0)
        if isinstance(self.model, collections.defaultdict) and self.model.default_factory:
            return self.setdefault(key, self.model.default_factory())
        found, place = self._place(key)
        raise_where(~found, lambda: KeyError(key))
        return self._item(paddle.where(found, place, paddle.full([], -1, "int64")))[1]

    def get(self, key: object, default: object = None) -> Any:
        """``dict.get``."""
        found, place = self._place(key)
        item = self._item(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
        return one_of(found, item, default)

    def __setitem__(self, key: object, value: object) -> None:
        self._put(key, (key, value))

    def __delitem__(self, key: object) -> None:
        raise_where(~self._drop(key), lambda: KeyError(key))

    def setdefault(self, key: object, default: object = None) -> Any:
        """``dict.setdefault``."""
        found, place = self._place(key)
        known = self._built(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
        self._put(key, (key, one_of(found, known, default)))
        return self._item(self._place(key)[1])[1]

    def pop(self, key: object = None, /, *default: object) -> Any:
        """``dict.pop``."""
        found, place = self._place(key)
        item = self._item(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
        if not default:
            raise_where(~found, lambda: KeyError(key))
        self._drop(key)
        return one_of(found, item, default[0]) if default else item

    def popitem(self, last: bool = True) -> Any:
        """``dict.popitem``, and that of an ``OrderedDict``."""
        word = "" if isinstance(self.model, collections.OrderedDict) else "popitem(): "
        raise_when(self.length == 0, KeyError(f"{word}dictionary is empty"))
        return DynamicList.pop(self, -1 if last else 0)

    def move_to_end(self, key: object, last: bool = True) -> None:
        """``OrderedDict.move_to_end``."""
        found, place = self._place(key)
        raise_where(~found, lambda: KeyError(key))
        pair = self.picked(paddle.reshape(paddle.where(found, place, -1), [1])).item_rows()
        self._spliced(place, place + 1, [])
        end = self.length if last else paddle.full([], 0, "int64")
        self._spliced(end, end, [pair])

    def most_common(self, n: Any = None) -> DynamicList:
        """``Counter.most_common``."""
        ordered = self.items().ordered(self.values(), True)
        return ordered if n is None else ordered[:n]

    def total(self) -> Any:
        """``Counter.total``."""
        return mark_number(self.values().stacked().sum(), int)

    def subtract(self, *others: Any, **named: object) -> None:
        """``Counter.subtract``."""
        for key, count in _counts((*others, named)):
            self[key] = self[key] - count

    def items(self) -> DynamicList:
        """``dict.items``, as they are now."""
        return self._as_list(self.element, list(self.need_rows()))

    def keys(self) -> DynamicList:
        """``dict.keys``, as they are now."""
        pair, count = self._parts()
        return self._as_list(pair.parts[0], self.need_rows()[:count])

    def values(self) -> DynamicList:
        """``dict.values``, as they are now."""
        pair, count = self._parts()
        return self._as_list(pair.parts[1], self.need_rows()[count:])

    def _as_list(self, element: Element, rows: list[paddle.Tensor]) -> DynamicList:
        made = DynamicList.of_rows(self.name, element, rows)
        made.shared = made.element.has_mutable or made.element.has_objects  # this knows them, too
        return made

    def as_list(self) -> DynamicList:
        return self.keys()

    def update(self, *others: Any, **named: object) -> None:
        """``dict.update``; that of a ``Counter`` adds."""
        if isinstance(self.model, collections.Counter):
            for key, count in _counts((*others, named)):
                self[key] = self[key] + count
            return
        for other in (*others, named):
            if isinstance(other, DynamicDict):
                whole = self.items()
                whole.extend(other.items())
                self.widen(whole.element)
                self.set_rows(self.of_pairs(whole, self.model).need_rows())
                continue
            for key, value in other.items() if is_mapping(other) else other:
                self[key] = value


def _counts(others: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The keys and counts that ``Counter.update`` is given."""
    for other in others:
        yield from other.items() if is_mapping(other) else ((item, 1) for item in other)


def _refused_operator(self: DynamicDict, other: object) -> Any:
    raise error_here(
        ContainerInGraphError,
        f"{self.name!r}, a dict whose keys only the run knows, is joined with another one",
        "put the items of one into the other: for key, value in other.items(): ...",
    )


for _operator in ("or", "and", "add", "sub"):
    for _name in (f"__{_operator}__", f"__r{_operator}__"):
        setattr(DynamicDict, _name, _refused_operator)


@passing_in
class DynamicSet(DynamicKeys):
    """A set whose items the run decides."""

    def at(self, index: paddle.Tensor) -> Any:
        raise error_here(
            ContainerInGraphError,
            f"{self.name!r}, a set whose items only the run knows, is iterated, in an order that "
            "is that of their hashes",
            "iterate sorted(...) of it, or keep a list",
        )

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
            if isinstance(held, DynamicList):
                other = self.like(list(held.need_rows()), None, held.element)
            else:
                other = DynamicSet.of_container(set(held), self.name, self.element)
        self.widen(other.element)
        rows = self.element.converted(other.element, iter(other.need_rows()))
        theirs = self.like(rows)
        return self, theirs, equal_pairs(self.element, self.item_rows(), theirs.item_rows())

    def union(self, other: Any) -> DynamicSet:
        """``set.union``."""
        mine, theirs, same = self._with(other)
        more = theirs.where(~same.any(0))
        made = mine.like(list(mine.need_rows()))
        made._join([more.item_rows()])
        return made

    def intersection(self, other: Any) -> DynamicSet:
        """``set.intersection``."""
        mine, _, same = self._with(other)
        return mine.where(same.any(1))

    def difference(self, other: Any) -> DynamicSet:
        """``set.difference``."""
        mine, _, same = self._with(other)
        return mine.where(~same.any(1))

    def symmetric_difference(self, other: Any) -> DynamicSet:
        """``set.symmetric_difference``."""
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
        if not isinstance(other, set | DynamicSet):
            return False
        return mark_number(self.issubset(other) & (self.length == _size(other)), bool)

    __hash__ = None
    __or__ = __ror__ = union
    __and__ = __rand__ = intersection
    __sub__ = difference
    __xor__ = __rxor__ = symmetric_difference
    __le__, __ge__ = issubset, issuperset

    def __rsub__(self, other: Any) -> DynamicSet:
        _, theirs, same = self._with(other)
        return theirs.where(~same.any(0))

    def __lt__(self, other: Any) -> Any:
        return mark_number(self._smaller(other), bool)

    def pop(self, index: object = -1, /) -> Any:
        return self.at(paddle.full([], 0, "int64"))


def _size(other: Any) -> Any:
    """How many items another set has."""
    return other.length if isinstance(other, DynamicList) else len(other)


def one_of(found: paddle.Tensor, item: Any, default: Any) -> Any:
    """``item`` where it was found, else ``default``."""
    kind = number_kind(item)
    if kind is not None and kind is number_kind(default):
        return mark_number(paddle.where(found, item, paddle.to_tensor(default)), kind)
    return Choice(found, item, default, "item")
