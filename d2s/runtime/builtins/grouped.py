"""``itertools.groupby``, ``takewhile`` and ``dropwhile`` of lists whose length the run decides."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import paddle

from d2s.runtime.aliasing.holders import holders_of
from d2s.runtime.control_flow.cond import if_
from d2s.runtime.lists.dynamic_list import DynamicList, of_columns
from d2s.runtime.lists.items.elements import Single
from d2s.runtime.lists.items.rows import Leaf
from d2s.runtime.lists.iteration import (
    indexed,
    items_of,
    iter_,
    iterator,
    iterator_over,
    of_several,
    range_,
)
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.loops.comprehensions import list_, list_of, one_list, whole_of
from d2s.runtime.loops.for_sources import OfTheRun, Trips, moved_by
from d2s.runtime.loops.rolling import is_still
from d2s.runtime.python.comparing import ne
from d2s.runtime.python.keys import is_undecided
from d2s.runtime.python.logic import not_
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import condition, is_tensor, mark_number
from d2s.runtime.values.tree import any_leaf, is_plain_sequence

Converting = Callable[[Any], Any]
"""Gives what to call in place of a function."""

_POSITIONS = Single(Leaf(paddle.int64, (), int, True))


def groupby(call: Converting, iterable: object, key: object = None) -> Any:
    """``itertools.groupby``: the run finds where a key differs from the one before."""
    use = None if key is None else call(key)
    things: Any = iterable if current() is None else _listed(one_list(whole_of(iterable)))
    if isinstance(things, Choice) and not things.single:
        return of_several(lambda found: itertools.groupby(found, use), things)
    if indexed(things) is None:
        if current() is None or not is_plain_sequence(things) or not any_leaf(_is_of_run, things):
            return itertools.groupby(items_of(things), use)
        items = list(items_of(things))
        first = items[0] if use is None else use(items[0])
        if not (is_tensor(first) or any(map(is_undecided, [first] if use else items))):
            return itertools.groupby(items, use and _remembering(first, use))
        whole = DynamicList.of(items, Words("what groupby() takes"))
        late = [first, *(item if use is None else use(item) for item in items[1:])]
        keys = whole if use is None else DynamicList.of(late, Words("the keys of groupby()"))
    else:
        whole = list_of(things)
        keys = whole if use is None else list_(indexed(whole), lambda item: use(item))
    starts = of_columns(_POSITIONS, [_starts(keys)], "groups")
    last = mark_number(starts.length - 1, int)

    def item(index: paddle.Tensor) -> tuple[Any, Any]:
        begin, following = starts.at(index), mark_number(paddle.minimum(index + 1, last), int)
        end = paddle.where(index < last, starts.at(following), keys.length)
        group = iter_(whole[begin : mark_number(end, int)])
        group.kind = _GROUP
        return keys.at(begin), group

    return Indexed(starts.length, item, (), itertools.groupby)


def _listed(things: object) -> Any:
    """What ``enumerate`` or ``zip`` of sequences gives, if nobody else moves what it goes over."""
    if type(things) not in (enumerate, zip) or not is_still(things):
        return things
    held = any(holder.live for part in moved_by(things) for holder in holders_of(part))
    return things if held else list(items_of(things))


_GROUP = type(next(itertools.groupby([0]))[1])


def _is_of_run(part: object) -> bool:
    return is_tensor(part) or isinstance(part, Choice)


def _remembering(first: object, use: Callable[[object], Any]) -> Callable[[object], Any]:
    """``use``, which has given ``first`` for the first item that it is asked about."""
    known = [first]
    return lambda item: known.pop() if known else use(item)


def _starts(keys: DynamicList) -> paddle.Tensor:
    """The positions at which a group begins."""
    rows, leaves = keys.need_rows(), keys.element.leaves
    if isinstance(keys.element, Single) and all(leaf.shape == () for leaf in leaves):
        (row,) = rows
        places = paddle.arange(0, keys.length, dtype="int64")
        return paddle.nonzero((places == 0) | (row[1:] != row[:-1])).flatten()
    differs = list_(
        range_(keys.length), lambda k: (k == 0) | condition(ne(keys[k], keys[_before(k)]))
    )
    return paddle.nonzero(differs.item_rows()[0]).flatten()


def _before(index: paddle.Tensor) -> Any:
    return mark_number(paddle.maximum(index - 1, paddle.full([], 0, "int64")), int)


def _of_the_run(iterable: object) -> Any:
    """A list of the run where a tensor may decide what a predicate says of its items."""
    things = one_list(iterable)
    if current() is None or not is_plain_sequence(things) or not any_leaf(_is_of_run, things):
        return things
    return DynamicList.of(list(things), Words("a list"))


def takewhile(call: Converting, predicate: object, iterable: object, /) -> Any:
    """``itertools.takewhile``: of what has a length of the run, a list."""
    use, things = call(predicate), _of_the_run(iterable)
    found = indexed(things)
    if found is None:
        return iterator(functools.partial(itertools.takewhile, use), things)
    kept, done = [], False

    def trip(item: object) -> None:
        def keep() -> None:
            kept.append(item)

        def end() -> None:
            nonlocal done
            done = True

        if_(condition(use(item)), keep, end, ("kept", "done"))

    OfTheRun(found).run(Trips(trip, ("kept", "done"), lambda: done))
    return iterator_over(kept, itertools.takewhile)


def dropwhile(call: Converting, predicate: object, iterable: object, /) -> Any:
    """``itertools.dropwhile``: of what has a length of the run, a list."""
    use, things = call(predicate), _of_the_run(iterable)
    found = indexed(things)
    if found is None:
        return iterator(functools.partial(itertools.dropwhile, use), things)
    kept, begun = [], False

    def trip(item: object) -> None:
        def look() -> None:
            nonlocal begun
            begun = not_(use(item))

        if_(not_(begun), look, None, ("begun",))
        if_(condition(begun), lambda: kept.append(item), None, ("kept",))

    OfTheRun(found).run(Trips(trip, ("kept", "begun")))
    return iterator_over(kept, itertools.dropwhile)
