"""What is shown of tensors: texts that the run fills in, and things with the run's tensors in them.

::

    t = f"loss {loss:.3f} of {steps}"        HostText(("loss ", (loss, None, ".3f"), " of 10"))
    print(t, {"at": best})                   a Shipment of loss and best to the host

A text is made of what things are at its place, as in Python: the containers in it are copied, and
what changes a tensor in place afterwards does not reach it.  On the run the host puts the tensors
where they belong and formats, and the result is letter for letter what dygraph shows.  That goes
for objects of the user's, too: ``__repr__`` meets tensors there.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import NotStaticError
from d2s.runtime.trace import current, error_here, open_trace, tentatively
from d2s.runtime.values.choice import Choice, each, simplified
from d2s.runtime.values.fields import check_counts, slot_fields
from d2s.runtime.values.objects import is_list, is_user_object
from d2s.runtime.values.tensors import Sizes, is_array, is_tensor, number_kind
from d2s.runtime.values.tree import (
    children,
    first_leaf,
    is_dataclass_instance,
    is_mapping,
    is_sequence,
    kind_of,
    parts,
    replaced,
)

_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"r": repr, "s": str, "a": ascii}


class HostText:
    """Text of which the run fills in the tensors.

    Attributes:
        parts: strings, and ``(value, conversion, spec)`` for what is formatted; see
            :func:`formatted_text`.
    """

    d2s_plain = str
    d2s_keeps = True
    """What it was made of does not change with the variables that hold it."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __add__(self, other: object) -> Any:
        return HostText((*self.parts, (other, "s", ""))) if _is_text(other) else NotImplemented

    def __radd__(self, other: object) -> Any:
        return HostText(((other, "s", ""), *self.parts)) if _is_text(other) else NotImplemented

    def __mul__(self, times: object) -> Any:
        if type(times) is int:
            return HostText(self.parts * times)
        return HostText(((self, ".__mul__", (times,)),)) if number_kind(times) else NotImplemented

    __rmul__ = __mul__

    def __mod__(self, things: object) -> Any:
        return HostText(((snapshot(things), "%", self),))

    def __getitem__(self, key: object) -> Any:
        return HostText(((self, "[]", key),))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute {name!r}")
        if name not in _TEXT_METHODS:
            cause = f"str.{name} asks for a text that only the run knows"
            cure = "compute with the tensor, or return the text and ask it outside"
            raise error_here(NotStaticError, cause, cure)
        return lambda *arguments: HostText(((self, f".{name}", arguments),))

    def __str__(self) -> str:
        raise error_here(
            NotStaticError,
            "text that contains a tensor is needed while the program is being captured",
            "use it in print, assert or raise only, or return the tensor and format it outside",
        )

    def __format__(self, spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<text that the run fills in, {len(self.parts)} parts>"

    def __bool__(self) -> bool:
        return bool(str(self))

    def __int__(self) -> int:
        return int(str(self))

    def __float__(self) -> float:
        return float(str(self))

    def __len__(self) -> int:
        return len(str(self))

    def __iter__(self) -> Iterator[str]:
        return iter(str(self))

    def __contains__(self, item: Any) -> bool:
        return item in str(self)

    def __deepcopy__(self, memo: object) -> HostText:
        return self

    def __eq__(self, other: object) -> bool:
        return self is other or (_is_text(other) and str(self) == other)

    def __hash__(self) -> int:
        return hash(str(self))


_TEXT_METHODS: Final = frozenset(
    (
        "capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip",
        "removeprefix", "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title",
        "upper", "zfill",
    )
)  # fmt: skip
"""Methods of text that give text."""


class HostObject(HostText):
    """What only the host can make of a tensor, such as ``x.numpy()``; it can be printed.

    Attributes:
        value: the tensor.
        make: from the run's tensor to the object.
    """

    def __init__(self, value: Any, make: Callable[[Any], Any]) -> None:
        super().__init__(((value, "", make),))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _is_text(shown: object) -> bool:
    return isinstance(shown, str | HostText)


Made = Callable[[list[Any]], Any]
"""From parts to an object that has them."""

PLAIN: Final = frozenset((str, int, float, bool, complex, bytes, type(None), type))
"""What shows no tensor and does not change."""

LISTED: Final = frozenset((list, tuple, set, dict))
"""What may have more in it by the time that the host comes by."""


def _exactly(shown: Any) -> tuple[list[Any], Made] | None:
    """The parts of what Python's own containers hold, and what makes their like."""
    kind = type(shown)
    if kind is set:
        return list(shown), set
    if kind in _VIEWS:
        entries = dict(shown.mapping)
        return list(entries.values()), _view_of(_VIEWS[kind], list(entries))
    if kind is itertools.count:
        numbers = slot_fields(shown)
        return list(numbers.values()), lambda found: itertools.count(*found)
    if kind is slice:
        return [shown.start, shown.stop, shown.step], lambda found: slice(*found)
    if isinstance(shown, list) and not (is_list(shown) or kind is Sizes):  # out of a grown one
        return list(shown), list
    return None


_VIEWS: Final = {type(getattr({}, name)()): name for name in ("keys", "values", "items")}


def _view_of(name: str, keys: list[Any]) -> Made:
    return lambda found: getattr(dict(zip(keys, found, strict=True)), name)()


def _fields(shown: object) -> tuple[list[Any], Made] | None:
    """The attributes of an object of the user's, and what makes its like."""
    kind: Any = type(shown)
    base: Any = types.SimpleNamespace if isinstance(shown, types.SimpleNamespace) else object
    try:
        base.__new__(kind)
    except TypeError:  # it is a number or the like, too
        return None
    names = list(shown.__dict__)

    def make(found: list[Any]) -> Any:
        fresh = base.__new__(kind)
        fresh.__dict__.update(zip(names, found, strict=True))
        return fresh

    return list(shown.__dict__.values()), make


def members(shown: Any) -> tuple[list[Any], Made] | None:
    """What ``shown`` holds, one level deep, and a function that makes its like of others.

    ``None`` for what holds nothing that could be a tensor of a program.
    """
    if type(shown) in PLAIN or bridge.is_eager(shown):
        return None
    if is_array(shown):
        held, make = shown.d2s_parts()
        return [item for _, item in held], make
    if hasattr(type(shown), "d2s_members"):
        found: tuple[list[Any], Made] = type(shown).d2s_members(shown)
        return found
    exact = _exactly(shown)
    if exact is not None:
        return exact
    if is_user_object(shown) and not (_has_items(shown) or isinstance(shown, BaseException)):
        return _fields(shown)
    held = parts(shown)
    return None if held is None else ([item for _, item in held[0]], held[1])


def is_dynamic(shown: object) -> bool:
    """Whether the run decides what ``shown`` looks like."""
    return _is_dynamic(shown, set())


def _is_dynamic(shown: object, around: set[int]) -> bool:
    if type(shown) in PLAIN:
        return False
    if is_tensor(shown) or isinstance(shown, HostText | Choice) or is_growing(shown):
        return True
    if is_array(shown) or hasattr(type(shown), "d2s_members"):
        return True
    if id(shown) in around:
        return False
    check_counts(shown)
    if isinstance(shown, BaseException):
        return any(_is_dynamic(item, around | {id(shown)}) for item in shown.args)
    held = members(shown)
    if held is None or not any(_is_dynamic(item, around | {id(shown)}) for item in held[0]):
        return False
    return not is_user_object(shown) or _has_items(shown) or _shows(shown)


def _has_items(shown: object) -> bool:
    """Whether an object has items, at positions or under keys, besides attributes."""
    return is_sequence(shown) or is_mapping(shown)


def _shows(shown: object) -> bool:
    """Whether an object of the user's shows the tensors that it holds."""
    try:
        with tentatively():
            looks = f"{shown!s}{shown!r}"
    except Exception:  # its own formatting asks for more than a value of the program has
        return True
    return bridge.shows_value(looks) or any(mark in looks for mark in _STANDINGS)


_STANDINGS: Final = ("<text that the run", "<list that grows on the run", "<d2s.runtime.")
"""How texts, lists and choices of a program show themselves."""


def is_growing(shown: object) -> bool:
    """Whether it is a list whose length the run decides."""
    return hasattr(type(shown), "d2s_shown")


def snapshot(shown: object) -> Any:
    """``shown`` as it looks now: what is put into its containers later is not in it."""
    return _snapshot(shown, set())


def _as_it_is(shown: Any) -> Any:
    """A tensor with what ``shown`` holds now, if that is one of the program."""
    if not bridge.is_value(shown) or number_kind(shown) is not None:
        return shown
    copy = paddle.assign(shown)
    copy.stop_gradient = shown.stop_gradient
    return copy


def _snapshot(shown: Any, around: set[int]) -> Any:
    if is_tensor(shown) and open_trace().bound:  # an operand that waits is told from a text
        return _as_it_is(shown)
    if type(shown) in PLAIN or is_tensor(shown) or isinstance(shown, HostText | Choice):
        return shown
    if is_growing(shown):
        return shown.copy()
    if id(shown) in around or not (type(shown) in LISTED or is_dynamic(shown)):
        return shown
    held = members(shown)
    if held is None:
        return shown
    items, make = held
    return make([_snapshot(item, around | {id(shown)}) for item in items])


def text(*parts: object) -> Any:
    """An f-string: formatted now when no tensor of a program is in it.

    Args:
        *parts: strings, and ``(value, conversion, spec)`` where conversion is ``None`` or one of
            ``"r"``, ``"s"``, ``"a"``.
    """
    if current() is None:
        return formatted_text(parts)
    parts = tuple(map(by_its_class, parts))
    if not any(map(_is_dynamic_part, parts)):
        return formatted_text(parts)
    return text_of(
        tuple(part if _is_dynamic_part(part) else formatted_text((part,)) for part in parts)
    )


def formatted(value: object, conversion: str | None, spec: object) -> Any:
    """A part of an f-string with code behind it that may change ``value``: formatted in its place.

    Returns:
        Text, or the part for :func:`text` where the run decides what it looks like.
    """
    part = by_its_class((value, conversion, spec))
    if current() is None or not _is_dynamic_part(part):
        return formatted_text((part,))
    return snapshot(part[0]), *part[1:]


OPEN: Final = "d2s_open"
"""Where a method that Python calls for a text has its form that may give one of the run."""


def by_its_class(part: object) -> Any:
    """A part of a text, with the text that the ``__format__`` of a user's class makes of it.

    That is called by name, as any method, so that it may give a text that the run fills in.  An
    exception is shown by what it holds, of which branches and loops know to hand it on.
    """
    if type(part) is tuple and isinstance(part[0], BaseException):
        return _shown_by_arguments(*part)
    if type(part) is not tuple or part[1] is not None:
        return part
    value, _, spec = part
    if current() is None or not has_own_format(value):
        return part
    made = each(lambda one: _formatted_by_its_class(one, spec), value, none=True, changes=True)
    return made, "s", ""


def _shown_by_arguments(error: BaseException, conversion: str | None, spec: Any) -> Any:
    """A part of a text that is an exception, as Python's own classes show what they were given."""
    kind, given = type(error), error.args
    plain = conversion == "s" or (
        conversion is None and kind.__format__ is object.__format__ and spec == ""
    )
    if not is_dynamic(error):
        return error, conversion, spec
    if plain and kind.__str__ is BaseException.__str__:
        return given[0] if len(given) == 1 else given, "s", spec
    if conversion == "r" and kind.__repr__ is BaseException.__repr__:
        around = ("(", ")") if len(given) == 1 else ("", "")
        shown = given[0] if len(given) == 1 else given
        return HostText((kind.__name__ + around[0], (shown, "r", ""), around[1])), "s", spec
    return error, conversion, spec


def has_own_format(value: object) -> bool:
    """Whether ``value``, or what it may be, is of a user's class with a ``__format__``."""
    if isinstance(value, Choice):
        return any(map(has_own_format, value.leaves()))
    return hasattr(type(value).__format__, OPEN)


def _formatted_by_its_class(value: object, spec: object) -> Any:
    make = getattr(type(value).__format__, OPEN, None)
    if make is None:
        return text((value, None, spec))
    made = make(value, spec)
    if not isinstance(made, str | HostText | Choice):
        kind = number_kind(made) or (paddle.Tensor if is_tensor(made) else type(made))
        raise TypeError(f"__format__ must return a str, not {kind.__name__}")
    return made


def _is_dynamic_part(part: object) -> bool:
    return type(part) is tuple and (is_dynamic(part[0]) or is_dynamic(part[2]))


def text_of(parts: tuple[Any, ...]) -> Any:
    """The text of ``parts``: one of several constants where a tensor chooses only among these."""
    if _is_open(parts):
        return HostText(snapshot(parts))
    try:
        return _folded(parts)
    except Exception:  # one of them has no such text: the run says so, if it comes to it
        return HostText(snapshot(parts))


def _is_open(shown: object) -> bool:
    """Whether more than a choice among constants is in ``shown``."""
    if isinstance(shown, Choice):
        return not shown.plain
    if kind_of(shown) is not None and not is_dataclass_instance(shown):
        return any(map(_is_open, children(shown)))
    return is_dynamic(shown)


def _folded(parts: tuple[Any, ...]) -> Any:
    chosen: Choice | None = first_leaf(_is_choice, parts, _DEEP)
    if chosen is None:
        return formatted_text(parts)
    one = functools.partial(replaced, parts, chosen, depth=_DEEP)
    return simplified(chosen.spread(lambda found: _folded(one(found))))


def _is_choice(part: object) -> bool:
    return isinstance(part, Choice)


_DEEP: Final = 64
"""So deep is looked for what is to be shown: what is missed would show the program's own text."""


def percent(template: Any, things: Any) -> Any:
    """``template % things``, where the template is plainly text, or ``things`` is a tuple."""
    if not isinstance(template, str | HostText):
        return template % things
    if current() is None or not (is_dynamic(template) or is_dynamic(things)):
        return template % things
    return text_of(((things, "%", template),))


def late(value: object, make: Callable[[Any], Any]) -> Any:
    """What ``make`` gives for the tensor ``value``, made on the run: for ``print`` and texts."""
    if current() is None or not bridge.is_value(value) or number_kind(value) is not None:
        return make(value)
    return HostObject(value, make)


def formatted_text(parts: tuple[Any, ...]) -> str:
    """The text of ``parts``.

    The conversion of a part is what an f-string has (``None``, ``"r"``, ``"s"``, ``"a"``), or
    ``"%"`` (the third item is the template), ``"[]"`` (the key) or ``".name"`` (the arguments of
    that method).
    """
    done: list[str] = []
    for part in parts:
        if isinstance(part, str):
            done.append(part)
            continue
        value, conversion, spec = part
        if conversion == "%":
            value, spec = spec % value, ""
        elif conversion == "[]":
            value, spec = value[spec], ""
        elif conversion is not None and conversion.startswith("."):
            value, spec = getattr(value, conversion[1:])(*spec), ""
        elif conversion is not None:
            value = _CONVERSIONS[conversion](value)
        done.append(format(value, spec))
    return "".join(done)
