"""What a value may be: a tree of bool values of the program, a case at the end of each way.

::

    if x.sum() > 0: y = 1        Cases(x.sum() > 0, 1, Cases(x.max() > 1, "a", None))
    elif x.max() > 1: y = "a"
    else: y = None

How such a value is used, is the matter of :class:`~d2s.runtime.values.choice.Choice`.
"""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import paddle

from d2s.analysis.assignments import Side
from d2s.diagnostics.frames import is_augmented_here
from d2s.diagnostics.location import Location, here
from d2s.errors import AmbiguousValueError, Row
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import owner_of
from d2s.runtime.values.tables import MOST_ROWS, describe, listed, row, sides_at
from d2s.runtime.values.tensors import is_numeric, is_tensor
from d2s.runtime.values.tree import is_mutable, kind_of
from d2s.runtime.values.unbound import UNBOUND

MOST: Final = 64
"""So many alternatives a value may have: each use is captured once for each of them."""

_NAMELESS: Final = {"value": "a value", "item": "an item of a container", "result": "the result"}
"""What is said of values that have a name of ours, that of no variable."""

DESCRIBING: Final = {
    *(
        "__annotations__",
        "__bases__",
        "__dataclass_fields__",
        "__defaults__",
        "__dict__",
        "__doc__",
    ),
    *("__func__", "__members__", "__module__", "__mro__", "__name__", "__qualname__", "__self__"),
}
"""Attributes of classes, functions and objects that Python gives, and that code of users reads."""

BY_NAME: Final[dict[str, Callable[..., Any]]] = {
    "__contains__": operator.contains,
    "__delitem__": operator.delitem,
    "__getitem__": operator.getitem,
    "__iter__": iter,
    "__len__": len,
    "__repr__": repr,
    "__reversed__": reversed,
    "__setitem__": operator.setitem,
    "__str__": str,
}
"""What a method of a container that Python calls does, where it is called by its name."""

Mine = TypeVar("Mine", bound="Cases")


