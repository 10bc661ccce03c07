"""``container[key]`` where a tensor may be either of the two, and what else looks for an item.

A Python list, tuple or dict that is asked for an item which only the run knows gives the one that
is meant: see ``picking``.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable, Sized
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.identities import as_stored
from d2s.runtime.aliasing.replays import Method, done
from d2s.runtime.host.text import HostText, snapshot, text
from d2s.runtime.lists.becoming import become, may_run_code
from d2s.runtime.lists.dynamic_dict import DynamicKeys
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.lists.items.views import is_view
from d2s.runtime.lists.lending import check_among
from d2s.runtime.lists.positions import RunRange
from d2s.runtime.python import stores
from d2s.runtime.python.arrays.array import Array
from d2s.runtime.python.comparing import eq, is_late_key
from d2s.runtime.python.keys import (
    apart,
    choice_in,
    is_late,
    is_list_of_run,
    is_of_run,
    is_position,
    is_undecided,
    with_choice,
    without_arrays,
)
from d2s.runtime.python.making import to_tensor
from d2s.runtime.python.picking import (
    case_of,
    cases_of,
    chosen_of,
    likely,
    note_found,
    picked,
    position_in,
    refuse_others,
)
from d2s.runtime.trace import current, error_here, tentatively
from d2s.runtime.values.callbacks import host_call, is_seen, raise_when, raise_where
from d2s.runtime.values.cases import MOST
from d2s.runtime.values.choice import Choice, at_once, each, possible
from d2s.runtime.values.constants import holds_tensors
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    condition,
    is_array,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
)
from d2s.runtime.values.tree import (
    is_list_or_tuple,
    is_mapping,
    is_plain_sequence,
    is_sequence,
    is_tuple,
)


def getitem(container: Any, key: Any, /) -> Any:
    """``container[key]``."""
    if current() is None:
        return container[key]
    if isinstance(container, DynamicKeys):
        return container[without_arrays(key, tensors=False)]
    if isinstance(container, Choice):
        return each(lambda found: getitem(found, key), container, plainly=True)
    chosen = choice_in(key)
    if chosen is not None:
        return _by_alternative(container, key, chosen)
    if is_array(container) or isinstance(container, RunRange):
        return container[key]
    key = without_arrays(key, tensors=is_tensor(container))
    if isinstance(container, np.ndarray) and is_of_run(key):
        return Array.of(container)[key]
    if is_mapping(container):
        if is_late_key(key):
            return _looked_up(container, key)
        return container[as_stored(key, container)]
    if not is_tensor(key):
        return _sliced(container, key) if type(key) is slice and is_late(key) else container[key]
    return _at(container, key)


_LISTS_OF_LAYERS: Final = (paddle.nn.LayerList, paddle.nn.ParameterList)


def _at(container: Any, key: paddle.Tensor) -> Any:
    """The item at a position that the run knows."""
    if is_sequence(container) or isinstance(container, _LISTS_OF_LAYERS):
        listed = is_list_or_tuple(container) or not is_sequence(container)
        word = "tuple" if is_tuple(container) else "list" if listed else "deque"
        return picked(list(container), position_in(key, len(container), word))
    if isinstance(container, range):
        position = position_in(key, len(container), "range object")
        return mark_number(position * container.step + container.start, int)
    return _letter(container, key) if isinstance(container, str) else container[key]


def _letter(text: str, key: object) -> Any:
    """One letter of a text."""
    position = position_in(key, len(text), "string")
    return picked(list(text), position) if len(text) <= MOST else _in_text(text, position)


def _in_text(text: str, key: object) -> HostText:
    """A part of a text, which the run cuts out."""
    return HostText(((HostText((text,)), "[]", snapshot(key)),))


def _sliced(container: Any, key: slice) -> Any:
    """``container[start:stop]`` where the run knows a bound."""
    if isinstance(container, str):
        return _in_text(container, key)
    if not is_plain_sequence(container):
        return container[key]
    items = list(container)
    if not items:
        return container[:]
    if all(is_numeric(item) for item in items) or _are_too_many(container, key):
        with tentatively():
            try:
                whole = DynamicList.of(items, Words("a slice"))
                if not (whole.element.has_mutable or whole.element.has_objects):
                    part = whole[key]
                    return part.d2s_tuple() if type(container) is tuple else part
            except ContainerInGraphError:  # they are not of one type
                pass
    return _one_of_slices(container, key)


def _are_too_many(container: Sized, key: slice) -> bool:
    """Whether there may be more slices than are told apart by a ``Choice``."""
    bounds = [part for part in (key.start, key.stop, key.step) if is_tensor(part)]
    return len(bounds) > 1 or is_tensor(key.step) or len(container) > MOST // 2


def _one_of_slices(container: Any, key: slice) -> Any:
    """The slices that there may be, as a ``Choice``."""
    if _are_too_many(container, key):
        raise error_here(
            ContainerInGraphError,
            "numbers that the run decides bound a slice of a list or tuple that holds lists, dicts "
            "or objects, or are its step",
            "hold tuples in it, or use a constant for one of the bounds and for the step",
        )
    (bound,) = (part for part in (key.start, key.stop) if is_tensor(part))
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
    return chosen_of([(value == number, part) for number, part in enumerate(slices)])


def value_getitem() -> Callable[[Any, Any], Any]:
    """``__getitem__`` of values, for the time of a capture."""
    original = bridge.Value.__getitem__

    def taken(value: object, key: object) -> Any:
        if is_list_of_run(key):
            key = to_tensor(key)
        value, key = bridge.with_fitting_masks(value, bridge.key_in_program(value, key))
        for part in apart(value, key):
            value = original(value, part)
        return value

    def __getitem__(value: object, key: object) -> Any:
        return done(taken, Method("__getitem__"), (value, key), {})

    return __getitem__


def _by_alternative(container: Any, key: object, chosen: Choice) -> Any:
    def use(found: object) -> Any:
        return getitem(container, with_choice(key, chosen, found))

    makes = stores.makes_key(container, key)
    code = is_user_class(type(container)) and may_run_code(container)
    looks = not (makes or code or is_tensor(container) or isinstance(container, DynamicList))
    if chosen.plain and looks:
        found = at_once(use, chosen)  # nothing is captured by looking into a list or dict
        if found is not None:
            return found
    asked = is_mapping(container) and (key is not chosen or makes)
    if asked and is_undecided(key):
        return _looked_up(container, key)
    exact = not (is_tensor(container) and is_position(key, chosen))
    return each(use, chosen, none=True, exact=exact, changes=code)


# -- methods of containers -------------------------------------------------------------------------


def _looked_up(table: dict[Any, Any], key: object) -> Any:
    """The value of a dict under a Python number that the run decides."""
    if isinstance(table, collections.Counter):
        return get(table, key, 0)
    if isinstance(table, collections.defaultdict) and table.default_factory is not None:
        return become(table, element_of((key, table.default_factory())))[key]
    if hasattr(type(table), "__missing__"):  # it may make the key
        refuse_others([holds for _, holds in likely(table, key)])
    known, missing = cases_of(table, key)
    note_found(table, key)
    if number_kind(key) is None or is_seen(KeyError()):
        raise_where(missing, lambda: KeyError(key))
        return case_of(known)

    def check(absent: object, number: object) -> None:
        if bool(absent):
            raise KeyError(number)

    host_call(check, [missing, key], raises=True)
    return case_of(known)


def is_looked_up(kind: type) -> bool:
    """Whether a call of a class gives one of its objects, by its value: ``Color(2)``."""
    if not issubclass(kind, enum.Enum) or issubclass(kind, enum.Flag) or not len(kind):
        return False
    if type(kind).__call__ is not enum.EnumMeta.__call__:
        return False
    asked = getattr(kind._missing_, "__func__", None)
    return asked is getattr(enum.Enum._missing_, "__func__", enum.Enum)


def member_of(kind: type[enum.Enum], *value: object, **options: object) -> Any:
    """``Color(value)``: the member that is meant, also by a number that the run decides."""
    (given,) = value if len(value) == 1 and not options else (None,)
    if isinstance(given, Choice):
        return each(lambda found: member_of(kind, found), given, none=True, exact=True)
    given = without_arrays(given, tensors=False)
    if number_kind(given) is None or not is_late_key(given):
        return kind(*value, **options)
    numbers = {each_.value: each_ for each_ in kind if isinstance(each_.value, int | float)}
    known, missing = cases_of(numbers, given)
    valid = f" is not a valid {kind.__qualname__}"
    raise_where(missing, lambda: ValueError(text((given, "r", ""), valid)))
    return case_of(known)


def get(table: dict[Any, Any], key: object, default: object = None, /) -> Any:
    """``dict.get``: under a number that the run decides, the item that is meant."""
    if isinstance(key, Choice):
        return each(lambda found: get(table, found, default), key, none=True, exact=True)
    if not is_undecided(key):
        return table.get(as_stored(key, table), default)
    known, missing = cases_of(table, key)
    if not known:
        return default
    if {number_kind(item) for _, item in known} == {number_kind(default)}:
        return chosen_of([*known, (missing, default)])
    return chosen_of([(missing, default), (~missing, chosen_of(known))])


def _by_key(use: Callable[[Any], Any], key: Choice) -> Any:
    """``use`` of each of several keys."""
    if key.plain:
        found = at_once(use, key)
        if found is not None:
            return found
    return each(use, key, none=True, exact=True)


def index_of(items: list[Any] | tuple[Any, ...], item: object, *bounds: Any) -> Any:
    """``list.index`` and ``tuple.index``."""
    if isinstance(item, Choice):
        return _by_key(lambda found: index_of(items, found, *bounds), item)
    if not _is_asked_of_run(items, item):
        return items.index(item, *bounds)
    flags = _equal(items, item)
    if bounds:
        places = DynamicList.of([mark_number(flag, bool) for flag in flags], Words("a list"))
        return places.index(True, *bounds)
    found = paddle.stack(flags)
    raise_where(~found.any(), lambda: _not_in(items, item))
    return mark_number(paddle.argmax(paddle.cast(found, "int64")), int)


def is_removed_late(items: list[Any], *given: object) -> bool:
    """Whether only the run can tell which of ``items`` is to be removed, by its number say."""
    item = possible(given[0]) if given else None
    leaves = item.leaves() if isinstance(item, Choice) else [item]
    if any(map(is_view, leaves)):
        return True
    asked = (leaf for leaf in leaves if not is_object(leaf) or not isinstance(item, Choice))
    return any(_is_asked_of_run(items, leaf) for leaf in asked)


def remove(items: list[Any], item: object) -> None:
    """``list.remove``, where only the run may be able to compare."""
    if isinstance(item, Choice) and not any(map(is_view, item.leaves())):
        each(lambda found: remove(items, found), item, changes=True)
        return
    flags = _compared(items, item)
    if not bridge.is_value(next((flag for flag in flags if flag is not False), None)):
        items.remove(item)  # Python finds it, or that it is not there
        return
    found = paddle.stack(list(map(_as_value_of, flags)))
    raise_when(~found.any(), ValueError("list.remove(x): x not in list"))
    stores.pop(items, mark_number(paddle.argmax(paddle.cast(found, "int64")), int))


def _not_in(items: list[Any] | tuple[Any, ...], item: object) -> ValueError:
    """What ``index`` raises for an item that is not there, in Python's words."""
    try:
        type(items)().index(_MARK)
    except ValueError as error:
        before, mark, after = str(error).partition(repr(_MARK))
    return ValueError(HostText((before, (item, "r", ""), after)) if mark else before)


