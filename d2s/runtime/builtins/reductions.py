"""Built-in functions of many things: ``any all min max sorted`` and ``list.sort`` (rule E1).

Items are compared as Python compares them: one wins over another only if it is greater (or less),
so the first of equals stays.  Keys become one tensor, whose order the run finds; the items are
then picked by position.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.chosen import note_pick
from d2s.runtime.builtins.compared import extreme, is_by_method, order_keys
from d2s.runtime.builtins.handed import decided
from d2s.runtime.control_flow.cond import select
from d2s.runtime.lists.dynamic_dict import DynamicDict, DynamicKeys
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.dynamic_set import DynamicSet
from d2s.runtime.lists.items.elements import Element, Ragged, Single
from d2s.runtime.lists.items.structures import OneOf
from d2s.runtime.lists.iteration import indexed, items_of
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.loops.comprehensions import keys_of, list_of, whole_of
from d2s.runtime.python.casts import bool_, over
from d2s.runtime.python.generators import NESTED, handing, later, once
from d2s.runtime.python.orders import (
    STACKED,
    Order,
    as_known,
    beginnings,
    column,
    is_structured,
    order_of,
    turned,
    vector,
)
from d2s.runtime.python.picking import columns_of, picked
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import attribute
from d2s.runtime.values.tensors import (
    as_value,
    condition,
    is_array,
    is_float,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
    passing,
)
from d2s.runtime.values.tree import like

Key = Callable[[Any], Any]


# -- what is folded ------------------------------------------------------------------------------


class Rows:
    """Items whose number the run decides, stacked along a first axis.

    Attributes:
        stacked: the tensor.
        length: its first dimension, a value that stands for a Python int.
        kind: the type of the Python numbers that the items stand for.
    """

    def __init__(
        self, stacked: bridge.Value, length: bridge.Value, kind: type | None = None
    ) -> None:
        self.stacked = stacked
        self.length = length
        self.kind = kind

    def marked(self, item: bridge.Value) -> bridge.Value:
        """``item``, one of the rows, as the number that it stands for."""
        return item if self.kind is None else mark_number(item, self.kind)


def rows_of(things: object, what: str) -> Rows | None:
    """``things`` when the run decides how many they are, else ``None``."""
    if isinstance(things, DynamicKeys):
        things = things.bag()
    found = indexed(things)
    if found is None:
        return None
    if isinstance(things, Choice):
        things = things.get()
    if isinstance(things, Indexed):
        things = list_of(things)
    if isinstance(things, DynamicList) and isinstance(things.element, Single):
        return Rows(things.stacked(), found.length, things.element.leaf.kind)
    if isinstance(things, DynamicList) and _is_numeric(things.element):
        return Rows(things.stacked(), found.length)
    if isinstance(things, DynamicList):
        raise refused(f"{what}() is asked for tuples or texts, and a tensor decides how many")
    return Rows(as_value(things), found.length)


def _is_structured(element: Element) -> bool:
    return not (isinstance(element, Single) or _is_numeric(element))


def _is_numeric(element: Element) -> bool:
    return isinstance(element, Ragged) or (isinstance(element, OneOf) and element.numeric)


def refused(cause: str, cure: str = "use a tensor, or a list whose length is known") -> Exception:
    """The refusal of what a run cannot do with its items."""
    return error_here(UnsupportedInGraphError, cause, cure)


def items_known(things: object, what: str) -> list[Any]:
    """The items of an iterable, whose number must be known now."""
    if indexed(things) is not None:
        raise refused(f"{what}() is asked for items whose number a tensor decides")
    return list(items_of(things))


def is_dynamic(item: object) -> bool:
    """Whether only the run knows what an item is."""
    return is_tensor(item) or isinstance(item, Choice) or is_array(item)


# -- picking by position -------------------------------------------------------------------------


def _alike(items: list[Any]) -> type | bool | None:
    """The number type (``None`` for tensors) of items that can be stacked, else ``False``."""
    if not all(is_numeric(item) for item in items):
        return False
    kinds = {number_kind(item) for item in items}
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind is None:
        forms = {(str(item.dtype), *item.shape) for item in items}
        if len(forms) != 1 or items[0].dtype not in STACKED or -1 in items[0].shape:
            return False
    return kind


@passing
def reordered(items: list[Any], order: bridge.Value) -> list[Any]:
    """The items at the positions that the 1-D tensor ``order`` holds."""
    columns = columns_of(items)
    if columns is not None:
        parts = [reordered(column, order) for column in columns]
        return [like(items[0], list(row)) for row in zip(*parts, strict=True)]
    kind = _alike(items)
    if kind is False:
        return [picked(items, position) for position in paddle.unbind(order)]
    rows = paddle.unbind(paddle.gather(paddle.stack([as_value(item) for item in items]), order))
    if isinstance(kind, type):
        return [mark_number(row, kind) for row in rows]
    for row, position in zip(rows, paddle.unbind(order), strict=True):
        note_pick(row, items, position)
    return list(rows)


# -- any, all ------------------------------------------------------------------------------------


def any_(things: object, /) -> Any:
    """``any``: stops at the first item that is true."""
    return _decided(things, True)


def all_(things: object, /) -> Any:
    """``all``: stops at the first item that is false."""
    return _decided(things, False)


def _decided(things: Any, stop: bool) -> Any:
    """Whether an item has the truth ``stop``, which ends the search; the answer then is ``stop``.

    Items of an iterator are evaluated only in the side of an ``if`` that needs them.
    """
    if isinstance(things, Choice):
        return over(lambda found: _decided(found, stop), things)
    name = "any" if stop else "all"
    if current() is None:
        return any(things) if stop else all(things)
    begun = handing(things)
    if begun is not None:
        return decided(begun, stop)
    rows = rows_of(things, name)
    if rows is not None:
        stacked = rows.stacked
        if len(stacked.shape) != 1:
            vector(stacked, name)
            stacked = paddle.reshape(stacked, [-1])
        if stacked.dtype != paddle.bool:
            stacked = stacked > 0 if rows.kind is None else stacked != 0
        return mark_number(stacked.any() if stop else stacked.all(), bool)
    items = items_of(things)
    if isinstance(items, Iterator):
        return _decided_by(items, stop)
    found: Any = None
    for item in items:
        test = condition(item)
        if not bridge.is_value(test):
            if bool(test) is stop:
                return stop
            continue
        found = test if found is None else found | test if stop else found & test
    return not stop if found is None else mark_number(paddle.assign(found), bool)


def _decided_by(items: Iterator[Any], stop: bool, depth: int = 0) -> Any:
    if depth > NESTED:
        raise refused(
            f"{'any' if stop else 'all'}() would nest more than {NESTED} branches, one for each "
            "item of a generator",
            "give it a list, whose items are all evaluated, or a function of Paddle on one tensor",
        )
    for item in items:
        test = condition(item)
        if not bridge.is_value(test):
            if bool(test) is stop:
                return stop
            continue
        found = bool_(test)
        known, rest = _kept(found), once(partial(_decided_by, items, stop, depth + 1))
        body, orelse = (known, rest) if stop else (rest, known)
        return later(found, body, orelse, (items,))
    return not stop


# -- min, max ------------------------------------------------------------------------------------


def _kept(item: object) -> Callable[[], Any]:
    return lambda: item


class _Extreme:
    """``max`` or ``min``.

    Attributes:
        name: which of the two.
        original: Python's own.
    """

    def __init__(self, original: Callable[..., Any]) -> None:
        self.name = self.__name__ = original.__name__
        self.original = original

    def __call__(self, *things: Any, **options: Any) -> Any:
        """The extreme of the items of an iterable, or of the arguments."""
        if current() is None or not things or not set(options) <= {"key", "default"}:
            return self.original(*things, **options)
        if len(things) > 1:
            if "default" in options:
                return self.original(*things, **options)
            return self._among(list(things), options.get("key"))
        things = (whole_of(things[0]),)
        if isinstance(things[0], Choice):
            return over(lambda found: self(found, **options), things[0])
        if isinstance(things[0], DynamicList) and (
            _is_structured(things[0].element) or "key" in options
        ):
            return self._of_structures(things[0], **options)
        if "key" in options and indexed(things[0]) is not None:
            return self._of_structures(list_of(things[0]), **options)
        rows = rows_of(things[0], self.name)
        if rows is not None:
            return self._of_rows(rows, **options)
        items = list(items_of(things[0]))
        if not items:
            return self.original((), **options)
        return self._among(items, options.get("key"))

    def _among(self, items: list[Any], key: Key | None) -> Any:
        measures = [as_known(item if key is None else key(item)) for item in items]
        if len(items) > 1 and is_structured(measures):
            known = beginnings(measures)
            order = None if known else Order(measures, ">" if self.name == "max" else "<")
            if order is not None and not order.known:
                return picked(items, order.best())
            return self._known(items, known or measures)
        if key is None:
            if not any(map(is_dynamic, measures)):
                return self._known(items, measures)
            if _alike(measures) is False:
                return self._folded(items)
        keys = column(measures, self.name)
        if keys is None:
            return self._known(items, measures)
        return items[0] if len(items) == 1 else picked(items, self._best(keys))

    def _known(self, items: list[Any], measures: Sequence[Any]) -> Any:
        """The item with the extreme of ``measures``, which Python can compare."""
        return items[self.original(range(len(items)), key=measures.__getitem__)]

    def _folded(self, items: list[Any]) -> Any:
        best = items[0]
        for item in items[1:]:
            better = condition(item > best if self.name == "max" else item < best)
            if bridge.is_value(better):
                best = select(better, _kept(item), _kept(best))
            elif better:
                best = item
        return best

    def _of_structures(self, things: Any, key: Key | None = None, **default: object) -> Any:
        """Of a list of the run whose items are compared part by part, or by a key."""
        whole: Any = things.bag() if isinstance(things, DynamicKeys) else things
        if isinstance(things, DynamicDict) and attribute(key, "__self__") is things:
            keys = things.values()  # max(table, key=table.get)
        else:
            keys = whole if key is None else keys_of(whole, key)
        if isinstance(things, DynamicSet) and key is not None:
            things.refuse_ties(keys, reverse=self.name == "max", first=True)

        def best() -> Any:
            if is_by_method(keys.element):
                return extreme(whole, keys, highest=self.name == "max")
            return whole.extreme(keys, highest=self.name == "max")

        if default:
            return select(condition(whole.length > 0), best, _kept(default["default"]))
        self._refuse_nothing(whole.length)
        return best()

    def _refuse_nothing(self, length: Any) -> None:
        """Let the run raise what Python does for no item."""
        try:
            self.original(())
        except ValueError as error:
            raise_when(length == 0, error.with_traceback(None))

    def _of_rows(self, rows: Rows, **default: object) -> Any:
        keys = vector(rows.stacked, self.name)
        if not default:
            self._refuse_nothing(rows.length)
            return rows.marked(rows.stacked[self._best(keys)])
        return select(
            condition(rows.length > 0),
            lambda: rows.marked(rows.stacked[self._best(keys)]),
            _kept(default["default"]),
        )

    def _best(self, keys: bridge.Value) -> bridge.Value:
        """The position of the winner among ``keys``, a 1-D tensor: the first of equals.

        NaN wins from nobody, and nobody wins from it: it stays if it comes first.
        """
        highest = self.name == "max"
        found = paddle.argmax if highest else paddle.argmin
        if not is_float(keys.dtype):
            return found(keys)
        nan = paddle.isnan(keys)
        worst = paddle.full([1], -float("inf") if highest else float("inf"), keys.dtype)
        position = found(paddle.where(nan, paddle.expand_as(worst, keys), keys))
        return paddle.where(nan[0], paddle.full([], 0, position.dtype), position)


max_ = _Extreme(builtins.max)
min_ = _Extreme(builtins.min)


# -- sorted --------------------------------------------------------------------------------------


def sorted_(*iterables: Any, key: Key | None = None, reverse: Any = False, **wrong: Any) -> Any:
    """``sorted``: the order is found by the run when a key is a tensor."""
    if wrong:
        return sorted(*iterables, **wrong)  # it says what is wrong
    if current() is None or len(iterables) != 1:
        return sorted(*iterables, key=key, reverse=reverse)
    things = whole_of(iterables[0])
    if isinstance(things, Choice):
        found: list[Any] = over(lambda one: sorted_(one, key=key, reverse=reverse), things)
        return found
    if isinstance(reverse, Choice) or bridge.is_value(reverse):
        raise refused("a tensor decides whether sorted() reverses", "sort in each side of an if")
    if indexed(things) is not None:
        whole = things.bag() if isinstance(things, DynamicKeys) else list_of(things)
        keys = whole if key is None else keys_of(whole, key)
        if isinstance(things, DynamicSet) and key is not None:
            things.refuse_ties(keys, reverse=bool(reverse), first=False)
        return whole.ordered(order_keys(keys), bool(reverse))
    if is_tensor(things) and key is None and len(things.shape) == 1 and things.dtype in STACKED:
        value = as_value(things)
        return list(paddle.unbind(paddle.gather(value, order_of(value, reverse))))
    return _sorted_items(list(items_of(things)), key, reverse)


def _sorted_items(items: list[Any], key: Key | None, reverse: Any) -> list[Any]:
    measures = [as_known(item if key is None else key(item)) for item in items]
    if len(items) < 2:
        return items
    keys = None
    if is_structured(measures):
        beginning = beginnings(measures)
        order = (
            None if beginning else Order(measures[::-1] if reverse else measures, "<", sorts=True)
        )
        if order is not None and not order.known:
            places = order.positions()
            return reordered(items, turned(places, len(items)) if reverse else places)
        measures = beginning or measures
    else:
        keys = column(measures, "sorted")
    if keys is None:
        known = sorted(range(len(items)), key=measures.__getitem__, reverse=reverse)
        return [items[position] for position in known]
    return reordered(items, order_of(keys, reverse))


def sort_(
    things: Any, *others: Any, key: Key | None = None, reverse: object = False, **wrong: Any
) -> None:
    """``list.sort``: in place."""
    if others or wrong:
        things.sort(*others, **wrong)  # it says what is wrong
    whole = things if isinstance(things, DynamicList) else list(things)
    things[:] = sorted_(whole, key=key, reverse=reverse)
