"""Dicts and sets whose keys the run decides: lists of the run to the program, in Python's order.

A :class:`DynamicDict` is a list of pairs ``(key, value)``, a :class:`DynamicSet` one of keys.  A
key is looked for by comparing it with all that are there, and a new one comes behind them, which
is the order of a dict of Python's.  That of a set shows in its iteration, so that is refused.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

import paddle

from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.elements import Element, Labels, Single
from d2s.runtime.lists.items.equality import equal_pairs, equal_rows
from d2s.runtime.lists.items.fixed import is_item_at, note_key
from d2s.runtime.lists.items.rows import joined, zero_rows
from d2s.runtime.lists.items.structures import Structure, element_of, union
from d2s.runtime.trace import error_here
from d2s.runtime.values.callbacks import raise_when, raise_where
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import mark_number, number_kind, number_value, passing_in
from d2s.runtime.values.tree import bare, is_mapping


@passing_in
class DynamicKeys(DynamicList):
    """What a dict and a set have in common."""

    def _keys(self) -> tuple[Element, list[paddle.Tensor]]:
        """What the keys are, and their rows."""
        return self.element, self.item_rows()

    def _place(self, key: object) -> tuple[paddle.Tensor, paddle.Tensor]:
        """Whether a key is there, and where: behind all others if not."""
        same = equal_rows(*self._keys(), key)
        flags = paddle.concat([paddle.cast(same, "int64"), paddle.ones([1], "int64")])
        return same.any(), paddle.argmax(flags)

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


Count = Callable[[Any, Any], Any]
"""What becomes of two counts of one key."""

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

    def __eq__(self, other: object) -> Any:
        if other is self:
            return True
        if not is_mapping(other) and not isinstance(other, DynamicDict):
            return False
        theirs = other.model if isinstance(other, DynamicDict) else other
        asks = collections.Counter, collections.OrderedDict  # for more than keys and their values
        if any(isinstance(self.model, kind) and isinstance(theirs, kind) for kind in asks):
            return super().__eq__(other)
        if not isinstance(other, DynamicDict):
            other = self.of_container(other, self.name, self.element)
        element = union(self.element, other.element)
        assert isinstance(element, Structure)
        value = element.parts[1]
        numbers = isinstance(value, Single) and value.leaf.kind is not None
        if not (numbers or isinstance(value, Labels)):
            return super().__eq__(other)
        rows = [element.converted(each.element, iter(each.item_rows())) for each in (self, other)]
        same = equal_pairs(element, *rows).any(1).all()
        return mark_number(same & (self.length == other.length), bool)

    __hash__ = None

    def at(self, index: paddle.Tensor) -> Any:
        return self.item_at(index)[0]

    def __getitem__(self, key: object) -> Any:
        if isinstance(self.model, collections.Counter):
            return self.get(key, 0)
        if isinstance(self.model, collections.defaultdict) and self.model.default_factory:
            return self.setdefault(key, self.model.default_factory())
        found, place = self._place(key)
        raise_where(~found, lambda: KeyError(key))
        return self._read_at(paddle.where(found, place, paddle.full([], -1, "int64")), key)

    def _read_at(self, place: paddle.Tensor, key: object) -> Any:
        item = self.item_at(place)[1]
        note_key(item, key)
        return item

    def get(self, key: object, default: object = None) -> Any:
        """``dict.get``."""
        found, place = self._place(key)
        item = self.item_at(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
        return one_of(found, item, default)

    def __setitem__(self, key: object, value: object) -> None:
        if not is_item_at(value, self, key, depth=1):
            self._put(key, (key, value))

    def __delitem__(self, key: object) -> None:
        raise_where(~self._drop(key), lambda: KeyError(key))

    def setdefault(self, key: object, default: object = None) -> Any:
        """``dict.setdefault``."""
        found, place = self._place(key)
        known = self._built(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
        self._put(key, (key, one_of(found, known, default)))
        return self._read_at(self._place(key)[1], key)

    def pop(self, key: object = None, /, *default: object) -> Any:
        """``dict.pop``."""
        found, place = self._place(key)
        item = self.item_at(paddle.where(found, place, paddle.full([], -1, "int64")))[1]
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
        self._count(operator.sub, others, named)

    def _count(self, use: Count, others: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Let each count be ``use`` of it and of that in another counter."""
        for other in (*others, named):
            if isinstance(other, DynamicList):
                theirs = other if isinstance(other, DynamicDict) else self.counted(other)
                made = self.combined(theirs, use)
                self.widen(made.element)
                self.set_rows(made.need_rows())
            else:
                for key, count in _counts(other):
                    self[key] = use(self[key], count)

    @classmethod
    def counted(cls, things: DynamicList) -> DynamicDict:
        """How often each item of a list is there: ``Counter``."""
        things = things.iterated()
        first, _, counts = first_and_last(things)
        pair = Structure(tuple, (2,), [things.element, element_of(number_value(1))])
        made = cls(things.name, pair)
        made.model = collections.Counter()
        rows = things.picked(first).need_rows()
        zero = paddle.zeros([1], "int64")
        return made.like([*rows, paddle.concat([zero, paddle.gather(counts, first)])])

    def combined(self, other: object, use: Count) -> DynamicDict:
        """A counter of ``use`` of the two counts of each key, 0 where a counter has none."""
        if not isinstance(other, DynamicDict):
            other = self.of_container(other, self.name, self.element)
        element = union(self.element, other.element)
        mine, theirs = (
            self.like(element.converted(each.element, iter(each.need_rows())), None, element)
            for each in (self, other)
        )
        keys, (counts, other_counts) = (
            mine._keys()[0],
            (each.values().stacked() for each in (mine, theirs)),
        )
        same = equal_pairs(keys, mine._keys()[1], theirs._keys()[1])
        found = (paddle.cast(same, counts.dtype) * other_counts.unsqueeze(0)).sum(1)
        more = theirs.where(~same.any(0))
        extra = more.values().stacked()
        counts = use(
            paddle.concat([counts, paddle.zeros_like(extra)]), paddle.concat([found, extra])
        )
        mine._join([more.item_rows()])
        return mine.like([*mine.need_rows()[:-1], joined([mine.need_rows()[-1][:1], counts])])

    def positive(self) -> DynamicDict:
        """A counter of those that have been counted."""
        return self.where(self.values().stacked() > 0)

    def items(self) -> DynamicList:
        """``dict.items``."""
        return self._as_list(self.element, list(self.need_rows()), type({}.items()))

    def keys(self) -> DynamicList:
        """``dict.keys``."""
        pair, count = self._parts()
        return self._as_list(pair.parts[0], self.need_rows()[:count], type({}.keys()))

    def values(self) -> DynamicList:
        """``dict.values``."""
        pair, count = self._parts()
        return self._as_list(pair.parts[1], self.need_rows()[count:], type({}.values()))

    def _as_list(self, element: Element, rows: list[paddle.Tensor], kind: type) -> DynamicList:
        """A view as it is now: the dict does not change while somebody holds it."""
        made = DynamicList.of_rows(self.name, element, rows)
        made.view = kind
        made.shared = made.element.has_mutable or made.element.has_objects  # this knows them, too
        self.lookers.note(made)
        return made

    def as_list(self) -> DynamicList:
        return self.keys()

    iterated = as_list

    def update(self, *others: Any, **named: object) -> None:
        """``dict.update``; that of a ``Counter`` adds."""
        if isinstance(self.model, collections.Counter):
            self._count(operator.add, others, named)
            return
        for other in (*others, named):
            if isinstance(other, DynamicList):
                self._change()
                whole = self.items()
                whole.extend(pairs_in(other))
                self.widen(whole.element)
                self.set_rows(self.of_pairs(whole, self.model).need_rows())
                continue
            for key, value in other.items() if is_mapping(other) else other:
                self[key] = value

    def __ior__(self, other: object) -> DynamicDict:
        self.update(other)
        return self