class Cases:
    """``true`` when the bool value ``flag`` holds on the run, else ``false``.

    Attributes:
        flag: a 0-D bool value.
        true, false: anything, another one of these too.
        name: the variable or path that it came from, for messages.
        missing: what a read raises on a path that has not bound it; as a variable by default.
        hint: what a read adds to what it raises, once that is asked for.
        size: how many alternatives there are.
        places: the branches and loops that choose, the last one first; empty where no statement
            is to be named.
        body_first: ``true`` is what the body of that branch leaves; ``None`` if not known.
        parts: what ``a, b = thing`` takes for so many names: ``lists.iteration.parts``.

    Raises:
        AmbiguousValueError: (D2S203) there are more than :data:`MOST`: every operation on it
            would be captured once for each.
    """

    __slots__ = ("body_first", "false", "flag", "hint", "missing", "name", "places", "size", "true")
    parts: Callable[[Any, int], Any]

    def __init__(
        self, flag: paddle.Tensor, true: object, false: object, name: str = "value"
    ) -> None:
        self.flag = flag
        self.true = true
        self.false = false
        self.name = name
        self.missing: Exception | None = None
        self.hint: str | None = None
        self.places: tuple[Location, ...] = ()
        self.body_first: bool | None = None
        self.size: int = sum(side.size if isinstance(side, Cases) else 1 for side in (true, false))
        if self.size > MOST:
            raise error_here(
                AmbiguousValueError,
                f"{self.said} depends on tensor conditions and may be one of more than {MOST} "
                f"things ({listed(map(describe, self.leaves()), '; ')})",
                self.cure(),
            )

    def cure(self) -> str:
        """What to do where it has to be one value."""
        leaves = [leaf for leaf in self.leaves() if leaf is not None and leaf is not UNBOUND]
        if any(is_numeric(leaf) for leaf in leaves):
            return "give it the same type, dtype and rank on every path"
        if any(kind_of(leaf) is not None for leaf in leaves):
            return (
                "give its items one type, dtype and rank and let no other name hold it, so that "
                "only its length or keys differ; or give it the same ones on every path"
            )
        return "give it the same type on every path, or use it where it is chosen"

    @property
    def said(self) -> str:
        """What a message calls it: its name, or that of what it is where nobody has given one."""
        root = re.split(r"[.\[]", self.name)[0]
        return _NAMELESS.get(root) or repr(self.name)

    def like(self: Mine, true: object, false: object) -> Mine:
        """The same choice between other things."""
        fresh = self._with([true, false])
        fresh.missing = self.missing
        return fresh

    def chosen_at(self: Mine, places: tuple[Location, ...], body_first: bool | None = None) -> Mine:
        """Note what statements choose, for messages; itself."""
        self.places = places
        self.body_first = body_first
        return self

    def all_places(self) -> tuple[Location, ...]:
        """The statements that choose between its alternatives, those of its parts too."""
        inner = [side.all_places() for side in (self.true, self.false) if isinstance(side, Cases)]
        return tuple(dict.fromkeys(sum(inner, self.places)))

    def leaves(self) -> list[Any]:
        """Every alternative; nothing is captured to tell which one holds."""
        found: list[Any] = []
        queue: list[Any] = [self]
        read = object.__getattribute__  # asked often, and a choice looks who reads it
        while queue:
            side = queue.pop()
            if issubclass(type(side), Cases):
                queue += [read(side, "false"), read(side, "true")]
            else:
                found.append(side)
        return found

    def table(self) -> list[Row]:
        """What it may be, for a message: a row for each alternative."""
        name = self.said.strip("'\"")
        return [row(name, side, value) for side, value in self._sided()][:MOST_ROWS]

    def _sided(self) -> Iterator[tuple[Side, Any]]:
        known = self.places and self.body_first is not None
        sides = sides_at(self.places[0] if known else None, self.name)
        values = (self.false, self.true) if self.body_first is False else (self.true, self.false)
        for side, value in zip(sides, values, strict=True):
            if isinstance(value, Cases):
                for inner, leaf in value._sided():
                    yield Side(f"{side.where}, {inner.where}", inner.line or side.line), leaf
            else:
                yield side, value

    def alternatives(self, when: paddle.Tensor | None = None) -> list[tuple[Any, paddle.Tensor]]:
        """Every alternative with the bool value under which it holds."""
        found: list[tuple[Any, Any]] = []
        for side, flag in ((self.true, self.flag), (self.false, ~self.flag)):
            holds = flag if when is None else when & flag
            if isinstance(side, Cases):
                found.extend(side.alternatives(holds))
            else:
                found.append((side, holds))
        return found

    def once_each(self) -> Any:
        """A choice between the same things, each of them once."""
        found: dict[object, tuple[Any, Any]] = {}
        for item, holds in self.alternatives():
            key = identity(item)
            found[key] = item, found[key][1] | holds if key in found else holds
        *others, (result, _) = found.values()
        for item, holds in others:
            result = type(self)(holds, item, result, self.name).chosen_at(self.all_places())
            result.missing = self.missing
        return result

    def __deepcopy__(self: Mine, memo: dict[int, Any]) -> Mine:
        """A copy of each alternative: what ``copy.deepcopy`` meets in the attributes of others."""
        return self.mapped(lambda side: copy.deepcopy(side, memo))

    def holds(self, test: Callable[[Any], bool | paddle.Tensor]) -> Any:
        """A bool, or a bool value: whether the alternative that holds passes ``test``."""
        true, false = _test(self.true, test), _test(self.false, test)
        if true is True and false is True:
            return True
        if true is False and false is False:
            return False
        if true is True and false is False:
            return self.flag
        if true is False and false is True:
            return ~self.flag
        return (self.flag & _as_flag(true)) | (~self.flag & _as_flag(false))

    def mapped(self: Mine, function: Callable[[Any], Any]) -> Mine:
        """``function`` of each alternative, which must not need the run; absent ones stay."""
        sides = [
            side.mapped(function)
            if isinstance(side, Cases)
            else side
            if side is None or side is UNBOUND
            else function(side)
            for side in (self.true, self.false)
        ]
        return self._with(sides)

    def spread(self: Mine, function: Callable[[Any], Any]) -> Mine:
        """``function`` of every alternative, which must not need the run."""
        sides = [
            side.spread(function) if isinstance(side, Cases) else function(side)
            for side in (self.true, self.false)
        ]
        return self._with(sides)

    def renewed(self: Mine) -> Mine:
        """The same of what its containers have become."""
        made = self.spread(as_it_is_now)
        made.missing = self.missing
        return made

    def _with(self: Mine, sides: list[Any]) -> Mine:
        fresh = type(self)(self.flag, sides[0], sides[1], self.name)
        return fresh.chosen_at(self.places, self.body_first)


def as_it_is_now(thing: object) -> Any:
    """A container of Python's, or a method of one, that may have become one of the run."""
    owner = owner_of(thing)
    root, made = open_trace().grown.get(id(thing if owner is None else owner), (None, None))
    if root is None or not hasattr(type(made), "d2s_freeze"):
        return thing
    return made if root is thing else getattr(made, getattr(thing, "__name__", ""))


_PLAIN: Final = (bool, int, float, complex, str, bytes)


def identity(leaf: object) -> object:
    """What is equal for two alternatives that are one: the same object, or equal constants."""
    return (type(leaf), repr(leaf)) if type(leaf) in _PLAIN else id(leaf)


def _test(side: object, test: Callable[[Any], bool | paddle.Tensor]) -> bool | paddle.Tensor:
    return side.holds(test) if isinstance(side, Cases) else test(side)


def _as_flag(truth: bool | paddle.Tensor) -> paddle.Tensor:
    if isinstance(truth, bool):
        return paddle.full([], truth, "bool")
    return truth


