"""Generators that hand their items on: a function of the user's runs where each ``yield`` stands.

A generator stays Python: it goes on from where it was, which no run can do.  One that nobody has
begun, and nobody goes on with, is not needed for that: its body runs as a function does, and calls
what is done with an item (``passes.statements.generators``).  A tensor may decide then whether it
yields, and how often.

Of a generator expression that a tensor filters, ``next`` takes the first item through a branch for
each, in the one before (:class:`Search`)::

    next((v for v in rows if v > 2), None)      if rows[0] > 2: found = rows[0]
                                                elif rows[1] > 2: found = rows[1]
                                                else: found = None
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeGuard

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, UnsupportedInGraphError
from d2s.runtime.aliasing.holders import holders_of
from d2s.runtime.aliasing.variables import WithClosure
from d2s.runtime.control_flow.cond import choose
from d2s.runtime.control_flow.raises import Try
from d2s.runtime.lists.iteration import moving
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, bound
from d2s.runtime.values.fields import steps
from d2s.runtime.values.objects import attribute, is_user_class
from d2s.runtime.values.tensors import condition, decided
from d2s.runtime.values.unbound import UNBOUND

Generator: TypeAlias = "types.GeneratorType[Any, Any, Any]"


class InSteps:
    """A generator as steps (``passes.statements.steps``), which a tensor may decide about.

    Attributes:
        fresh: nobody has begun it.
        names: those of its variables, which are attributes.
    """

    fresh: Any
    names: tuple[str, ...]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "d2s_")) or name in self.__dict__.get("names", ()):
            raise AttributeError(name)
        raise error_here(
            UnsupportedInGraphError,
            f"{name!r} of a generator is asked for, of which a tensor decides how far it has come",
            "take its items with next(), send() or a loop",
        )

    def d2s_stands_for(self) -> type:
        """The class that it has to a reader."""
        return types.GeneratorType


class Step:
    """What one step of a generator has come to.

    Attributes:
        found: whether it has yielded.
        get: gives what; where it has ended, what it returns.
    """

    def __init__(self, found: object, get: Callable[[], Any]) -> None:
        self.found: Any = found
        self._get = get

    def get(self) -> Any:
        """The item."""
        return kept(self._get())


def kept(value: object) -> Any:
    """A variable that is kept between the steps, where it is read: it is bound there."""
    return bound(value) if isinstance(value, Choice) else value


def taken(get: Callable[[], Any]) -> Any:
    """The next item, of which it is known that there is one."""
    return get()


Take = Callable[[Any], Any]
"""What is done with an item of a generator; whether no more are wanted."""

_BEGUN: Final[weakref.WeakKeyDictionary[Any, Callable[[Take], None]]] = weakref.WeakKeyDictionary()
"""What hands the items of a generator on, one after the other."""


def hands(generator: Iterator[Any], run: Callable[[Take], None]) -> Any:
    """``generator``, of which it is known now what hands its items on."""
    _BEGUN[generator] = run
    return generator


def _none(*_: object) -> None:
    """In the place of a method that is not there."""


_OF_STEPS: Final[list[Callable[..., Any]]] = []


def hand_steps_by(make: Callable[[Any], Any], express: Callable[..., Any]) -> None:
    """Tell what makes generators in Python.

    Args:
        make: gives one of the items that are left of an iterator in Python.
        express: gives a generator expression, from what it goes over, its element and filter.
    """
    _OF_STEPS[:] = [make, express]


def in_python(thing: object) -> bool:
    """Whether ``thing`` is an iterator in Python, and so are those that are made of it."""
    capture = current()
    return capture is not None and bool(capture.stepping) and steps(thing)


def expressed(things: object, element: object, accept: object) -> Any:
    """A generator expression over such an iterator."""
    return _OF_STEPS[1](things, element, accept)


def handing(thing: object) -> Generator | None:
    """The generator that is iterated with ```thing```, if it can hand on all of its items.

    Nobody has begun it, and it is not read again: one that is may be left in its middle, and goes
    on from there.
    """
    if current() is None:
        return None
    if steps(thing):
        thing = thing if _is_whole(thing) and not _is_held(thing) else _OF_STEPS[0](thing)
    elif is_user_class(type(thing)):
        method = attribute(type(thing), "__iter__") or _none
        if inspect.isgeneratorfunction(inspect.unwrap(method)):
            thing = method(thing)
    if not _is_whole(thing) or thing not in _BEGUN:
        return None
    return None if _is_held(thing) else thing


def _is_whole(thing: object) -> TypeGuard[Generator]:
    """Whether ``thing`` is a generator that nobody has begun."""
    if isinstance(thing, types.GeneratorType):
        return inspect.getgeneratorstate(thing) == inspect.GEN_CREATED
    return isinstance(thing, InSteps) and thing.fresh is True


def _is_held(thing: object) -> bool:
    """Whether somebody may go on with ``thing``."""
    return any(holder.live for holder in holders_of(thing))


def hand(take: Take, item: object) -> Any:
    """What stands in the place of a ``yield``; whether no more items are wanted."""
    return take(item)


_STOPS: Final = (
    "leaves a generator, in which it is a RuntimeError",
    "catch it in the generator: try, and return",
)


def hand_all(generator: Generator, take: Take) -> None:
    """Hand the items of a generator on, that :func:`handing` gave."""
    moving(generator)
    attempts = open_trace().attempts
    stops = Try(lambda: (StopIteration,), None, _STOPS)
    passing: list[tuple[BaseException, types.TracebackType | None]] = []

    def taking(item: object) -> Any:
        place = attempts.index(stops)
        del attempts[place]  # the loop is no part of the generator
        try:
            return take(item)
        except BaseException as error:
            passing.append((error, error.__traceback__))
            raise
        finally:
            attempts.insert(place, stops)

    attempts.append(stops)
    try:
        _BEGUN[generator](taking)
    except BaseException as error:
        for passed, trace in passing:
            if error is passed:  # the loop raised it, which the generator has not called
                raise error.with_traceback(trace)  # noqa: B904
        if isinstance(error, StopIteration):
            raise RuntimeError("generator raised StopIteration") from error
        raise
    finally:
        passing.clear()
        attempts.remove(stops)
    if isinstance(generator, types.GeneratorType):
        generator.close()


def step_of(generator: Any, value: object = None) -> Step:
    """The next step of a generator in steps, which is sent ``value``."""
    if generator.fresh is not False:
        generator.fresh = False
    attempts = open_trace().attempts
    stops = Try(lambda: (StopIteration,), None, _STOPS)
    attempts.append(stops)
    try:
        step: Step = generator.go_on(generator, value)
    except StopIteration as stop:
        raise RuntimeError("generator raised StopIteration") from stop
    finally:
        attempts.remove(stops)
    return step


# -- the first item ------------------------------------------------------------------------------

Thunk = Callable[[], Any]

NESTED: Final = 80
"""So many items are searched at most, each in a branch of the one before."""


class Search:
    """What ``next`` takes the first of.

    Attributes:
        things: the items that nobody has asked for.
        take, passes: the element and the filter of the generator expression.
        depth: how many branches the present one lies in.
    """

    def __init__(
        self, things: Iterator[Any], take: Callable[..., Any], passes: Callable[..., Any]
    ) -> None:
        self.things = things
        self.take = take
        self.passes = passes
        self.depth = 0

    def first(self) -> Any:
        """The first item that is accepted; ``StopIteration`` is raised where none is."""

        def none_left() -> Any:
            if not self.depth:
                raise StopIteration
            raise_when(True, StopIteration())
            return UNBOUND

        return sole(self.first_or(none_left))

    def first_or(self, otherwise: Thunk) -> Any:
        """The first item that is accepted, or what ``otherwise`` gives.

        Raises:
            ContainerInGraphError: (D2S207) a tensor decides of too many.
        """
        for item in self.things:
            holds = condition(self.passes(item))
            if bridge.is_value(holds):
                code = self.things, self.take, self.passes
                rest = once(lambda: self._later(otherwise))
                return later(holds, self._taking(item), rest, code)
            if holds:
                return self.take(item)
        return otherwise()

    def _taking(self, item: object) -> Thunk:
        return lambda: self.take(item)

    def _later(self, otherwise: Thunk) -> Any:
        self.depth += 1
        if self.depth > NESTED:
            raise error_here(
                ContainerInGraphError,
                f"next() would nest more than {NESTED} branches, one for each item of a generator "
                "expression",
                "write a for statement that ends with break",
            )
        return self.first_or(otherwise)


def once(rest: Thunk) -> Thunk:
    """``rest``, which asks an iterator for more items: what it has taken, nobody gives again.

    Raises:
        ContainerInGraphError: (D2S207) its side of a branch has to be captured a second time.
    """
    begun = False

    def run() -> Any:
        nonlocal begun
        if begun:
            raise error_here(
                ContainerInGraphError,
                "what any(), all() or next() calls for an item gives a list or dict items or keys "
                "that only the run knows",
                "write a for statement that ends with break",
            )
        begun = True
        return rest()

    return run


def later(test: object, body: Thunk, orelse: Thunk, code: tuple[object, ...]) -> Any:
    """One of two sides, in one of which an iterator is asked for more items.

    Args:
        test: a bool value.
        body, orelse: the sides.
        code: the iterator, and functions that are called with its items; they may change what they
            reach.
    """
    test = decided(test)
    if not bridge.is_value(test):
        return body() if test else orelse()
    return choose(test, body, orelse, (WithClosure(_none, orelse, code),))


def sole(found: object) -> Any:
    """``found`` where something else has raised what is raised for no item."""
    return found.get(check=False) if isinstance(found, Choice) and found.single else found
