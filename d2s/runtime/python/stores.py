"""``container[key] = value`` where a tensor may be any of the three.

A tensor of a program gets a new value in place of being written into, a list or dict of Python each
item that may be meant.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from d2s.runtime.aliasing.identities import as_stored
from d2s.runtime.aliasing.inplace import changed_to, parameter_with
from d2s.runtime.aliasing.replays import Method, done
from d2s.runtime.aliasing.snapshots import changed_double, is_double
from d2s.runtime.aliasing.views.arrays import holders_of_memory, is_from_outside
from d2s.runtime.control_flow.cond import select
from d2s.runtime.lists.becoming import KINDS, become
from d2s.runtime.lists.dynamic_dict import DynamicKeys
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.lists.iteration import moving
from d2s.runtime.python.arrays.array import Array
from d2s.runtime.python.arrays.views import write
from d2s.runtime.python.comparing import is_late_key
from d2s.runtime.python.keys import (
    choice_in,
    is_position,
    spread,
    with_choice,
    without_arrays,
)
from d2s.runtime.python.picking import likely, picked, position_in, refuse_others, was_found
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.cases import as_it_is_now
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.objects import KEEP_ELSEWHERE, changes, is_asked_by_python, is_list
from d2s.runtime.values.tensors import as_value, cast_plain, is_array, is_tensor
from d2s.runtime.values.tree import any_leaf, is_mapping
from d2s.runtime.values.unbound import UNBOUND

ITEM: Final = "an item assignment"


def setitem(value: object, container: Any, key: Any) -> Any:
    """``container[key] = value``; the container to go on with."""
    if current() is not None and bridge.capturing():
        value = possible(value)
        if isinstance(container, Choice):
            return _store_in_one_of(value, container, key)
        if isinstance(container, DynamicKeys):
            container[without_arrays(key, tensors=False)] = value
            return container
        chosen = choice_in(key)
        if chosen is not None:
            return _store_by_alternative(value, container, key, chosen)
        if is_array(container):
            if isinstance(value, Choice):
                return _store_in_array(
                    lambda copy, found: setitem(found, copy, key), container, value
                )
            container[key] = value
            return container
        key = without_arrays(key, tensors=is_tensor(container))
        if is_tensor(container):
            return each(lambda found: _written(found, container, key), value)
        if isinstance(container, np.ndarray) and (
            is_array(value)
            or holds_tensors(value)
            or any_leaf(is_tensor, key, slices=True)
            or is_from_outside(container)
        ):
            return setitem(value, _of_run(container), key)
        if type(container) is list and type(key) is slice and isinstance(value, DynamicList):
            container = become(container, value.iterated().element)
        if is_list(container) and is_tensor(key):
            position = position_in(key, len(container))
            for index, item in enumerate(container):
                container[index] = select(position == index, _kept(value), _kept(item))
            return container
        if is_mapping(container):
            if is_late_key(key):
                return _store_under_number(value, container, key)
            key = as_stored(key, container)
    check_changed(container)
    if type(key) is slice:
        moving(value)
    container[key] = value
    return container


def _store_in_one_of(value: object, container: Choice, key: object) -> Any:
    """An item of one of several things."""
    kept = container.leaves()
    _check_arrays(container)
    _check_methods(container)
    stored = each(lambda found: setitem(value, found, key), container, plainly=True)
    if any(map(is_tensor, kept)):
        return stored
    now = container.renewed()  # what the sides hand out are copies
    same = all(one is other for one, other in zip(kept, now.leaves(), strict=True))
    return container if same else now


def _check_arrays(container: Choice) -> None:
    """Refuse an item of one of several arrays that no run decides, which would be written now."""
    if any(type(leaf) is np.ndarray for leaf in container.leaves()):
        raise error_here(
            UnsupportedInGraphError,
            "an item is assigned of one of several arrays of NumPy, as a tensor has decided",
            "assign it in the branches; or let np.where choose the contents of one array",
        )


def _check_methods(container: Choice) -> None:
    """Refuse an item of one of several containers of a class that Python calls methods of."""
    for kind in map(type, container.leaves()):
        plain = hasattr(kind, "d2s_plain")  # what was read out of a list of the run
        if issubclass(kind, tuple(KINDS)) and is_asked_by_python(kind) and not plain:
            raise error_here(
                ContainerInGraphError,
                f"an item of {container.name!r} is assigned, which is one of several "
                f"{kind.__name__}s, as a tensor has decided, whose class has methods that Python "
                "calls",
                "assign it in the branches, or name these methods, and call them",
            )


def delitem(container: Any, key: object) -> None:
    """``del container[key]``."""
    if current() is not None and bridge.capturing():
        if isinstance(container, Choice):
            each(lambda found: delitem(found, key), container, plainly=True)
            return
        if isinstance(key, Choice):
            each(lambda found: delitem(container, found), key, changes=True)
            return
        key = without_arrays(key, tensors=False)
        if is_list(container) and is_tensor(key):
            check_changed(container)
            _close_up(container, position_in(key, len(container), "list assignment"))
            return
        if is_mapping(container) and is_late_key(key):
            pair = key, next(iter(container.values()), None)
            del become(container, element_of(pair))[key]
            return
        if is_mapping(container):
            key = as_stored(key, container)
    del container[key]


def pop(container: list[Any], key: object) -> Any:
    """``list.pop``, at a position that the run decides."""
    check_changed(container)
    if not container:
        return container.pop()
    position = position_in(without_arrays(key, tensors=False), len(container), "pop")
    gone = picked(list(container), position)
    _close_up(container, position)
    return gone


def insert(container: list[Any], key: object, item: object) -> None:
    """``list.insert``, at a position that the run decides."""
    check_changed(container)
    before, length, item = list(container), len(container), possible(item)
    container.append(before[-1] if before else item)
    value = cast_plain(as_value(without_arrays(key, tensors=False)), "int64").reshape([])
    position = paddle.clip(paddle.where(value < 0, value + length, value), 0, length)
    for index in range(length + 1 if before else 0):
        moved = _kept(before[max(index - 1, 0)])
        here = functools.partial(select, position == index, _kept(item), moved)
        stays = before[min(index, length - 1)]
        container[index] = select(position > index, _kept(stays), here)


def _close_up(items: list[Any], position: paddle.Tensor) -> None:
    """Take an item out of a list of Python: what is behind it moves up."""
    for index, (item, following) in enumerate(itertools.pairwise(list(items))):
        items[index] = select(position <= index, _kept(following), _kept(item))
    items[-1:] = []


def check_changed(container: object) -> None:
    """Refuse to change a container that a run of the program would not find changed."""
    capture = current()
    if capture is not None:
        if capture.placed:
            capture.check_placed(container)
        _check_kept(container, None if capture.outside is None else capture.outside(container))
    if is_double(container):
        raise changed_double(container)


def _check_kept(container: object, path: str | None) -> None:
    """Refuse a container to which a run of the program would write nothing.

    Args:
        container: is about to be given an item.
        path: what a reader calls it, if only Python can change it.
    """
    if type(container) is dict and "__builtins__" in container:
        path = "globals()"
    elif container is os.environ:
        path = "os.environ"
    if path is not None:
        raise error_here(UnsupportedInGraphError, changes(container, path), KEEP_ELSEWHERE)


def _of_run(container: np.ndarray[Any, Any]) -> Array:
    """A constant array that is about to get what the run decides: one of the run from here on.

    Raises:
        UnsupportedInGraphError: (D2S205) somebody else knows the constant one: it is from outside
            of the function, or has another name.
    """
    check_changed(container)
    capture = current()
    assert capture is not None
    if is_from_outside(container):
        raise error_here(
            UnsupportedInGraphError,
            "an item is written into an array of NumPy, in a branch or loop that a tensor decides, "
            "which has other names or is an item or attribute",
            "give the array one name, and write into that; or write into a tensor",
        )
    known = holders_of_memory(container)
    if len({holder.place for holder in known}) > 1 or container.base is not None:
        raise error_here(
            UnsupportedInGraphError,
            "an item that each run decides is written into an array of NumPy that is known under "
            "another name too",
            "write into a tensor, or into a .copy() under one name",
        )
    made = Array.of(container)
    for holder in known:
        if holder.fixed:
            raise error_here(
                UnsupportedInGraphError,
                "an item that each run decides is written into an array of NumPy in a tuple",
                "keep the array in a list, or under a name",
            )
        holder.set(made)
    return made


def _store_in_array(store: Callable[[Any, Any], object], array: Array, chosen: Choice) -> Array:
    """An array of which one of several things is written, or one of several parts is.

    Args:
        store: writes one alternative into an array.
        array: the array.
        chosen: the alternatives.
    """

    def written(found: object) -> Any:
        copy = array.copy()
        store(copy, found)
        return copy.value

    write(array, as_value(each(written, chosen, none=True)))
    return array


def _store_under_number(value: object, table: dict[Any, Any], key: object) -> Any:
    """``table[key] = value`` where the run knows which of the keys it is, or that it is none.

    A dict that has been asked for the key before has it, and stays one of Python's.
    """
    cases = likely(table, key)
    if not was_found(table, key) or not cases:
        made = become(table, element_of((key, value)))
        made[key] = value
        return made
    refuse_others([holds for _, holds in cases])
    for number, holds in cases:
        table[number] = select(holds, _kept(value), _kept(table[number]))
    return table


def _is_same_key(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and not is_tensor(one) and one == other)


def _has_all(table: Iterable[object], key: object) -> bool:
    """Whether a dict has whatever ``key`` may be."""

    def has(one: object) -> bool:
        return one is UNBOUND or any(_is_same_key(known, one) for known in table)

    if isinstance(key, Choice):
        return all(map(has, key.leaves()))
    try:
        return all(spread(key, has).leaves())
    except LookupError:
        return False


def makes_key(table: Iterable[object], key: object) -> bool:
    """Whether reading an item of a dict with a factory may make a key that only the run knows."""
    if getattr(table, "default_factory", None) is None or not is_mapping(table):
        return False
    keys = key.leaves() if isinstance(key, Choice) else [key]
    return any(map(is_late_key, keys)) or not _has_all(table, key)


def _store_by_alternative(value: object, container: Any, key: object, chosen: Choice) -> Any:
    if isinstance(container, np.ndarray):
        container = _of_run(container)
    if is_array(container):
        return _store_in_array(
            lambda copy, found: setitem(value, copy, with_choice(key, chosen, found)),
            container,
            chosen,
        )
    if not is_tensor(container):
        # The container is what each side may change: two methods of it tell the sides apart.
        if is_mapping(container) and not _has_all(container, key):
            if key is not chosen:
                return _store_under_number(value, container, key)
            made = become(container, element_of((key, value)))
            made[key] = value
            return made
        true, false = container.__setitem__, container.__delitem__

        def store(method: Any) -> None:
            side = chosen.true if method.__name__ == true.__name__ else chosen.false
            if side is UNBOUND:
                raise chosen.unbound()
            setitem(value, method.__self__, with_choice(key, chosen, side))

        each(store, Choice(chosen.flag, true, false, chosen.name))
        return as_it_is_now(container)
    return each(
        lambda found: setitem(value, container, with_choice(key, chosen, found)),
        chosen,
        none=True,
        exact=not is_position(key, chosen),
    )


def _written(value: object, container: paddle.Tensor, key: object) -> paddle.Tensor:
    if is_array(value):
        value = value.value
    if bridge.is_value(value) and value.dtype != container.dtype:
        value = paddle.cast(value, container.dtype)
    old = as_value(container)
    fresh = done(bridge.with_item, Method("__setitem__"), (old, key, value), {})
    capture, inner = current(), bridge.inner_write(fresh)
    if capture is not None and inner is not None:
        capture.notes.settled[inner.id] = frozenset((inner.id, fresh.id))
    kept = parameter_with(container, fresh, ITEM)
    return changed_to(container, old, fresh, ITEM) if kept is None else kept


def _kept(value: object) -> Callable[[], object]:
    return lambda: value