def places_of(*values: object) -> tuple[Location, ...]:
    """The present place, and the statements that choose between what ``values`` may be."""
    place = here()
    inner = [value.all_places() for value in values if isinstance(value, Cases)]
    return tuple(dict.fromkeys(sum(inner, (place,) if place else ())))


def optional_parts(value: object) -> tuple[Any, Any, Any] | None:
    """``(absent, flag of absence, present)`` of a value that is one tensor or number, or absent.

    ``absent`` is ``None`` or ``UNBOUND``, the flag a bool or a bool value; ``present`` is ``None``
    when the value is surely absent.  Other values have no such parts.
    """
    if value is None or value is UNBOUND:
        return value, True, None
    if not isinstance(value, Cases):
        if is_numeric(value):
            return None, False, value
        return None
    absent: Any = None
    flag: Any = None
    present: list[Any] = []
    for item, holds in value.alternatives():
        if item is None or item is UNBOUND:
            if flag is not None and item is not absent:
                return None
            absent = item
            flag = holds if flag is None else flag | holds
        elif is_numeric(item):
            present.append(item)
        else:
            return None
    if len(present) != 1 or flag is None:
        return None
    return absent, flag, present[0]


Operation = Callable[..., Any]
"""An operator as a function, of one or two operands."""

_ARITHMETIC: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
    "and_", "or_", "xor", "lshift", "rshift",
)  # fmt: skip
IN_PLACE: Final[dict[Operation, Operation]] = {}
"""What ``+=`` and its like do to what cannot be changed, by the operator."""

_COMPARISONS: Final = ("lt", "le", "gt", "ge", "eq", "ne")
_ALONE: Final = ("neg", "pos", "invert", "abs")


class Operators:
    """Every operator is :meth:`_operate`, or :meth:`_operate_alone` of one operand."""

    __slots__ = ()

    def _operate(self, function: Operation, other: object, *, swapped: bool) -> object:
        """``function(self, other)``, or ``function(other, self)`` where these are swapped."""
        raise NotImplementedError

    def _operate_alone(self, function: Operation) -> object:
        """``function(self)``."""
        raise NotImplementedError


def _binary(function: Operation) -> Callable[[Operators, object], object]:
    return lambda self, other: self._operate(function, other, swapped=False)


def _swapped(function: Operation, in_place: Operation) -> Callable[[Operators, object], object]:
    """The reflected operator; Python asks for it, too, where ``+=`` changes the other operand."""

    def operate(self: Operators, other: object) -> object:
        changes = is_changed_by(in_place, other) and is_augmented_here()
        return self._operate(in_place if changes else function, other, swapped=True)

    return operate


def _unary(function: Operation) -> Callable[[Operators], object]:
    return lambda self: self._operate_alone(function)


for _name in _ARITHMETIC:
    _function = getattr(operator, _name)
    setattr(Operators, f"__{_name.strip('_')}__", _binary(_function))
    _in_place = getattr(operator, f"i{_name.strip('_')}")
    setattr(Operators, f"__r{_name.strip('_')}__", _swapped(_function, _in_place))
    setattr(Operators, f"__{_in_place.__name__}__", _binary(_in_place))
    IN_PLACE[_in_place] = _function
for _name in _COMPARISONS:
    setattr(Operators, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in _ALONE:
    setattr(Operators, f"__{_name}__", _unary(getattr(operator, _name)))


def is_object_or_layer(thing: object) -> bool:
    """Whether ``thing`` is an object of the user's, or a layer."""
    return is_object(thing) or isinstance(thing, paddle.nn.Layer)


def is_changed_by(function: Operation, thing: object) -> bool:
    """Whether ``thing`` is a container that ``function``, such as ``iadd``, changes in place."""
    container = is_mutable(thing) or hasattr(type(thing), "d2s_freeze")
    return container and hasattr(type(thing), f"__{function.__name__}__")


def makes_another(function: Operation, other: object, things: list[Any]) -> bool:
    """Whether ``function``, such as ``iadd``, may put other containers in the place of ``things``.

    So it does where only the run knows ``other``, which of several it is, or how often to repeat.
    """
    if not any(map(is_mutable, things)):
        return False
    return (
        isinstance(other, Cases)
        or hasattr(type(other), "d2s_freeze")
        or (function is operator.imul and is_tensor(other))
    )


def changing(function: Operation, things: list[Any]) -> Operation:
    """``function``, such as ``iadd``, of one of ``things``: it changes what can be changed."""
    known = [
        thing for thing in things if is_object_or_layer(thing) or is_changed_by(function, thing)
    ]
    if not known:
        return IN_PLACE[function]

    def operate(mine: object, other: object) -> object:
        changes = any(mine is thing for thing in known)
        return (function if changes else IN_PLACE[function])(mine, other)

    return operate