def pairs_in(given: DynamicList) -> DynamicList:
    """The pairs that ``dict.update`` is given."""
    if isinstance(given, DynamicDict):
        return given.items()
    pairs = given.iterated()
    if isinstance(pairs.element, Structure) and len(pairs.element.parts) == 2:
        return pairs
    raise error_here(
        ContainerInGraphError,
        f"a dict is given the items of {given.name!r}, whose length a tensor decides, and which "
        "are no pairs",
        "give it pairs, as tuples",
    )


def _counts(other: Any) -> Iterable[tuple[Any, Any]]:
    """The keys and counts that ``Counter.update`` is given."""
    return other.items() if is_mapping(other) else ((item, 1) for item in other)


_OF_COUNTS: Final[dict[str, Count]] = {
    "add": operator.add,
    "sub": operator.sub,
    "or": paddle.maximum,
    "and": paddle.minimum,
}
"""What the operators of counters do with two counts."""


def _joining(name: str, *, reflected: bool) -> Callable[[DynamicDict, Any], Any]:
    """``|`` of dicts, or an operator of counters; the other one may be one of Python."""

    def operate(self: DynamicDict, other: object) -> Any:
        if not is_mapping(other) and not isinstance(other, DynamicDict):
            return NotImplemented
        if reflected:
            self, other = self.of_container(other, self.name, self.element), self
        model = other.model if isinstance(other, DynamicDict) else other
        if all(isinstance(each, collections.Counter) for each in (self.model, model)):
            return self.combined(other, _OF_COUNTS[name]).positive()
        if name != "or":
            return NotImplemented
        made = self.of_pairs(self.items(), self.model)
        if type(self.model) is dict and "__ror__" in vars(type(model)):
            made.model = bare(model)  # Python asks the derived class
        made.update(other)
        return made

    return operate


for _name in _OF_COUNTS:
    setattr(DynamicDict, f"__{_name}__", _joining(_name, reflected=False))
    setattr(DynamicDict, f"__r{_name}__", _joining(_name, reflected=True))


def one_of(found: paddle.Tensor, item: Any, default: Any) -> Any:
    """``item`` where it was found, else ``default``."""
    kind = number_kind(item)
    if kind is not None and kind is number_kind(default):
        return mark_number(paddle.where(found, item, paddle.to_tensor(default)), kind)
    return Choice(found, item, default, "item")
