"""A value whose kind a tensor decides: ``None``, unbound, a tensor, a tuple.

Branches and loops make an :class:`Either` where the two sides cannot be one value of a program.
It may be returned (the host then gives back what dygraph would: rule B6), tested with ``is None``
or handed on; a use that needs *the* value takes the one alternative that can be meant, and a host
operator raises, on the run, what dygraph would raise on the other path (B2, C3).
"""

from __future__ import annotations

import functools
import operator
import re
import sys
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.analysis.definitions import definitions_of
from d2s.diagnostics.location import here
from d2s.errors import AmbiguousValueError
from d2s.operators.context import error_here
from d2s.operators.hosts import raise_when
from d2s.operators.values import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    condition,
    is_tensor,
    joint_kind,
    mark_number,
    number_kind,
)
from d2s.syntax.source import function_at


class Unbound:
    """The mark of a variable that is not bound; never seen by user code."""

    def __repr__(self) -> str:
        return "UNBOUND"

    def __copy__(self) -> Unbound:
        return self

    def __deepcopy__(self, memo: Any) -> Unbound:
        return self


UNBOUND: Final = Unbound()

_UNBOUND_MESSAGE: Final = (
    "cannot access local variable '{}' where it is not associated with a value"
    if sys.version_info >= (3, 11)
    else "local variable '{}' referenced before assignment"
)
"""Python's own message; it has changed once."""


class Either:
    """``true`` when the bool value ``flag`` holds on the run, else ``false``.

    Attributes:
        flag: a 0-D bool value.
        true, false: anything, an ``Either`` too.
        name: the variable or path that it came from, for messages.
        lines: the lines on which the two alternatives were left behind, when known.
    """

    __slots__ = ("false", "flag", "name", "true")

    def __init__(self, flag: Any, true: Any, false: Any, name: str = "value") -> None:
        self.flag = flag
        self.true = true
        self.false = false
        self.name = name

    def alternatives(self, when: Any = None) -> list[tuple[Any, Any]]:
        """Every alternative with the bool value under which it holds."""
        found: list[tuple[Any, Any]] = []
        for side, flag in ((self.true, self.flag), (self.false, ~self.flag)):
            holds = flag if when is None else when & flag
            if isinstance(side, Either):
                found.extend(side.alternatives(holds))
            else:
                found.append((side, holds))
        return found

    def holds(self, test: Callable[[Any], bool]) -> Any:
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
        return (self.flag & _as_flag(true, self.flag)) | (~self.flag & _as_flag(false, self.flag))

    def get(self, *, check: bool = True) -> Any:
        """The one alternative that can be meant; the others raise on the run.

        Raises:
            AmbiguousValueError: (D2S203) more than one alternative is a proper value.
        """
        usable = [
            item for item in self.alternatives() if item[0] is not None and item[0] is not UNBOUND
        ]
        kinds = "; ".join(describe(item[0]) for item in self.alternatives())
        if len(usable) != 1:
            chosen = self._selected(usable)
            if chosen is None:
                raise error_here(
                    AmbiguousValueError,
                    f"{self.name!r}{_bound_on(self.name)} depends on a tensor condition and may "
                    f"be {kinds}, which cannot be one value of a program",
                    "give it the same type, dtype and rank on every path",
                )
            value = chosen
        else:
            value = usable[0][0]
        if check:
            self._check()
        return value

    def _selected(self, usable: list[tuple[Any, Any]]) -> Any:
        """One value out of several of one type and shape, by selection; ``None`` if impossible."""
        kinds = [number_kind(value) for value, _ in usable]
        if not usable or (None in kinds and not all(is_tensor(value) for value, _ in usable)):
            return None
        kind = None
        if None not in kinds:
            kind = functools.reduce(joint_kind, [found for found in kinds if found is not None])
        values = [(as_value(value), holds) for value, holds in usable]
        if kind is not None:
            values = [(cast_plain(v, NUMBER_DTYPES[kind]), holds) for v, holds in values]
        first = values[0][0]
        if any(
            value.dtype != first.dtype or list(value.shape) != list(first.shape)
            for value, _ in values[1:]
        ):
            return None
        result = first
        for value, holds in values[1:]:
            result = paddle.where(holds, value, result)
        return result if kind is None else mark_number(result, kind)

    def _check(self) -> None:
        for value, holds in self.alternatives():
            if value is UNBOUND:
                raise_when(holds, unbound_error(self.name))
            elif value is None:
                raise_when(
                    holds,
                    TypeError(f"'NoneType' object {self.name!r} is used where a tensor is needed"),
                )

    def d2s_condition(self) -> Any:
        """The truth of the alternative that holds."""
        if any(value is UNBOUND for value, _ in self.alternatives()):
            return self.get()
        result: Any = None
        for value, holds in self.alternatives():
            truth = condition(value)
            if not is_tensor(truth):
                truth = paddle.full([], bool(truth), "bool")
            part = holds & truth
            result = part if result is None else result | part
        return result

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "d2s_")):
            raise AttributeError(name)
        return getattr(self.get(), name)

    def __getitem__(self, key: Any) -> Any:
        return self.get()[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.get()(*args, **kwargs)

    def __iter__(self) -> Any:
        return iter(self.get())

    def __len__(self) -> int:
        return len(self.get())

    def __bool__(self) -> bool:
        raise error_here(
            AmbiguousValueError,
            f"the truth of {self.name!r} depends on a tensor, in code that stays Python",
            "move the test into an if statement of the function",
        )


def _bound_on(name: str) -> str:
    """Where the variable ``name`` gets its values, in words; empty when it is not known."""
    place = here()
    tree = None if place is None else function_at(place.file, place.line)
    if tree is None:
        return ""
    lines = definitions_of(tree).lines.get(re.split(r"[.\[]", name)[0], ())
    if not lines:
        return ""
    return f" (bound on line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))})"


def _binary(function: Callable[[Any, Any], Any], *, swapped: bool = False) -> Any:
    def method(self: Either, other: Any) -> Any:
        mine, theirs = self.get(), other.get() if isinstance(other, Either) else other
        return function(theirs, mine) if swapped else function(mine, theirs)

    return method


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
]:
    _function = getattr(operator, _name)
    setattr(Either, f"__{_name.strip('_')}__", _binary(_function))
    setattr(Either, f"__r{_name.strip('_')}__", _binary(_function, swapped=True))
