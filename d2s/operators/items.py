"""``container[key]`` and ``container[key] = value`` where a tensor may be either of the two.

A tensor of a program gets a new value in place of being written into.  A Python list, tuple or
dict that is asked for an item which only the run knows gives the one that is meant: stacked and
indexed where the items are alike, else an :class:`Either` of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.operators.branches import select
from d2s.operators.context import current, error_here, tentatively
from d2s.operators.either import UNBOUND, Either, each, simplified
from d2s.operators.hosts import host_call, is_seen, raise_when, raise_where
from d2s.operators.inplace import changed_to, parameter_with
from d2s.operators.lists import GrowingList
from d2s.operators.objects import is_list
from d2s.operators.replays import Method, done
from d2s.operators.values import (
    as_value,
    cast_plain,
    is_tensor,
    mark_number,
    number_kind,
)

ITEM: Final = "an item assignment"


def getitem(container: Any, key: Any, /) -> Any:
    """``container[key]``."""
    if current() is None:
        return container[key]
    if isinstance(container, Either):
        return each(lambda found: getitem(found, key), container, plainly=True)
    chosen = _either_in(key)
    if chosen is not None:
        return _by_alternative(container, key, chosen)
    if not is_tensor(key):
        return container[key]
    if isinstance(container, list | tuple | paddle.nn.LayerList | paddle.nn.ParameterList):
        return picked(list(container), _position(key, len(container)))
    if isinstance(container, dict) and number_kind(key) is not None:
        return _looked_up(container, key)
    return container[key]


def value_getitem() -> Callable[[Any, Any], Any]:
    """``__getitem__`` of values, for the time of a capture."""
    original = bridge.Value.__getitem__

    def taken(value: Any, key: Any) -> Any:
        for part in _apart(value, key):
            value = original(value, part)
        return value

    def __getitem__(value: Any, key: Any) -> Any:
        return done(taken, Method("__getitem__"), (value, key), {})

    return __getitem__


def _apart(container: Any, key: Any) -> list[Any]:
    """Keys that do one after the other what ``key`` does.

    Paddle 3.3 gives ``x[i, 0:2]`` and ``x[0:i, 0:2]`` wrong shapes where ``i`` is a tensor.  So the
    parts that hold tensors are used one by one, the last first, and the others then.
    """
    if type(key) is not tuple or sum(not _is_whole(part) for part in key) < 2:
        return [key]
    if not any(map(_is_late, key)) or not all(map(_is_simple, key)):
        return [key]
    given = sum(part is not None and part is not Ellipsis for part in key)
    whole = [slice(None)] * (len(container.shape) - given)
    parts: list[Any] = []
    for part in key:
        parts.extend(whole if part is Ellipsis else [part])
    axes = [part for part in parts if part is not None]
    late = [axis for axis, part in enumerate(axes) if _is_late(part)]
    keys: list[Any] = [(*[slice(None)] * axis, axes[axis]) for axis in reversed(late)]
    rest = tuple(
        slice(None) if _is_late(part) else part
        for part in parts
        if not (_is_late(part) and is_tensor(part))
    )
    return keys if all(map(_is_whole, rest)) else [*keys, rest]


def _is_late(part: Any) -> bool:
    """Whether the run knows a part of a key."""
    if type(part) is slice:
        return any(map(is_tensor, (part.start, part.stop, part.step)))
    return is_tensor(part)


def _is_whole(part: Any) -> bool:
    return part is Ellipsis or (type(part) is slice and part == slice(None))


def _is_simple(part: Any) -> bool:
    """Whether a part of a key is an index, a slice, ``None`` or ``...``, and no tensor of many."""
    if is_tensor(part):
        return list(part.shape) == [] and "int" in str(part.dtype)
    return part is None or part is Ellipsis or type(part) in (int, slice)


def _either_in(key: Any) -> Either | None:
    """The first :class:`Either` in a key."""
    if isinstance(key, Either):
        return key
    parts: Any = key if type(key) is tuple else ()
    if type(key) is slice:
        parts = (key.start, key.stop, key.step)
    found = [_either_in(part) for part in parts]
    return next((part for part in found if part is not None), None)


def _with(key: Any, chosen: Either, value: Any) -> Any:
    """``key`` with ``value`` in the place of ``chosen``."""
    if key is chosen:
        return value
    if type(key) is tuple:
        return tuple(_with(part, chosen, value) for part in key)
    if type(key) is slice:
        parts = (key.start, key.stop, key.step)
        return slice(*(_with(part, chosen, value) for part in parts))
    return key


def _by_alternative(container: Any, key: Any, chosen: Either) -> Any:
    if chosen.plain and not is_tensor(container) and not isinstance(container, GrowingList):
        try:  # a list or dict of Python: nothing is captured by looking into it
            with tentatively():
                return simplified(
                    chosen.spread(lambda found: getitem(container, _with(key, chosen, found)))
                )
        except Exception:  # one of the keys is not there: the run raises that, if it comes to it
            pass
    exact = not is_tensor(container) or key is not chosen
    return each(
        lambda found: getitem(container, _with(key, chosen, found)), chosen, none=True, exact=exact
    )


def setitem(value: Any, container: Any, key: Any) -> Any:
    """``container[key] = value``; the container to go on with."""
    if current() is not None and bridge.capturing():
        if isinstance(container, Either):
            stored = each(lambda found: setitem(value, found, key), container, plainly=True)
            return stored if any(map(is_tensor, container.leaves())) else container
        chosen = _either_in(key)
        if chosen is not None:
            return _store_by_alternative(value, container, key, chosen)
        if is_tensor(container):
            return each(lambda found: _written(found, container, key), value)
        if is_list(container) and is_tensor(key):
            position = _position(key, len(container))
            for index, item in enumerate(container):
                container[index] = select(position == index, _kept(value), _kept(item))
            return container
        if isinstance(container, dict) and bridge.is_value(key) and number_kind(key) is not None:
            raise error_here(
                ContainerInGraphError,
                "an item of a dict is assigned under a number that only the run knows",
                "use a list or a tensor, or an if statement for each key",
            )
    container[key] = value
    return container


def _is_same_key(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not is_tensor(one) and one == other)


def _store_by_alternative(value: Any, container: Any, key: Any, chosen: Either) -> Any:
    if not is_tensor(container):
        # The container is what each side may change: two methods of it tell the sides apart.
        if isinstance(container, dict) and not all(
            leaf is UNBOUND or any(_is_same_key(known, leaf) for known in container)
            for leaf in (chosen.leaves() if key is chosen else ())
        ):
            raise error_here(
                ContainerInGraphError,
                f"a tensor decides which new key, {chosen.name!r}, a dict gets",
                "write an if statement that assigns to one key on each side, or make the keys "
                "before",
            )
        sides = [(container.__setitem__, side) for side in (chosen.true, chosen.false)]

        def store(method: Any) -> None:
            side = next(side for known, side in sides if known is method)
            if side is UNBOUND:
                raise chosen.unbound()
            setitem(value, container, _with(key, chosen, side))

        each(store, Either(chosen.flag, sides[0][0], sides[1][0], chosen.name))
        return container
    exact = key is not chosen
    return each(
        lambda found: setitem(value, container, _with(key, chosen, found)),
        chosen,
        none=True,
        exact=exact,
    )


def _written(value: Any, container: Any, key: Any) -> Any:
    if bridge.is_value(value) and value.dtype != container.dtype:
        value = paddle.cast(value, container.dtype)
    old = as_value(container)
    fresh = done(bridge.with_item, Method("__setitem__"), (old, key, value), {})
    kept = parameter_with(container, fresh, ITEM)
    return changed_to(container, old, fresh, ITEM) if kept is None else kept


def _kept(thing: Any) -> Any:
    return lambda: thing


def _position(key: Any, length: int) -> Any:
    """An index of the run as a 0-D int64 value from 0 on; outside the run raises."""
    if number_kind(key) is float:
        raise TypeError("list indices must be integers or slices, not float")
    value = cast_plain(as_value(key), "int64")  # of a floating tensor, as ``__index__`` does
    if list(value.shape):
        value = paddle.reshape(value, [])
    raise_when((value < -length) | (value >= length), IndexError("list index out of range"))
    return paddle.where(value < 0, value + length, value)


def picked(items: list[Any], position: Any) -> Any:
    """The item at ``position``."""
    kinds = {number_kind(item) for item in items}
    alike = items and all(is_tensor(item) or number_kind(item) is not None for item in items)
    if alike and len(kinds) == 1:
        (kind,) = kinds
        values = [as_value(item) for item in items]
        kinds_of_values = {(str(value.dtype), *value.shape) for value in values}
        if len(kinds_of_values) == 1 and all(size >= 0 for size in values[0].shape):
            item = paddle.stack(values)[position]
            return item if kind is None else mark_number(item, kind)
    _wants_python()
    return _chain([(position == index, item) for index, item in enumerate(items)])


def _looked_up(table: dict[Any, Any], key: Any) -> Any:
    """The value of a dict under a Python number that the run decides."""
    known, missing = _cases(table, key)
    if is_seen(KeyError()):
        raise_where(missing, lambda: KeyError(key))
        return _chain(known)

    def check(absent: Any, number: Any) -> None:
        if bool(absent):
            raise KeyError(number)

    host_call(check, [missing, key], raises=True)
    return _chain(known)


def _cases(table: dict[Any, Any], key: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The items of a dict with the flags under which they are meant, and the flag for none."""
    if not all(is_tensor(item) or number_kind(item) is not None for item in table.values()):
        _wants_python()
    known = [(key == number, item) for number, item in table.items() if number_kind(number)]
    missing = paddle.full([], True, "bool")
    for holds, _ in known:
        missing = missing & ~holds
    return known, missing


