"""``container[key]`` and ``container[key] = value`` where a tensor may be either of the two.

A tensor of a program gets a new value in place of being written into.  A Python list, tuple or
dict that is asked for an item which only the run knows gives the one that is meant: stacked and
indexed where the items are alike, else a :class:`Choice` of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from d2s.runtime.aliasing.holders import names_of
from d2s.runtime.aliasing.inplace import changed_to, parameter_with
from d2s.runtime.aliasing.picks import note_pick
from d2s.runtime.aliasing.replays import Method, done
from d2s.runtime.control_flow.cond import select
from d2s.runtime.host.text import HostText, snapshot
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.arrays.array import Array
from d2s.runtime.python.comparing import eq, is_late_key
from d2s.runtime.trace import current, error_here, tentatively
from d2s.runtime.values.callbacks import host_call, is_seen, raise_when, raise_where
from d2s.runtime.values.cases import MOST
from d2s.runtime.values.choice import Choice, each, simplified
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.objects import is_list
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    condition,
    is_array,
    is_tensor,
    mark_number,
    number_kind,
)
from d2s.runtime.values.unbound import UNBOUND

FEW: Final = 4
"""So many items of a dict are told apart by a branch each."""

ITEM: Final = "an item assignment"


def getitem(container: Any, key: Any, /) -> Any:
    """``container[key]``."""
    if current() is None:
        return container[key]
    if isinstance(container, Choice):
        return each(lambda found: getitem(found, key), container, plainly=True)
    chosen = _either_in(key)
    if chosen is not None:
        return _by_alternative(container, key, chosen)
    if is_array(container):
        return container[key]
    key = _without_arrays(key, tensors=is_tensor(container))
    if isinstance(container, np.ndarray) and _is_of_run(key):
        return Array.of(container)[key]
    if isinstance(container, dict) and is_late_key(key):
        return _looked_up(container, key)
    if not is_tensor(key):
        return _sliced(container, key) if type(key) is slice and _is_late(key) else container[key]
    if isinstance(container, list | tuple | paddle.nn.LayerList | paddle.nn.ParameterList):
        word = "tuple" if isinstance(container, tuple) else "list"
        return picked(list(container), _position(key, len(container), word))
    if isinstance(container, range):
        position = _position(key, len(container), "range object")
        return mark_number(position * container.step + container.start, int)
    if isinstance(container, str):
        return _letter(container, key)
    return container[key]


def _without_arrays(key: Any, *, tensors: bool) -> Any:
    """A key with tensors, or numbers of the run, in the place of arrays of the run."""
    if is_array(key):
        if tensors and not key.scalar:
            return key.value
        return key.d2s_index() if not key.ndim else key
    if type(key) is tuple:
        return tuple(_without_arrays(part, tensors=tensors) for part in key)
    if type(key) is slice:
        bounds = (key.start, key.stop, key.step)
        return slice(*(_without_arrays(part, tensors=False) for part in bounds))
    return key


def _is_of_run(key: Any) -> bool:
    """Whether the run decides a part of a key of an array."""
    parts = key if type(key) is tuple else (key,)
    return any(is_array(part) or _is_late(part) for part in parts)


def _likely(table: dict[Any, Any], key: Any) -> list[tuple[Any, Any]]:
    """The keys of a dict that ``key`` may be, and whether it is, as bool values."""
    if type(key) is tuple:
        found = [(known, condition(eq(key, known))) for known in table if type(known) is tuple]
        return [
            (known, paddle.full([], True, "bool") if holds is True else holds)
            for known, holds in found
            if holds is not False
        ]
    return [(number, key == number) for number in table if type(number) in NUMBER_DTYPES]


def _letter(text: str, key: Any) -> Any:
    """One letter of a text."""
    position = _position(key, len(text), "string")
    return picked(list(text), position) if len(text) <= MOST else _in_text(text, position)


def _in_text(text: str, key: Any) -> HostText:
    """A part of a text, which the run cuts out."""
    return HostText(((HostText((text,)), "[]", snapshot(key)),))


def _sliced(container: Any, key: slice) -> Any:
    """``container[start:stop]`` where the run knows a bound."""
    if isinstance(container, str):
        return _in_text(container, key)
    if type(container) not in (list, tuple):
        return container[key]
    items = list(container)
    if not items:
        return container[:]
    if all(is_tensor(item) or number_kind(item) is not None for item in items):
        with tentatively():
            try:
                part = DynamicList.of(items, "slice")[key]
                return part.d2s_tuple() if type(container) is tuple else part
            except ContainerInGraphError:  # they are not of one type
                pass
    return _one_of_slices(container, key)


def _one_of_slices(container: Any, key: slice) -> Any:
    """The slices that there may be, as a ``Choice``."""
    bounds = [part for part in (key.start, key.stop, key.step) if is_tensor(part)]
    if len(bounds) > 1 or is_tensor(key.step) or len(container) > MOST // 2:
        raise error_here(
            ContainerInGraphError,
            "numbers that the run decides bound a slice of a list or tuple of several kinds of "
            "things",
            "use things of one kind, or a constant for one of the bounds",
        )
    (bound,) = bounds
    if number_kind(bound) is float:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    size = len(container)
    value = cast_plain(as_value(bound), "int64")
    value = paddle.reshape(value, []) if list(value.shape) else value
    value = paddle.clip(paddle.where(value < 0, value + size, value), 0, size)
    start, stop = is_tensor(key.start), is_tensor(key.stop)
    slices = [
        container[number if start else key.start : number if stop else key.stop : key.step]
        for number in range(size + 1)
    ]
    return _chain([(value == number, part) for number, part in enumerate(slices)])


def value_getitem() -> Callable[[Any, Any], Any]:
    """``__getitem__`` of values, for the time of a capture."""
    original = bridge.Value.__getitem__

    def taken(value: Any, key: Any) -> Any:
        if type(key) is list and any(number_kind(part) and is_tensor(part) for part in key):
            key = paddle.stack([cast_plain(as_value(part), "int64") for part in key])
        value, key = bridge.with_fitting_masks(value, key)
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


def _either_in(key: Any) -> Choice | None:
    """The first :class:`Choice` in a key."""
    if isinstance(key, Choice):
        return key
    parts: Any = key if type(key) in (tuple, list) else ()
    if type(key) is slice:
        parts = (key.start, key.stop, key.step)
    found = [_either_in(part) for part in parts]
    return next((part for part in found if part is not None), None)


def _with(key: Any, chosen: Choice, value: Any) -> Any:
    """``key`` with ``value`` in the place of ``chosen``."""
    if key is chosen:
        return value
    if type(key) in (tuple, list):
        return type(key)(_with(part, chosen, value) for part in key)
    if type(key) is slice:
        parts = (key.start, key.stop, key.step)
        return slice(*(_with(part, chosen, value) for part in parts))
    return key


def _by_alternative(container: Any, key: Any, chosen: Choice) -> Any:
    if chosen.plain and not is_tensor(container) and not isinstance(container, DynamicList):
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
        if isinstance(container, Choice):
            stored = each(lambda found: setitem(value, found, key), container, plainly=True)
            return stored if any(map(is_tensor, container.leaves())) else container
        chosen = _either_in(key)
        if chosen is not None:
            return _store_by_alternative(value, container, key, chosen)
        if is_array(container):
            each(lambda found: container.__setitem__(key, found), value)
            return container
        key = _without_arrays(key, tensors=is_tensor(container))
        if is_tensor(container):
            return each(lambda found: _written(found, container, key), value)
        if isinstance(container, np.ndarray) and (is_array(value) or holds_tensors((value, key))):
            return _into_constant(value, container, key)
        if is_list(container) and is_tensor(key):
            position = _position(key, len(container))
            for index, item in enumerate(container):
                container[index] = select(position == index, _kept(value), _kept(item))
            return container
        if isinstance(container, dict) and is_late_key(key):
            _store_under_number(value, container, key)
            return container
    container[key] = value
    return container


def _into_constant(value: Any, container: Any, key: Any) -> Array:
    """A constant array that gets what the run decides: an array of the run from here on.

    Raises:
        UnsupportedInGraphError: (D2S205) somebody else knows the constant one.
    """
    capture = current()
    assert capture is not None
    if any(block.kind == "loop" for block in capture.blocks):
        raise error_here(
            UnsupportedInGraphError,
            "an item that each run decides is written into an array of NumPy inside a static loop",
            "write into a tensor, or make the array of one of the run, as by zeros_like(x.numpy())",
        )
    known = names_of(container)
    if len(known) > 1 or container.base is not None:
        raise error_here(
            UnsupportedInGraphError,
            "an item that each run decides is written into an array of NumPy that is known under "
            "another name too",
            "write into a tensor, or into a .copy() under one name",
        )
    made = Array.of(container)
    made[key] = value
    return made


def _store_under_number(value: Any, table: dict[Any, Any], key: Any) -> None:
    """``table[key] = value`` where the run knows which of the keys it is.

    Raises:
        ContainerInGraphError: (D2S207) there is no number among the keys; the run raises it where
            the number is none of the keys.
    """
    cases = _likely(table, key)
    capture = current()
    if not cases or (capture is not None and capture.tentative):  # another one knows the number
        raise _no_such_key()
    _refuse_others([holds for _, holds in cases])
    for number, holds in cases:
        table[number] = select(holds, _kept(value), _kept(table[number]))


def _no_such_key() -> Exception:
    return error_here(
        ContainerInGraphError,
        "an item of a dict is assigned under a number that only the run knows, and that is none of "
        "its keys",
        "make the keys before, or use a list or a tensor",
    )


def _none_of(flags: list[Any]) -> Any:
    """Whether none of ``flags`` holds."""
    missing = paddle.full([], True, "bool")
    for holds in flags:
        missing = missing & ~holds
    return missing


def _refuse_others(flags: list[Any]) -> None:
    """Let the run refuse a number that is none of the keys of a dict, which it would get."""
    missing = _none_of(flags)
    with tentatively():
        refusal = _no_such_key()
    raise_when(missing, refusal)


def _is_same_key(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not is_tensor(one) and one == other)


def _store_by_alternative(value: Any, container: Any, key: Any, chosen: Choice) -> Any:
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

        each(store, Choice(chosen.flag, sides[0][0], sides[1][0], chosen.name))
        return container
    exact = key is not chosen
    return each(
        lambda found: setitem(value, container, _with(key, chosen, found)),
        chosen,
        none=True,
        exact=exact,
    )


def _written(value: Any, container: Any, key: Any) -> Any:
    if is_array(value):
        value = value.value
    if bridge.is_value(value) and value.dtype != container.dtype:
        value = paddle.cast(value, container.dtype)
    old = as_value(container)
    fresh = done(bridge.with_item, Method("__setitem__"), (old, key, value), {})
    capture, inner = current(), bridge.inner_write(fresh)
    if capture is not None and inner is not None:
        capture.settled[inner.id] = frozenset((inner.id, fresh.id))
    kept = parameter_with(container, fresh, ITEM)
    return changed_to(container, old, fresh, ITEM) if kept is None else kept


def _kept(thing: Any) -> Any:
    return lambda: thing


def _position(key: Any, length: int, word: str = "list") -> Any:
    """An index of the run as a 0-D int64 value from 0 on; outside the run raises.

    Args:
        key: the index, a number or a tensor.
        length: how many items there are.
        word: what is indexed, in Python's words.
    """
    if number_kind(key) is float:
        words = {"string": "string indices must be integers, not 'float'"}
        plain = f"{word.split()[0]} indices must be integers or slices, not float"
        raise TypeError(words.get(word, plain))
    value = cast_plain(as_value(key), "int64")  # of a floating tensor, as ``__index__`` does
    if list(value.shape):
        value = paddle.reshape(value, [])
    raise_when((value < -length) | (value >= length), IndexError(f"{word} index out of range"))
    return paddle.where(value < 0, value + length, value)


def picked(items: list[Any], position: Any) -> Any:
    """The item at ``position``."""
    if _are_stackable(items):
        return _out_of_stack(items, position)
    _wants_python()
    return _chain([(position == index, item) for index, item in enumerate(items)])


def _are_stackable(items: list[Any]) -> bool:
    """Whether ``items`` are numbers of one type, or tensors of one dtype and shape."""
    kinds = {number_kind(item) for item in items}
    if len(kinds) != 1 or not all(is_tensor(item) or kinds != {None} for item in items):
        return False
    forms = {(str(value.dtype), *value.shape) for value in map(as_value, items)}
    return len(forms) == 1 and all(size >= 0 for size in next(iter(forms))[1:])


def _out_of_stack(items: list[Any], position: Any) -> Any:
    item = paddle.stack([as_value(item) for item in items])[position]
    kind = number_kind(items[0])
    if kind is None:
        note_pick(item, items, position)
        return item
    return mark_number(item, kind)


def _case_of(known: list[tuple[Any, Any]]) -> Any:
    """The item under the flag that holds, where one does."""
    items = [item for _, item in known]
    if len(items) <= FEW or not _are_stackable(items):
        return _chain(known)
    position = paddle.full([], 0, "int64")
    for at, (holds, _) in enumerate(known):
        position = paddle.where(holds, paddle.full([], at, "int64"), position)
    return _out_of_stack(items, position)


def _looked_up(table: dict[Any, Any], key: Any) -> Any:
    """The value of a dict under a Python number that the run decides."""
    if hasattr(type(table), "__missing__"):  # it may make the key
        _refuse_others([holds for _, holds in _likely(table, key)])
    known, missing = _cases(table, key)
    if type(key) is tuple or is_seen(KeyError()):
        raise_where(missing, lambda: KeyError(key))
        return _case_of(known)

    def check(absent: Any, number: Any) -> None:
        if bool(absent):
            raise KeyError(number)

    host_call(check, [missing, key], raises=True)
    return _case_of(known)


def _cases(table: dict[Any, Any], key: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The items of a dict with the flags under which they are meant, and the flag for none."""
    if not all(is_tensor(item) or number_kind(item) is not None for item in table.values()):
        _wants_python()
    known = [(holds, table[number]) for number, holds in _likely(table, key)]
    return known, _none_of([holds for holds, _ in known])


