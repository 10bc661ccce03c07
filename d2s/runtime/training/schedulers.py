"""Schedulers of learning rates while a program is captured.

A scheduler steps when the program has run, so its state on a later call is another one: what the
function reads of it each run asks for, and what only a step behind would know is refused.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from paddle.optimizer.lr import LRScheduler

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import error_here
from d2s.runtime.training.optimizer_facts import ahead
from d2s.runtime.training.steps import Steps, steps_here
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import NUMBER_DTYPES

_NUMBERS: Final = ("last_epoch", "last_lr")
"""What each run can be asked for."""

_OTHERS: Final = ("T_cur", "T_i", "best", "cooldown_counter", "num_bad_epochs", "step_num")
"""What else a step changes, in some class."""

_WHOLE: Final = ("state_dict", "set_state_dict", "set_dict", "state_keys")

_CURE: Final = "read it outside of the converted function, or in front of the step"


def _asks_itself() -> bool:
    """Whether Paddle's own code is what reads or sets, two frames above."""
    home = sys._getframe(2).f_globals.get("__name__", "")
    return isinstance(home, str) and home.startswith("paddle.")


def _refusal(scheduler: LRScheduler, what: str, why: str) -> UnsupportedInGraphError:
    name = type(scheduler).__name__
    error = error_here(UnsupportedInGraphError, f"{what} of a scheduler ({name}) {why}", _CURE)
    assert isinstance(error, UnsupportedInGraphError)
    return error


def _asked(
    state: Steps, scheduler: LRScheduler, name: str, number: Callable[[LRScheduler], Any]
) -> Any:
    """``number(scheduler)``, which each run asks for at its beginning."""
    if state.optimizers.moved(scheduler):
        found = state.optimizers.behind(scheduler, name, number)
        if found is None:
            raise _refusal(scheduler, repr(name), "is read behind its step, which a run makes last")
        return found
    if type(ahead(scheduler, 0, number)) not in NUMBER_DTYPES:
        raise _refusal(scheduler, repr(name), "is read, and is no number")
    return state.optimizers.asked(
        (id(scheduler), name, 0), functools.partial(ahead, scheduler, 0, number)
    )


def _attribute(name: str) -> property:
    """An attribute of schedulers that a step changes."""

    def get(scheduler: LRScheduler) -> Any:
        held = vars(scheduler)
        if name not in held:
            raise AttributeError(f"{type(scheduler).__name__!r} object has no attribute {name!r}")
        state = steps_here()
        if state is None or _asks_itself():
            return held[name]
        if is_user_class(type(scheduler)) and not state.optimizers.moved(scheduler):
            return held[name]  # its attributes are state as those of any object
        if name in _OTHERS:
            raise _refusal(scheduler, repr(name), "is read, and another one on a later run")
        return _asked(state, scheduler, name, lambda which: vars(which)[name])

    def put(scheduler: LRScheduler, value: object) -> None:
        _check_set(scheduler, name, _asks_itself())
        vars(scheduler)[name] = value

    return property(get, put)


def _check_set(scheduler: LRScheduler, name: str, itself: bool) -> None:
    if steps_here() is not None and not itself and not is_user_class(type(scheduler)):
        raise _refusal(scheduler, repr(name), "is set while the program is being captured")


def _set(scheduler: LRScheduler, name: str, value: object) -> None:
    _check_set(scheduler, name, _asks_itself())
    object.__setattr__(scheduler, name, value)


def _rate(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``scheduler()`` or ``scheduler.get_lr()``."""

    def method(scheduler: LRScheduler) -> Any:
        state = steps_here()
        if state is None or _asks_itself() or is_user_class(type(scheduler)):
            return original(scheduler)

        return _asked(state, scheduler, name, lambda which: float(original(which)))

    return method


def _refused(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(scheduler: LRScheduler, *arguments: object, **options: object) -> Any:
        if steps_here() is None or _asks_itself():
            return original(scheduler, *arguments, **options)
        raise _refusal(scheduler, f"{name}()", "is called, which concerns all of its state")

    return method


def _stepped(original: Callable[..., Any]) -> Callable[..., Any]:
    """A scheduler's ``step``: each run calls it at its end."""

    def method(scheduler: LRScheduler, *arguments: object, **options: object) -> Any:
        state = steps_here()
        if state is None:
            return original(scheduler, *arguments, **options)
        inspect.signature(original).bind(scheduler, *arguments, **options)
        state.optimizers.later(original.__get__(scheduler), *arguments, **options)
        state.read.note(scheduler)
        return None

    return method


def replacements(classes: list[type]) -> Iterator[tuple[tuple[type, str], Any]]:
    """What ``classes``, of schedulers, have in place of their own while a program is captured."""
    for kind in classes:
        own = vars(kind)
        if "step" in own:
            yield (kind, "step"), _stepped(own["step"])
        for name in ("__call__", "get_lr"):
            if name in own:
                yield (kind, name), _rate(own[name], name)
        for name in _WHOLE:
            if name in own:
                yield (kind, name), _refused(own[name], name)
    yield (LRScheduler, "__setattr__"), _set
    for name in (*_NUMBERS, *_OTHERS):
        yield (LRScheduler, name), _attribute(name)