def get(table: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    """``dict.get``: under a number that the run decides, the item that is meant."""
    if isinstance(key, Either):
        return each(lambda found: get(table, found, default), key, none=True, exact=True)
    if not (bridge.is_value(key) and number_kind(key) is not None):
        return table.get(key, default)
    known, missing = _cases(table, key)
    if not known or {number_kind(item) for _, item in known} == {number_kind(default)}:
        return _chain([*known, (missing, default)])
    return _chain([(missing, default), (~missing, _chain(known))])


def _wants_python() -> None:
    """Among things of several kinds, the one of a trip is known where the trip is captured."""
    capture = current()
    if capture is not None:
        capture.needs_python()


def _chain(cases: list[tuple[Any, Any]]) -> Any:
    """The item of the first case that holds, the last one's if none does."""
    if not cases:
        raise IndexError("list index out of range")
    kinds = {number_kind(item) for _, item in cases}
    result = cases[-1][1]
    if len(kinds) == 1 and None not in kinds:
        (kind,) = kinds
        assert kind is not None
        result = as_value(result)
        for holds, item in reversed(cases[:-1]):
            result = paddle.where(holds, as_value(item), result)
        return mark_number(result, kind)
    for holds, item in reversed(cases[:-1]):
        if item is not result:
            result = Either(holds, item, result, "item")
    return result
