"""What a thing is, and what it has: ``isinstance``, ``type``, ``hasattr``, ``getattr`` (rule E1).

A value of the program answers as what dygraph has in its place: a tensor, or the Python number
that it stands for.  Where paths differ, the answer is a bool that the run knows.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import FixedDict, FixedList
from d2s.runtime.lists.items.views import is_view
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.python.casts import over
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, bound, each, simplified
from d2s.runtime.values.fields import missing_attribute
from d2s.runtime.values.mixed import may_be_number, mixed_of
from d2s.runtime.values.tensors import SIZE, Sizes, is_array, mark_number, number_kind, shape
from d2s.runtime.values.tree import first_leaf, replaced
from d2s.runtime.values.unbound import UNBOUND


def as_bool(answer: object) -> Any:
    """A bool, or a flag of the program as one that the run knows."""
    return answer if isinstance(answer, bool) else mark_number(paddle.assign(answer), bool)


def isinstance_(thing: Any, kinds: Any, /) -> Any:
    """``isinstance``: a value counts as a tensor, or as the Python number it stands for."""
    chosen = first_leaf(lambda part: isinstance(part, Choice), kinds, 4)
    if chosen is not None:
        return _by_alternative(
            lambda kind: isinstance_(thing, replaced(kinds, chosen, kind)), chosen
        )
    if isinstance(thing, Choice):
        return _by_alternative(lambda side: isinstance_(side, kinds), thing)
    if isinstance(thing, DynamicList):
        return issubclass(thing.view, kinds) if thing.view else isinstance(thing.made_of([]), kinds)
    if is_view(thing):
        return issubclass(thing.__class__, kinds)
    if isinstance(thing, Indexed) or hasattr(type(thing), "d2s_stands_for"):
        return issubclass(type_(thing), kinds)
    if isinstance(thing, HostText):
        return isinstance("", kinds)
    if is_array(thing):
        return isinstance(thing.sample(odd=1), kinds)
    if bridge.is_value(thing):
        return _by_path(
            thing, lambda kind: isinstance(kind(), kinds), lambda: _is_tensor_of(thing, kinds)
        )
    return isinstance(thing, kinds)


def _is_tensor_of(value: Any, kinds: Any) -> bool:
    """``isinstance`` of the dygraph tensor that ``value`` stands for."""
    if isinstance(value, kinds):  # raises what Python raises when ``kinds`` are no classes
        return True
    wanted = list(kinds) if isinstance(kinds, tuple) else [kinds]
    for kind in wanted:
        if isinstance(kind, tuple):
            wanted.extend(kind)
        elif isinstance(kind, types.UnionType):
            wanted.extend(typing.get_args(kind))
        elif isinstance(kind, type) and issubclass(bridge.EagerTensor, kind):
            return True
    return False


def is_tensor(x: Any) -> Any:
    """``paddle.is_tensor``: not of a Python number that the run decides."""
    return paddle.is_tensor(x) if current() is None else isinstance_(x, paddle.Tensor)


def _by_path(value: Any, number: Callable[[type], bool], tensor: Callable[[], bool]) -> Any:
    """An answer about a value: as the number that it stands for, as a tensor, or by the path."""
    kind = number_kind(value)
    if kind is not None:
        return number(kind)
    found = may_be_number(value)
    if found is None:
        return tensor()
    answers = number(found.kind), tensor()
    if answers[0] is answers[1]:
        return answers[0]
    known = mixed_of(value)
    assert known is not None
    return as_bool(known.flag if answers[0] else ~known.flag)


def _by_alternative(ask: Callable[[Any], Any], thing: Choice) -> Any:
    """A yes or no about every alternative; one that is not bound raises on the run."""
    if any(side is UNBOUND for side in thing.leaves()):
        return each(ask, thing, none=True)
    answers = [(ask(side), holds) for side, holds in thing.alternatives()]
    if all(answer is answers[0][0] for answer, _ in answers):
        return answers[0][0]
    result: Any = None
    for answer, holds in answers:
        part = holds if answer is True else None if answer is False else holds & answer
        if part is not None:
            result = part if result is None else result | part
    return as_bool(result)


def type_(thing: object, /, *others: Any, **options: Any) -> Any:
    """``type``: of a value the type that dygraph has there."""
    if others or options or current() is None:
        return type(thing, *others, **options)
    if isinstance(thing, Choice):
        if any(side is UNBOUND for side in thing.leaves()):
            return each(type_, thing, none=True)
        kinds = [type_(side) for side in thing.leaves()]
        if all(kind is kinds[0] for kind in kinds):
            return kinds[0]
        return thing.spread(type_)
    if isinstance(thing, DynamicList):
        return thing.view or thing.d2s_type()
    if isinstance(thing, HostText):
        return str
    if is_array(thing):
        return type(thing.sample(odd=1))
    if is_view(thing):
        return thing.__class__
    if isinstance(thing, Indexed):
        return thing.kind
    stands_for = getattr(type(thing), "d2s_stands_for", None)
    if stands_for is not None:
        return stands_for(thing)
    if isinstance(thing, FixedList | FixedDict):
        return thing.d2s_plain
    if not bridge.is_value(thing):
        return SIZE if type(thing) is Sizes else type(thing)
    kind = number_kind(thing)
    if kind is not None:
        return kind
    found = mixed_of(thing)
    if found is not None:
        return Choice(found.flag, found.kind, bridge.EagerTensor, "type")
    return bridge.EagerTensor


def class_(thing: Any) -> Any:
    """``thing.__class__``."""
    ours = isinstance(thing, Choice | DynamicList | HostText | Indexed | Sizes)
    if ours or is_array(thing) or bridge.is_value(thing):
        return type_(thing)
    return thing.__class__


def check_name(name: object) -> None:
    """Refuse a text of the run as the name of an attribute.

    Raises:
        NotStaticError: (D2S208).
    """
    if isinstance(name, HostText):
        raise error_here(
            NotStaticError,
            "only the run knows the name of an attribute that is asked for or set",
            "keep the things in a dict, or a list with numbers in the place of names",
        )


def hasattr_(thing: Any, name: Any, /) -> Any:
    """``hasattr``: also of an attribute that one side of a branch has made."""
    if current() is None:
        return hasattr(thing, name)
    if isinstance(name, Choice):
        return over(lambda found: hasattr_(thing, found), name)
    check_name(name)
    if isinstance(thing, Choice):
        return _by_alternative(lambda side: hasattr_(side, name), thing)
    if isinstance(thing, DynamicList):
        return hasattr(thing.made_of([]), name)
    if bridge.is_value(thing):
        return _by_path(
            thing, lambda kind: hasattr(kind(), name), lambda: hasattr(bridge.EagerTensor, name)
        )
    try:
        value = getattr(thing, name)
    except AttributeError:
        return False
    if isinstance(value, Choice):
        answer = value.holds(lambda side: side is not UNBOUND)
        return answer if isinstance(answer, bool) else as_bool(answer)
    return True


def getattr_(thing: Any, name: Any, /, *default: Any) -> Any:
    """``getattr``: the default, or an error of the run, on the paths that made no attribute."""
    if current() is None or len(default) > 1:
        return getattr(thing, name, *default)
    if isinstance(name, Choice):
        return over(lambda found: getattr_(thing, found, *default), name)
    check_name(name)
    if isinstance(thing, Choice):
        return each(lambda side: getattr_(side, name, *default), thing, none=True)
    if bridge.is_value(thing):
        return _value_attribute(thing, name, *default)
    value = getattr(thing, name, *default)
    if not isinstance(value, Choice) or not any(v is UNBOUND for v in value.leaves()):
        return value
    if default:
        return _filled(value, default[0])
    missing = missing_attribute(type(thing), name)
    raise_when(value.holds(lambda side: side is UNBOUND), missing)
    return bound(value)


def _filled(value: object, default: object) -> Any:
    """``value`` with ``default`` in the place of what is not bound."""
    if isinstance(value, Choice):
        true, false = _filled(value.true, default), _filled(value.false, default)
        return true if true is false else simplified(Choice(value.flag, true, false, value.name))
    return default if value is UNBOUND else value


def _value_attribute(value: object, name: str, *default: Any) -> Any:
    known = hasattr_(value, name)
    if known is False:
        if default:
            return default[0]
        raise AttributeError(f"{type_(value).__name__!r} object has no attribute {name!r}")
    if known is not True:
        flag = known
        if default:
            return Choice(flag, getattr(value, name), default[0], name)
        raise_when(~flag, AttributeError(f"an object has no attribute {name!r}"))
    return shape(value) if name == "shape" else getattr(value, name)
