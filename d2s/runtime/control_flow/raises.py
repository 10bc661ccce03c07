"""Exceptions that the run decides on and a ``try`` around them catches (rule F1).

The side of a branch that raises ends there; what it leaves to the ``try`` is noted: which
exception it is, and the variables of the ``try`` as they are at that point.  ``guards`` hands the
notes outwards and guards the code that the exception skips.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from d2s.diagnostics.tracebacks import traceback_of
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.snapshots import freeze
from d2s.runtime.aliasing.variables import State
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values.callbacks import places_here

OVER: Final = (
    "would be caught by a try statement, which is over by then",
    "decide with if instead of raising, or catch the exception in the caller of the "
    "converted function",
)
"""Cause and cure where the run cannot take an exception to its handler."""

_PLAIN = (bool, int, float, str, bytes, type(None))


@dataclass(frozen=True)
class Case:
    """One exception that the run may raise.

    Attributes:
        error: the exception as it was made at capture.
        attempt: the ``try`` that catches it.
        handler: the index of the handler that does.
    """

    error: BaseException
    attempt: Try
    handler: int


class Try:
    """A ``try`` whose body is being captured.

    Attributes:
        caught: gives what each handler catches; ``None``: everything, to be raised again.
        state: the variables that its handlers get as they were; ``None``: it has no way to let
            the run decide.
        refusal: why the run cannot go there, if it cannot: cause and cure.
        others: functions that reach what its end may change.
        depth: the number of blocks around it.
        around: the number of functions around its own.
    """

    def __init__(
        self,
        caught: Callable[[], Any] | None,
        state: State | None,
        refusal: tuple[str, str] = OVER,
        others: tuple[Callable[[], Any], ...] = (),
    ) -> None:
        self.caught = caught
        self.state = state
        self.refusal = refusal
        self.others = others
        capture = current()
        self.depth = 0 if capture is None else len(capture.blocks)
        self.around = len(places_here()) - 1

    def handler_of(self, kind: type[BaseException]) -> int | None:
        """The index of the handler that catches ``kind``."""
        if self.caught is None:
            return 0
        for index, types in enumerate(self.caught()):
            try:
                if issubclass(kind, types):
                    return index
            except TypeError:  # it names no exception class: Python says so when it matters
                continue
        return None


@dataclass(frozen=True)
class Raised:
    """What the run may have raised at some point of the program.

    Attributes:
        number: the number of the :class:`Case`, 0 for none; an int or an int64 value.
        cases: the numbers that it can be.
        snapshots: for each ``try`` that catches one of them, its variables.
        contents: for each case, frozen, what the exception holds.
    """

    number: Any
    cases: tuple[int, ...]
    snapshots: dict[Try, list[Any]]
    contents: dict[int, Any]


def catching(kind: type[BaseException]) -> tuple[Try, int] | None:
    """The ``try`` that catches an exception raised here on the run, and its handler's index.

    Raises:
        UnsupportedInGraphError: (D2S205) there is one, but the run cannot go there.
    """
    capture = current()
    if capture is None:
        return None
    for attempt in reversed(capture.attempts):
        handler = attempt.handler_of(kind)
        if handler is None:
            continue
        blocks = capture.blocks[attempt.depth :]
        if any(block.kind == "loop" for block in blocks):
            raise error_here(
                UnsupportedInGraphError,
                f"a {kind.__name__} that only the run can raise leaves a static loop, and a try "
                "or with statement around the loop would see it",
                "put the statement inside the loop, or set a variable and break instead of raising",
            )
        if attempt.state is None:
            raise refused(kind, attempt.refusal)
        return attempt, handler
    return None


def refused(kind: type[BaseException], refusal: tuple[str, str] = OVER) -> Exception:
    """The refusal of an exception that the run cannot take to its handler."""
    cause, cure = refusal
    return error_here(
        UnsupportedInGraphError, f"a {kind.__name__} that only the run can raise {cause}", cure
    )


def note(attempt: Try, handler: int, error: BaseException) -> None:
    """The present path ends here, with ``error`` for the handler of ``attempt``."""
    capture = current()
    assert capture is not None
    assert attempt.state is not None
    object.__setattr__(error, "__traceback__", traceback_of(places_here(error)[attempt.around :]))
    number = _number(capture, Case(error, attempt, handler))
    capture.extents[-1].raised = Raised(
        number,
        (number,),
        {attempt: attempt.state.freeze()},
        {number: freeze((error.args, dict(vars(error))))},
    )


def _number(capture: Capture, case: Case) -> int:
    """The number of ``case``; one that is raised at the same place with the same text has it."""
    if _is_plain(case.error):
        for number, known in capture.raises.items():
            if known.attempt is case.attempt and _same(known.error, case.error):
                return number
    number = len(capture.raises) + 1
    capture.raises[number] = case
    return number


def _is_plain(error: BaseException) -> bool:
    """Whether nothing that the run decides is in it."""
    return all(type(item) in _PLAIN for item in error.args) and not vars(error)


def _same(one: BaseException, other: BaseException) -> bool:
    return (
        type(one) is type(other)
        and _is_plain(one)
        and list(map(type, one.args)) == list(map(type, other.args))
        and repr(one.args) == repr(other.args)
        and one.__cause__ is other.__cause__
        and _line(one) == _line(other)
    )


def _line(error: BaseException) -> tuple[str, int] | None:
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return None if step is None else (step.tb_frame.f_code.co_filename, step.tb_lineno)