for _name in ["lt", "le", "gt", "ge", "eq", "ne"]:
    setattr(Either, f"__{_name}__", _binary(getattr(operator, _name)))
for _name in ("neg", "invert", "abs"):
    setattr(
        Either,
        f"__{_name}__",
        (lambda function: lambda self: function(self.get()))(getattr(operator, _name)),
    )


def _test(side: Any, test: Callable[[Any], bool]) -> Any:
    return side.holds(test) if isinstance(side, Either) else test(side)


def _as_flag(truth: Any, like: Any) -> Any:
    if isinstance(truth, bool):
        return paddle.full([], truth, "bool")
    return truth


def describe(value: Any) -> str:
    """A value in words for a message: its type, and dtype and shape of a tensor."""
    if value is None:
        return "None"
    if value is UNBOUND:
        return "unbound"
    kind = number_kind(value)
    if kind is not None:
        return f"a Python {kind.__name__}"
    if is_tensor(value):
        return f"a {str(value.dtype).split('.')[-1]} tensor of shape {list(value.shape)}"
    return f"a {type(value).__name__}"


def unbound_error(name: str) -> UnboundLocalError:
    """What Python raises when the variable ``name`` is read while it is unbound."""
    return UnboundLocalError(_UNBOUND_MESSAGE.format(name))


def optional_parts(value: Any) -> tuple[Any, Any, Any] | None:
    """``(absent, flag of absence, present)`` of a value that is one tensor or number, or absent.

    ``absent`` is ``None`` or ``UNBOUND``, the flag a bool or a bool value; ``present`` is ``None``
    when the value is surely absent.  Other values have no such parts.
    """
    if value is None or value is UNBOUND:
        return value, True, None
    if not isinstance(value, Either):
        if is_tensor(value) or number_kind(value) is not None:
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
        elif is_tensor(item) or number_kind(item) is not None:
            present.append(item)
        else:
            return None
    if len(present) != 1 or flag is None:
        return None
    return absent, flag, present[0]


def read(value: Any, name: str) -> Any:
    """A variable that some path leaves unbound, read: the run raises where dygraph would."""
    if isinstance(value, Either) and any(v is UNBOUND for v, _ in value.alternatives()):
        raise_when(value.holds(lambda side: side is UNBOUND), unbound_error(name))
        return bound(value)
    return value


def bound(value: Any) -> Any:
    """``value`` without its unbound alternatives."""
    if not isinstance(value, Either):
        return value
    true, false = bound(value.true), bound(value.false)
    if true is UNBOUND:
        return false
    if false is UNBOUND:
        return true
    return Either(value.flag, true, false, value.name)


def result(value: Any) -> Any:
    """The value that leaves a function: some path has surely set it."""
    return bound(value)
