"""``set``, ``dict``, ``deque`` and ``Counter`` of things that the run decides.

Which of several equal keys stays, is asked of one matrix of comparisons: the first one does, and
a dict gives it the value of the last.
"""

from __future__ import annotations

import builtins
import collections
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.aliasing.identities import as_stored
from d2s.runtime.lists.dynamic_deque import DynamicDeque
from d2s.runtime.lists.dynamic_dict import DynamicDict, DynamicKeys, first_and_last
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.dynamic_set import DynamicSet
from d2s.runtime.lists.iteration import indexed, items_of
from d2s.runtime.loops.comprehensions import list_of, whole_of
from d2s.runtime.python.keys import is_undecided
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tables import Words
from d2s.runtime.values.tensors import is_tensor
from d2s.runtime.values.tree import is_mapping, is_tuple


def _of_run(things: Any, late: Callable[[Any], bool]) -> tuple[DynamicList | None, Any]:
    """``things`` as a list of the run where it has to be one; else what Python may iterate."""
    things = whole_of(things)
    if indexed(things) is not None:
        return list_of(things), things
    items = list(items_of(things))
    return (DynamicList.of(items, Words("a set or dict")) if any(map(late, items)) else None), items


def set_(things: Any = (), /) -> Any:
    """``set``."""
    if current() is None:
        return builtins.set(things)
    if isinstance(things, Choice):
        return each(set_, things)
    of_keys = isinstance(things, DynamicKeys)
    whole, items = _of_run(things.bag() if of_keys else things, is_undecided)
    if whole is None:
        return builtins.set(_as_one(items))
    first, _, _ = first_and_last(whole)
    made = DynamicSet(whole.name, whole.element)
    made.model = builtins.set()
    if of_keys:
        made.otherwise()
    return made.like(whole.picked(first).need_rows())


def frozenset_(things: object = (), /) -> Any:
    """``frozenset``."""
    made = set_(things)
    if isinstance(made, DynamicSet):
        made.model = builtins.frozenset()
        return made
    return each(builtins.frozenset, made)


def dict_(things: Any = (), /, **named: object) -> Any:
    """``dict``."""
    if current() is None:
        return builtins.dict(things, **named)
    if isinstance(things, Choice):
        return each(lambda found: dict_(found, **named), things)
    if named:
        return builtins.dict(things, **named)
    if isinstance(things, DynamicDict):
        return DynamicDict.of_pairs(things.items(), {})
    if isinstance(things, collections.UserDict) and _is_asked_plainly(type(things)):
        return dict_(things.data)
    if is_mapping(things) or hasattr(type(things), "keys"):
        return builtins.dict(things)
    whole, items = _of_run(things, lambda pair: type(pair) is tuple and is_undecided(pair[0]))
    return builtins.dict(_as_pairs(items)) if whole is None else DynamicDict.of_pairs(whole, {})


def mapped(things: Any) -> Any:
    """``{**things}``."""
    if current() is not None and isinstance(things, Choice):
        return each(mapped, things, none=True)
    return dict_(things) if isinstance(things, DynamicDict) else {**things}


def _as_one(keys: list[Any]) -> list[Any]:
    """``keys``, each tensor as the first one of them that is the same in dygraph."""
    if not any(map(is_tensor, keys)):
        return keys
    return [as_stored(key, keys[:at]) for at, key in enumerate(keys)]


def _as_pairs(pairs: list[Any]) -> Any:
    """Keys and values, the keys by :func:`_as_one`."""
    if not all(is_tuple(pair) and len(pair) == 2 for pair in pairs):
        return pairs  # Python says what is wrong, or takes them
    return zip(_as_one([key for key, _ in pairs]), [value for _, value in pairs], strict=True)


def _is_asked_plainly(kind: type) -> bool:
    """Whether a kind of ``UserDict`` gives its keys and items as they are in it."""
    names = ("keys", "__iter__", "__getitem__")
    return all(getattr(kind, name) is getattr(collections.UserDict, name) for name in names)


def counter(things: Any = (), /, **named: int) -> Any:
    """``collections.Counter``."""
    if current() is None or named or is_mapping(things):
        return collections.Counter(things, **named)
    if isinstance(things, DynamicDict):
        return DynamicDict.of_pairs(things.items(), collections.Counter())
    whole, items = _of_run(things, is_undecided)
    if whole is None:
        return collections.Counter(items)
    return DynamicDict.counted(whole)


def deque_(iterable: Any = (), maxlen: int | None = None) -> Any:
    """``collections.deque``."""
    iterable = whole_of(iterable)
    if isinstance(iterable, Choice) and not iterable.single:
        return each(lambda found: deque_(found, maxlen), iterable)
    if current() is None or indexed(iterable) is None:
        return collections.deque(items_of(iterable), maxlen)
    whole = list_of(iterable)
    made = DynamicDeque(whole.name, whole.element)
    made.model = collections.deque(maxlen=maxlen)
    made.set_rows(whole.need_rows())
    made.limit()
    return made


def _like_dict(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A class derived of ``dict``, of things that the run decides."""

    def make(*arguments: Any, **named: Any) -> Any:
        things = whole_of(arguments[-1]) if arguments else None
        if isinstance(things, Choice):
            return each(lambda found: make(*arguments[:-1], found, **named), things)
        if current() is None or indexed(things) is None:
            return kind(*arguments[:-1], *([things] if arguments else []), **named)
        made = dict_(things)
        made.model = kind(*arguments[:-1])
        made.update(**named)
        return made

    return make


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    builtins.set: set_,
    builtins.frozenset: frozenset_,
    builtins.dict: dict_,
    collections.Counter: counter,
    collections.deque: deque_,
    collections.OrderedDict: _like_dict(collections.OrderedDict),
    collections.defaultdict: _like_dict(collections.defaultdict),
}
"""Classes of Python's."""