def get(table: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    """``dict.get``: under a number that the run decides, the item that is meant."""
    if isinstance(key, Choice):
        return each(lambda found: get(table, found, default), key, none=True, exact=True)
    if not is_late_key(key):
        return table.get(key, default)
    known, missing = _cases(table, key)
    if not known:
        return default
    if {number_kind(item) for _, item in known} == {number_kind(default)}:
        return _chain([*known, (missing, default)])
    return _chain([(missing, default), (~missing, _chain(known))])


def _wants_python() -> None:
    """Among things of several kinds, the one of a trip is known where the trip is captured."""
    capture = current()
    if capture is not None:
        capture.needs_python()


def _by_key(use: Callable[[Any], Any], key: Choice) -> Any:
    """``use`` of each of several keys."""
    if key.plain:
        try:
            with tentatively():
                return simplified(key.spread(use))
        except Exception:  # it raises for one of them: the run does, if it comes to it
            pass
    return each(use, key, none=True, exact=True)


def index_of(items: Any, item: Any, *bounds: Any) -> Any:
    """``list.index`` and ``tuple.index``."""
    if isinstance(item, Choice):
        return _by_key(lambda found: index_of(items, found, *bounds), item)
    if not _is_asked_of_run(items, item):
        return items.index(item, *bounds)
    flags = _equal(items, item)
    if bounds:
        places = DynamicList.of([mark_number(flag, bool) for flag in flags], "list")
        return places.index(True, *bounds)
    found = paddle.stack(flags)
    raise_where(~found.any(), lambda: _not_in(items, item))
    return mark_number(paddle.argmax(paddle.cast(found, "int64")), int)


def _not_in(items: Any, item: Any) -> ValueError:
    """What ``index`` raises for an item that is not there, in Python's words."""
    try:
        type(items)().index(_MARK)
    except ValueError as error:
        before, mark, after = str(error).partition(repr(_MARK))
    return ValueError(HostText((before, (item, "r", ""), after)) if mark else before)


_MARK: Final = 20071969
"""What stands for an item in an error message."""


def count_of(items: Any, item: Any) -> Any:
    """``list.count`` and ``tuple.count``."""
    if isinstance(item, Choice):
        return _by_key(lambda found: count_of(items, found), item)
    if not _is_asked_of_run(items, item):
        return items.count(item)
    return mark_number(paddle.cast(paddle.stack(_equal(items, item)), "int64").sum(), int)


def _equal(items: Any, item: Any) -> list[Any]:
    """For each of ``items`` whether it equals ``item``, as 0-D bool values."""
    known = [other.get() if isinstance(other, Choice) else other for other in items]
    return [
        holds if bridge.is_value(holds) else paddle.full([], holds, "bool")
        for holds in (condition(eq(other, item)) for other in known)
    ]


def _is_asked_of_run(items: Any, item: Any) -> bool:
    """Whether only the run can compare ``item`` with ``items``."""
    return bool(items) and any(holds_tensors(found) for found in (item, *items))


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
            result = Choice(holds, item, result, "item")
    return result
