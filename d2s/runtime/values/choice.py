"""A value whose kind a tensor decides: ``None``, unbound, a tensor, a tuple.

Branches and loops make a :class:`Choice` where the two sides cannot be one value of a program.
It may be returned (the host then gives back what dygraph would: rule B6), tested with ``is None``
or handed on; a use that needs *the* value takes the one alternative that can be meant, and a host
operator raises, on the run, what dygraph would raise on the other path (B2, C3).  Where several
can be meant (tensors of two dtypes, a list of two or of three items), each is used in a side of an
``if`` of its own: :func:`each`.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours
from d2s.errors import AmbiguousValueError, D2SError
from d2s.runtime.trace import BranchNeededError, Capture, current, error_here, tentatively
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.cases import (
    BY_NAME,
    DESCRIBING,
    IN_PLACE,
    Cases,
    Operation,
    Operators,
    changing,
    identity,
    is_changed_by,
    is_object_or_layer,
    makes_another,
)
from d2s.runtime.values.constants import CONSTANTS, runs_no_code
from d2s.runtime.values.fields import attributes_of, keeps
from d2s.runtime.values.objects import has_method
from d2s.runtime.values.tables import bound_on, describe, listed, not_reached, noted
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    condition,
    is_tensor,
    joint_kind,
    mark_number,
    note_selected,
    number_kind,
    passing,
    shape,
)
from d2s.runtime.values.tree import is_plain_sequence
from d2s.runtime.values.unbound import UNBOUND, unbound_error
from d2s.syntax.bytecode import unpacks_into

Use = Callable[[Any], Any]
"""What is done with a value."""

MANY: Final = 4
"""So many different constants stay Python constants; more become one 0-D value."""

MOST_USES: Final = 512
"""So often one use is captured at most, where several such values meet in it."""

_ABSTRACT: Final = abc.ABCMeta.__instancecheck__.__code__.co_filename
"""Whose ``isinstance`` of an abstract class wants a class, whoever asks."""


class Choice(Cases, Operators):
    """One of several cases, and what happens where it is used."""

    __slots__ = ()

    def get(self, use: Use | None = None, *, check: bool = True) -> Any:
        """The one alternative that can be meant; the others raise on the run.

        Args:
            use: what is done with it, if that runs no code of the user's: the run raises what
                it raises for ``None``.
            check: let the others raise.

        Raises:
            AmbiguousValueError: (D2S203) more than one alternative is a proper value.
        """
        usable = self._usable()
        if len(usable) != 1:
            chosen = self._selected()
            if chosen is None:
                kinds = listed(map(describe, self.leaves()), "; ")
                raise error_here(
                    AmbiguousValueError,
                    f"{self.said}{bound_on(self.name)} depends on a tensor condition and may "
                    f"be {kinds}, which cannot be one value of a program",
                    self.cure(),
                    self.table(),
                )
            value = chosen
        else:
            value = usable[0]
        if check:
            self._check(use)
        return value

    def _usable(self) -> list[Any]:
        return [item for item in self.leaves() if item is not None and item is not UNBOUND]

    @property
    def single(self) -> bool:
        """Whether :meth:`get` has an answer."""
        usable = self._usable()
        return len(usable) == 1 or (
            self._selectable(usable) and len({number_kind(value) for value in usable}) == 1
        )

    @property
    def plain(self) -> bool:
        """Whether every alternative is a Python constant: a number, text, or ``None``."""
        return all(type(value) in CONSTANTS for value in self.leaves())

    @staticmethod
    def _selectable(usable: list[Any]) -> bool:
        """Whether the alternatives are numbers, or tensors of one dtype and known shape."""
        kinds = [number_kind(value) for value in usable]
        if not usable or None not in kinds:
            return bool(usable)
        if any(kind is not None for kind in kinds) or not all(map(is_tensor, usable)):
            return False
        shapes = {(str(value.dtype), *value.shape) for value in usable}
        return len(shapes) == 1 and all(size >= 0 for size in usable[0].shape)

    @passing
    def _selected(self) -> Any:
        """One value out of several of one type and shape, by selection; ``None`` if impossible."""
        usable = self._usable()
        if not self._selectable(usable):
            return None
        kinds = [found for found in map(number_kind, usable) if found]
        kind = functools.reduce(joint_kind, kinds) if kinds else None
        result: Any = None
        items: list[Any] = []
        for item, holds in self.alternatives():
            if item is None or item is UNBOUND:
                continue
            value = as_value(item)
            if kind is not None:
                value = cast_plain(value, NUMBER_DTYPES[kind])
            items.append(item)
            result = value if result is None else paddle.where(holds, value, result)
        if kind is not None:
            return mark_number(result, kind)
        note_selected(result, items)
        return result

    def unbound(self) -> Exception:
        """What a read raises on a path that has not bound the value."""
        if self.missing is not None:
            return self.missing
        if self.hint is None:
            self.hint = not_reached(self.all_places(), self.name)
        return noted(unbound_error(self.name), self.hint)

    def _check(self, use: Use | None = None) -> None:
        for value, holds in self.alternatives():
            if value is UNBOUND:
                raise_when(holds, self.unbound())
            elif value is None:
                note = f"{self.name!r} is None on this run{bound_on(self.name)}"
                raise_when(holds, noted(_none_error(self.name, use), note))

    def d2s_condition(self) -> Any:
        """The truth of the alternative that holds."""
        sure = possible(self)
        if sure is not self:
            return condition(sure)
        if any(value is UNBOUND for value in self.leaves()):
            return condition(self.get())
        if self.plain:
            return self.holds(bool)
        result: Any = None
        for value, holds in self.alternatives():
            truth = condition(value)
            if not is_tensor(truth):
                truth = paddle.full([], bool(truth), "bool")
            part = holds & truth
            result = part if result is None else result | part
        return result

    def __getattribute__(self, name: str) -> Any:
        """Ours for our own code; what the user reads, ``.name`` say, is the value's."""
        file = sys._getframe(1).f_code.co_filename
        ours = is_ours(file) or file == _ABSTRACT
        if name == "__class__":
            return type(self) if ours else self._class()
        if not ours and (name in DESCRIBING or not name.startswith("__")):
            return self.__getattr__(name)
        return object.__getattribute__(self, name)

    def _class(self) -> Any:
        """The class, which the user's code takes for that of the value where it is one."""
        kinds = {type(leaf) for leaf in self.leaves()}
        if any(issubclass(kind, bridge.Value) for kind in kinds):
            return type(self)
        return self.spread(type) if len(kinds) > 1 else kinds.pop()

    def __getattr__(self, name: str) -> Any:
        if name in DESCRIBING:
            if all(leaf is not UNBOUND and hasattr(leaf, name) for leaf in self.leaves()):
                return simplified(self.spread(lambda side: getattr(side, name)))
            users = sys._getframe(1).f_code.co_name == "__getattribute__" and name[-6:] == "name__"
            if users and any(hasattr(leaf, name) for leaf in self._usable()):
                return each(lambda value: getattr(value, name), self, plainly=True)
        if name in BY_NAME and all(hasattr(type(leaf), name) for leaf in self.leaves()):
            return functools.partial(BY_NAME[name], self)
        if name.startswith(("__", "d2s_")):
            raise AttributeError(name)
        usable = self._usable()
        constant = self.plain and len(usable) == self.size
        if (constant or not self.single) and all(has_method(value, name) for value in usable):
            return self.mapped(lambda side: getattr(side, name))
        if all(keeps(leaf, name) for leaf in self.leaves()):
            held = possible(self.spread(lambda side: attributes_of(side)[name]))
            leaves = held.leaves() if isinstance(held, Choice) else []
            if any(map(is_object_or_layer, leaves)) and not any(leaf is UNBOUND for leaf in leaves):
                return held  # objects are not merged: the next one is asked for each of them
            return each(lambda value: value, held, none=True, plainly=True)
        return each(lambda value: getattr(value, name), self, plainly=True)

    def __setattr__(self, name: str, value: object) -> None:
        """Ours for our own code; what the user assigns is an attribute of the value."""
        if is_ours(sys._getframe(1).f_code.co_filename):
            object.__setattr__(self, name, value)
        else:
            each(lambda found: setattr(found, name, value), self, changes=True)

    def __delattr__(self, name: str) -> None:
        each(lambda found: delattr(found, name), self, changes=True)

    def d2s_value(self) -> Any:
        """The value that is meant, where a tensor or a number is needed."""
        return self.get()

    def d2s_shape(self) -> Any:
        """The shape of the alternative that holds."""
        use = shape if self.single else lambda value: list(shape(value))
        return each(use, self, plainly=True)

    def __getitem__(self, key: object) -> Any:
        return each(lambda value: value[key], self, plainly=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return each(lambda value: value(*args, **kwargs), self)

    def _operate(self, function: Operation, other: object, *, swapped: bool) -> object:
        changes = function in IN_PLACE
        if changes and not swapped:
            usable = self._usable()
            kept = all(is_changed_by(function, leaf) for leaf in usable)
            if usable and kept and not makes_another(function, other, usable):
                return self._operate_in_place(function, other)
            function = changing(function, usable)
        none = function in (operator.eq, operator.ne)  # ``None`` is a value like others there
        exact = False
        if self.plain and (
            type(other) in CONSTANTS
            or (isinstance(other, Choice) and other.plain)
            or (function is operator.mul and is_plain_sequence(other))
        ):
            known = _folded(function, other, self) if swapped else _folded(function, self, other)
            if known is not NotImplemented:
                return known
            exact = True  # one of the pairs raises: the run that comes to it does
        plainly = runs_no_code(other)
        if swapped:
            use = functools.partial(each, exact=exact, changes=changes)
            return use(lambda mine: function(other, mine), self, plainly=plainly)
        both = functools.partial(each, none=none, exact=exact)

        def beside(mine: object) -> object:
            use, plain = (lambda theirs: function(mine, theirs)), runs_no_code(mine)
            return both(use, other, plainly=plain, changes=changes)

        return both(beside, self, plainly=plainly)

    def _operate_in_place(self, function: Operation, other: object) -> object:
        def change(mine: object) -> None:
            each(lambda theirs: function(mine, theirs), other)

        each(change, self, plainly=runs_no_code(other))
        return self.renewed()

    def _operate_alone(self, function: Operation) -> object:
        known = _folded(function, self) if self.plain else NotImplemented
        if known is not NotImplemented:
            return known
        return each(function, self, plainly=True)

    def __iter__(self) -> Any:
        """Item by item where every alternative is a sequence of one length."""
        usable = self._usable()
        if all(map(is_plain_sequence, usable)) and (len({len(value) for value in usable}) == 1):
            self._check(iter)
            whole = bound(self)
            return iter([_item(whole, index) for index in range(len(usable[0]))])
        count = None if self.single else unpacks_into(sys._getframe(1))
        return iter(self.get(iter) if count is None else self.parts(self, count))

    def __delitem__(self, key: object) -> None:
        each(lambda found: operator.delitem(found, key), self, plainly=True)

    def __len__(self) -> int:
        return len(self.get(len))

    def __hash__(self) -> int:
        raise error_here(
            AmbiguousValueError,
            f"{self.said}, which depends on a tensor, is hashed by code that stays Python",
            "look it up with container[key] or container.get(key) in a converted function",
            self.table(),
        )

    def __bool__(self) -> bool:
        raise error_here(
            AmbiguousValueError,
            f"the truth of {self.said} depends on a tensor, in code that stays Python",
            "move the test into an if statement of the function",
            self.table(),
        )


def _item(thing: Any, index: int) -> Any:
    """The item at ``index`` of a sequence, or of every alternative; ``None`` has none."""
    if not isinstance(thing, Choice):
        return thing[index]
    if thing.true is None or thing.false is None:
        return _item(thing.false if thing.true is None else thing.true, index)
    true, false = _item(thing.true, index), _item(thing.false, index)
    return true if true is false else Choice(thing.flag, true, false, f"{thing.name}[{index}]")


def possible(value: object, more: bridge.Facts | None = None) -> Any:
    """``value`` without the alternatives that the branches around, or ``more``, rule out."""
    capture = current()
    if not isinstance(value, Choice) or capture is None:
        return value
    facts = {**capture.facts(), **(more or {})}
    return _possible(value, facts) if facts else value


def _possible(value: Any, facts: bridge.Facts) -> Any:
    if not isinstance(value, Choice):
        return value
    truth = bridge.known_truth(value.flag, facts)
    if truth is not None:
        return _possible(value.true if truth else value.false, facts)
    true, false = _possible(value.true, facts), _possible(value.false, facts)
    return value if true is value.true and false is value.false else value._with([true, false])


def simplified(value: object) -> Any:
    """``value`` with fewer alternatives where they are one, or too many numbers to keep apart."""
    if not isinstance(value, Choice):
        return value
    leaves = list(value.leaves())
    if all(type(item) is type(leaves[0]) for item in leaves) and value.plain:
        if all(repr(item) == repr(leaves[0]) for item in leaves):
            return leaves[0]
        if type(leaves[0]) in NUMBER_DTYPES and len(leaves) > 2 * MANY:
            return value.get(check=False)
        if type(leaves[0]) in NUMBER_DTYPES and len(set(leaves)) > MANY:
            return value.get(check=False)
        if len(leaves) > MANY and len(set(leaves)) < len(leaves):
            return value.once_each()
    many = len(leaves) > 2 * MANY and 2 * len(set(map(identity, leaves))) <= len(leaves)
    return value.once_each() if many else value


def _folded(function: Operation, *operands: object) -> Any:
    """``function`` of constants, computed now; ``NotImplemented`` where it raises for some."""
    at = next((at for at, each in enumerate(operands) if isinstance(each, Choice)), None)
    try:
        if at is None:
            return function(*operands)
        chosen: Any = operands[at]
        before, after = operands[:at], operands[at + 1 :]
        found = chosen.spread(lambda one: _folded(function, *before, one, *after))
    except Exception:  # which of the pairs counts, only the run knows
        return NotImplemented
    if any(value is NotImplemented for value in found.leaves()):
        return NotImplemented
    return simplified(found)


def each(
    use: Use,
    thing: object,
    *,
    none: bool = False,
    exact: bool = False,
    plainly: bool = False,
    changes: bool = False,
) -> Any:
    """What ``use`` gives for ``thing``; each alternative of a ``Choice`` is used on its own.

    The one alternative that can be meant is used at once; when several can, each is used in a
    side of an ``if``, and one that is not bound raises there.

    Args:
        use: what is done with a value.
        thing: anything.
        none: ``None`` is a value like others here, such as an argument or a side of ``==``.
        exact: a Python number has to be one; a 0-D value would not do.
        plainly: ``use`` runs no code of the user's when it is given ``None``.
        changes: ``use`` may change what it reaches, and not only ``thing``.
    """
    thing = possible(thing)
    if not isinstance(thing, Choice):
        return use(thing)
    absent = none and any(value is None for value in thing.leaves())
    if thing.single and not absent and not (exact and thing.plain):
        return use(thing.get(use if plainly else None))
    capture = current()
    assert capture is not None
    if capture.at_once:
        raise BranchNeededError
    with _counted(capture, thing):
        again = functools.partial(each, none=none, exact=exact, plainly=plainly, changes=changes)
        return capture.branching.over(lambda value: again(use, value), thing, changes=changes)


def at_once(use: Use, thing: Choice) -> Any:
    """What ``use`` gives for every alternative of ``thing``; ``None`` where that needs a branch.

    So it does if one of them raises, or something in ``use`` is one of several things, too, which
    raises for one: the run does, if it comes to both.
    """
    capture = current()
    assert capture is not None
    capture.at_once += 1
    try:
        with tentatively():
            return simplified(thing.spread(use))
    except (Exception, BranchNeededError):
        return None
    finally:
        capture.at_once -= 1


@contextlib.contextmanager
def _counted(capture: Capture, thing: Choice) -> Iterator[None]:
    """While alternatives are used one by one: inside of each other they multiply.

    Raises:
        AmbiguousValueError: (D2S203) one use would be captured more than :data:`MOST_USES` times.
    """
    before = capture.uses
    capture.uses = before + 1 if capture.spreading else 1
    capture.multiplied += capture.spreading > 0
    capture.spreading += 1
    try:
        if capture.uses > MOST_USES:
            raise error_here(
                AmbiguousValueError,
                f"{thing.said} and other values that depend on tensor conditions are used "
                f"together, in more than {MOST_USES} combinations of what they may be",
                "give them the same type, dtype, shape and length on every path",
                thing.table(),
            )
        yield
    finally:
        capture.spreading -= 1


def _none_error(name: str, use: Use | None) -> Exception:
    """What ``use`` raises for ``None``, in the words of Python or of dygraph."""
    try:
        with tentatively():
            if use is not None:
                use(None)
    except Exception as error:
        if not isinstance(error, D2SError):
            error.__traceback__ = error.__context__ = None  # which would keep frames alive
            return error
    return TypeError(f"'NoneType' object {name!r} is used where a tensor is needed")


def bound(value: object) -> Any:
    """``value`` without its unbound alternatives."""
    if not isinstance(value, Choice):
        return value
    true, false = bound(value.true), bound(value.false)
    if true is UNBOUND or false is UNBOUND:
        return false if true is UNBOUND else true
    fresh = Choice(value.flag, true, false, value.name)
    return fresh.chosen_at(value.places, value.body_first)
