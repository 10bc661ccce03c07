"""``with`` statements: a context manager of the user's is left on the run as it is in dygraph.

On Python values, and for managers of Paddle and of the standard library, everything is Python's
own ``with``.  Where a tensor decides whether an exception leaves the body, ``__exit__`` of a class
of the user's is captured once for the runs that have raised nothing and once for each exception
(rule F1); what it swallows does not leave.  A generator under ``contextlib.contextmanager`` can be
gone on with only once, so it is cut in two at its ``yield`` (``passes.managers``).
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from d2s.errors import D2SError
from d2s.runtime.calls.call import call
from d2s.runtime.calls.converter import converter
from d2s.runtime.control_flow.raises import OVER
from d2s.runtime.control_flow.try_ import attempt, handle
from d2s.runtime.python.logic import not_
from d2s.runtime.trace import OnceMoreError, current
from d2s.runtime.values.callbacks import raise_where
from d2s.runtime.values.objects import is_library, is_user_class
from d2s.runtime.values.tensors import is_tensor


@contextlib.contextmanager
def _sample() -> Iterator[None]:
    yield


_Generated: Final[Any] = type(_sample())
"""The class of what a function under ``contextlib.contextmanager`` returns."""

_WHOLE: Final = (
    "would go on in the generator of a context manager, which has gone on already",
    "let its yield be a statement of the function or of a try statement in it, with nothing "
    "before it in the try; or write a class with __enter__ and __exit__",
)

_ONCE: Final = (
    "would unwind an ExitStack, which calls each of its callbacks once",
    "use a with statement for each context manager",
)


class manage:
    """The context manager of a ``with`` statement, in the place of the user's.

    Args:
        manager: the user's.
        names: the state that the body changes and somebody reads; ``None``: Python leaves the
            body by a jump, so the run cannot go on behind it.
        cells: a function whose closure holds the variables of ``names``.
    """

    # No dictionary: what it holds is no variable of the user's (see ``runtime.aliasing.holders``).
    __slots__ = ("cells", "manager", "names", "tried", "used")

    def __init__(
        self,
        manager: Any,
        names: tuple[str, ...] | None = None,
        cells: Callable[[], Any] | None = None,
    ) -> None:
        self.manager = manager
        self.names = names
        self.cells = cells
        self.tried: attempt | None = None

    def __enter__(self) -> Any:
        manager = self.used = self.manager
        capture = current()
        if capture is None or not _is_users(manager):
            return _enter(manager)
        if capture.adopt is not None:
            capture.adopt(manager)
        names, refusal = self.names, OVER
        if type(manager) is _Generated:
            cut = converter().ended(manager.func, "cut")
            if cut is None:
                names, refusal = None, _WHOLE
            else:
                self.used = _Cut(cut, manager.args, manager.kwds)
        elif isinstance(manager, contextlib.ExitStack):
            names, refusal = None, _ONCE
        elif isinstance(manager, contextlib.closing):
            self.used = _Closing(_closed(manager))
        entered = _enter(self.used)
        context_manager = getattr(self.used, "reached", self.used)
        tried = attempt(None, names, self.cells, lambda: context_manager, refusal=refusal)
        self.tried = tried.begin(sys._getframe(1))
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> Any:
        tried, used = self.tried, self.used
        if tried is None or not tried.__exit__(kind, error, trace):
            return _exit(used, kind, error, trace)

        def leave(raised: BaseException) -> None:
            trace = raised.__traceback__
            swallowed = _exit(used, type(raised), raised, trace)
            if is_tensor(swallowed):
                raise_where(not_(swallowed), lambda: raised)
            elif not swallowed:
                raise raised.with_traceback(trace)

        def go_on() -> None:
            _exit(used, None, None, None)

        handle(tried, (leave,), go_on, self.names or ())
        return True


def _is_users(manager: Any) -> bool:
    if type(manager) is _Generated:
        return not is_library(manager.func.__code__.co_filename)
    if isinstance(manager, contextlib.closing):
        return is_user_class(type(_closed(manager)))
    return isinstance(manager, contextlib.ExitStack) or is_user_class(type(manager))


def _enter(manager: Any) -> Any:
    kind = type(manager)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        with manager:  # Python says what is missing
            pass
    return kind.__enter__(manager)


def _exit(manager: Any, *error: Any) -> Any:
    return type(manager).__exit__(manager, *error)


def _closed(manager: Any) -> Any:
    """What ``contextlib.closing`` closes."""
    return manager.thing


class _Closing:
    """``contextlib.closing`` of an object of the user's, whose ``close`` is converted."""

    def __init__(self, closed: Any) -> None:
        self.reached = closed

    def __enter__(self) -> Any:
        return self.reached

    def __exit__(self, *error: object) -> None:
        call(self.reached.close)()


class _Cut:
    """A generator under ``contextlib.contextmanager``, cut in two.

    Args:
        cut: does what comes before the ``yield``; gives what is yielded and a function that goes
            on behind it, given what is raised there.
        args, kwds: what the user's function was called with.
    """

    def __init__(
        self, cut: Callable[..., Any], args: tuple[object, ...], kwds: dict[str, object]
    ) -> None:
        self.cut, self.args, self.kwds = cut, args, kwds

    def __enter__(self) -> Any:
        entered, self.reached = self.cut(*self.args, **self.kwds)
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> bool:
        if isinstance(error, OnceMoreError):
            return False  # what stands behind the yield is captured with the next attempt
        try:
            self.reached(error)
        except D2SError:
            raise
        except BaseException as other:
            if other is not error:
                raise
            error.__traceback__ = trace
            return False
        return error is not None