_MARK: Final = 20071969
"""What stands for an item in an error message."""


def count_of(items: list[Any] | tuple[Any, ...], item: object) -> Any:
    """``list.count`` and ``tuple.count``."""
    if isinstance(item, Choice):
        return _by_key(lambda found: count_of(items, found), item)
    if not _is_asked_of_run(items, item):
        return items.count(item)
    return mark_number(paddle.cast(paddle.stack(_equal(items, item)), "int64").sum(), int)


def _equal(items: list[Any] | tuple[Any, ...], item: object) -> list[paddle.Tensor]:
    """For each of ``items`` whether it equals ``item``, as 0-D bool values."""
    return list(map(_as_value_of, _compared(items, item)))


def _compared(items: list[Any] | tuple[Any, ...], item: object) -> list[Any]:
    """For each of ``items`` whether it equals ``item``, a bool where Python knows."""
    known = [other.get() if isinstance(other, Choice) else other for other in items]
    return [condition(eq(other, item)) for other in known]


def _as_value_of(holds: object) -> paddle.Tensor:
    return holds if bridge.is_value(holds) else paddle.full([], bool(holds), "bool")


def _is_asked_of_run(items: list[Any] | tuple[Any, ...], item: object) -> bool:
    """Whether only the run can compare ``item`` with ``items``."""
    check_among(item, items)
    return bool(items) and any(holds_tensors(found) for found in (item, *items))
