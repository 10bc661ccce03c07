"""``str``, ``repr``, ``format`` and ``str.join`` of tensors: text that the run fills in (F1).

It can be printed, logged, raised and put into other text; see :class:`effects.HostText`.
"""

from __future__ import annotations

import builtins
import itertools
import string
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.host.asking import characters
from d2s.runtime.host.text import (
    HostText,
    by_its_class,
    has_own_format,
    is_dynamic,
    is_growing,
    snapshot,
    text,
    text_of,
)
from d2s.runtime.lists.iteration import items_of
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.python.casts import over, to_number
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import is_tensor, number_kind

_FIELDS: Final = string.Formatter()


def _text_of(name: str, conversion: str) -> Any:
    original: Callable[..., Any] = getattr(builtins, name)

    def make(*things: Any, **options: Any) -> Any:
        if name == "str" and not things and options.keys() == {"object"}:
            return make(options["object"])
        if current() is None or len(things) != 1 or options:
            return original(*things, **options)
        (thing,) = things
        if isinstance(thing, Choice) and thing.plain:
            return over(make, thing)
        if isinstance(thing, HostText) and conversion == "s":
            return thing
        if is_dynamic(thing):
            return HostText(((snapshot(thing), conversion, ""),))
        return original(thing)

    make.__name__ = make.__qualname__ = name
    return make


str_ = _text_of("str", "s")
repr_ = _text_of("repr", "r")
ascii_ = _text_of("ascii", "a")


def _characters(self: HostText) -> Indexed | None:
    """What a ``for`` goes over: not of what the host alone can make of a tensor."""
    asks = type(self) is HostText and current() is not None
    return Indexed(*characters(self)) if asks else None


HostText.d2s_indexed = _characters  # type: ignore[attr-defined]  # the room of texts knows no loops


def format_(thing: Any, spec: Any = "", /) -> Any:
    """``format``."""
    thing, conversion, spec = by_its_class((thing, None, spec))
    if current() is None or not (is_dynamic(thing) or is_dynamic(spec)):
        return format(thing, spec)
    if conversion is not None:
        return str_(thing)
    if isinstance(thing, Choice) and thing.plain and isinstance(spec, str):
        return over(lambda found: format(found, spec), thing)
    return HostText(((snapshot(thing), None, spec),))


def _digits(name: str, spec: str) -> Any:
    original: Callable[[Any], str] = getattr(builtins, name)

    def make(number: Any, /) -> Any:
        if isinstance(number, Choice) and current() is not None:
            return over(make, number)
        if current() is None or number_kind(number) not in (int, bool):
            return original(number)
        return HostText(((to_number(number, int), None, spec),))

    make.__name__ = make.__qualname__ = name
    return make


bin_ = _digits("bin", "#b")
chr_ = _digits("chr", "c")
hex_ = _digits("hex", "#x")
oct_ = _digits("oct", "#o")


def join(separator: str, things: Any) -> Any:
    """``str.join``."""
    if current() is None:
        return separator.join(things)
    if isinstance(things, Choice) and not things.single:
        return over(lambda found: join(separator, found), things)
    things = things.items() if isinstance(things, Indexed) else things
    if is_growing(things):
        return HostText(((HostText((separator,)), ".join", (snapshot(things),)),))
    items = list(items_of(things))
    if not any(map(is_dynamic, items)):
        return separator.join(items)
    parts: list[Any] = []
    for position, item in enumerate(items):
        if is_tensor(item):
            raise TypeError(f"sequence item {position}: expected str instance, Tensor found")
        if position:
            parts.append(separator)
        parts.append(item if isinstance(item, str) else (item, "s", ""))
    return text_of(tuple(parts))


def format_template(template: str, *things: Any, **named: Any) -> Any:
    """``str.format``."""
    own = any(map(has_own_format, (*things, *named.values())))
    if current() is None or not (own or is_dynamic(things) or is_dynamic(named)):
        return template.format(*things, **named)
    return text(*_parts(template, things, named, itertools.count()))


def _parts(
    template: str, things: tuple[Any, ...], named: dict[str, Any], count: itertools.count[int]
) -> tuple[Any, ...]:
    parts: list[Any] = []
    for literal, field, spec, conversion in _FIELDS.parse(template):
        if literal:
            parts.append(literal)
        if field is None:
            continue
        if not field or field[0] in ".[":
            field = f"{next(count)}{field}"
        value, _ = _FIELDS.get_field(field, things, named)
        inner = text(*_parts(spec, things, named, count)) if spec and "{" in spec else spec
        parts.append(by_its_class((value, conversion, inner)))
    return tuple(parts)
