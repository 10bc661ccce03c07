"""``try`` statements: what the run raises in the body is handled on the run (rule F1).

On Python values everything is Python's own ``try``.  Where a tensor decides whether an exception
is raised, the rest of the body is guarded (``guards``), and each exception that the run
may raise gets its handler in a side of an ``if``.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import paddle

from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.defects import defect_of
from d2s.errors import D2SError, DefectError
from d2s.runtime.aliasing.origins import recall
from d2s.runtime.aliasing.replays import in_its_call
from d2s.runtime.aliasing.snapshots import thaw
from d2s.runtime.aliasing.variables import State
from d2s.runtime.control_flow.cond import decide, select
from d2s.runtime.control_flow.effects import BlockLeft, raise_later
from d2s.runtime.control_flow.guards import (
    End,
    close,
    extent,
    is_one_of,
    leave,
    skip_where,
    split,
)
from d2s.runtime.control_flow.raises import OVER, Case, Raised, Try
from d2s.runtime.trace import Capture, current, tentatively
from d2s.runtime.values.tensors import as_value


class attempt:
    """The body of a ``try`` statement, as a context.

    Args:
        caught: gives what each handler catches; ``None``: everything, to be raised again.
        names: the state that the body changes and somebody reads; ``None``: the handlers could
            not be made functions, so the run cannot go there.
        cells: a function whose closure holds the variables of ``names``.
        others: functions that reach what the body may change besides.
        refusal: why the run cannot go where ``names`` is ``None``: cause and cure.
    """

    # No dictionary: what it holds is no variable of the user's (see ``runtime.aliasing.holders``).
    __slots__ = (
        "capture", "caught", "cells", "end", "inside", "known", "names", "others", "refusal",
        "state", "stretch",
    )  # fmt: skip

    def __init__(
        self,
        caught: Callable[[], Any] | None,
        names: tuple[str, ...] | None = None,
        cells: Callable[[], Any] | None = None,
        *others: Callable[[], Any],
        refusal: tuple[str, str] = OVER,
    ) -> None:
        self.caught = caught
        self.names = names
        self.cells = cells
        self.others = others
        self.refusal = refusal
        self.end: End | None = None

    def __enter__(self) -> attempt:
        return self.begin(sys._getframe(1))

    def begin(self, frame: types.FrameType) -> attempt:
        """What entering the context does; ``frame`` has the body."""
        capture = current()
        self.capture = capture
        if capture is not None:
            self.state = (
                None
                if self.names is None
                else State(self.names, self.cells, *self.others).without_scratch()
            )
            self.known = Try(self.caught, self.state, self.refusal, self.others)
            capture.attempts.append(self.known)
            self.stretch = extent(frame, self.names or (), self.state)
            self.inside = self.stretch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> bool:
        capture = self.capture
        if capture is None:
            return False
        with tentatively():  # what it says may be a text of the run
            defect = None if error is None else defect_of(error)
        if isinstance(error, DefectError):
            defect = error
        if defect is not None:
            capture.refused.append(defect)  # no handler of the user's is meant
        inside = self.inside
        decided = bool(inside.guards) or inside.raised is not None
        try:
            if not decided or not (
                error is None
                or isinstance(error, BlockLeft)
                or (isinstance(error, Exception) and not isinstance(error, D2SError))
            ):
                self.stretch.__exit__(kind, error, trace)
                return False
            if isinstance(error, Exception):
                raise_later(in_its_call(error))  # on the runs that have come this far
            snapshot = [] if self.state is None else self.state.freeze()
            names = () if self.state is None else self.state.names
            try:
                end = close(inside, error is not None, snapshot, names, select)
            except BaseException:
                self.stretch.__exit__(*sys.exc_info())
                raise
            self.stretch.__exit__(None, None, None)
        finally:
            capture.attempts.pop()
        self._settle(capture, end)
        return True

    def _settle(self, capture: Capture, end: End) -> None:
        """Keep what is raised for this ``try``; what is for one around it goes on its way."""
        mine = {n for n, case in capture.raises.items() if case.attempt is self.known}
        here, others = split(end.raised, mine)
        if self.state is not None:
            self.state.thaw(end.outcome)
        self.end = End(end.left, end.outcome, here)
        if here is None and end.left:
            leave(others)
        if others is not None:
            skip_where(others)

    @property
    def raised(self) -> Raised | None:
        """What the run may have raised in the body for a handler of this statement."""
        return None if self.end is None else self.end.raised


def handle(
    tried: attempt,
    handlers: tuple[Callable[[Any], None], ...],
    orelse: Callable[[], None] | None,
    names: tuple[str, ...],
) -> None:
    """The handlers and the ``else`` of a ``try`` statement whose body Python has not left.

    Args:
        tried: the body.
        handlers: one function for each handler, given the exception.
        orelse: the ``else`` clause.
        names: the state that the body, the handlers and ``orelse`` change and somebody reads
            afterwards.
    """
    raised = tried.raised
    if raised is None:
        if orelse is not None:
            orelse()
        return
    state = State(names, tried.cells, *tried.others, *handlers, orelse)
    _choose(tried, raised, list(raised.cases), _Steps(handlers, orelse, state))


class _Steps:
    """What follows the body of a ``try``: handlers, ``else``, and the state that they share."""

    def __init__(
        self,
        handlers: tuple[Callable[[Any], None], ...],
        orelse: Callable[[], None] | None,
        state: State,
    ) -> None:
        self.handlers = handlers
        self.orelse = orelse
        self.state = state


def _choose(tried: attempt, raised: Raised, cases: list[int], steps: _Steps) -> None:
    """One side for each of ``cases``, and one for the runs that have raised nothing."""
    capture = current()
    end = tried.end
    assert capture is not None
    assert end is not None
    first, *others = cases

    def handler() -> None:
        case: Case = capture.raises[first]
        _recall(tried, raised.snapshots[tried.known])
        error = _filled(case, raised.contents[first])
        try:
            raise error
        except BaseException:
            steps.handlers[case.handler](error)

    def rest() -> None:
        if others:
            _choose(tried, raised, others, steps)
            return
        _recall(tried, end.outcome)
        if steps.orelse is not None:
            steps.orelse()

    if others or not end.left:
        decide(is_one_of(raised.number, [first]), handler, rest, steps.state)
        return
    try:
        handler()
    except D2SError:
        raise
    except Exception as error:
        if not capture.guarded or is_defect(error):
            raise
        raise_later(error)
        leave(capture.extents[-1].raised)


def _recall(tried: attempt, snapshot: list[Any]) -> None:
    if tried.state is not None:
        tried.state.thaw(snapshot, lasting=False)
        recall(snapshot)


def _filled(case: Case, contents: object) -> BaseException:
    """The exception of ``case``, with what it holds as seen after the body."""
    arguments, fields = thaw(contents)
    case.error.args = arguments
    vars(case.error).update(fields)
    return case.error


def settle(tried: attempt) -> None:
    """After a body whose exceptions nobody handles (yet): the state, whatever was raised."""
    raised = tried.raised
    if raised is None or tried.end is None or tried.state is None:
        return
    end, snapshot = tried.end, raised.snapshots[tried.known]
    if end.left:
        _recall(tried, snapshot)
        return
    nothing = paddle.equal(as_value(raised.number), paddle.full([], 0, "int64"))
    decide(
        nothing,
        lambda: _recall(tried, end.outcome),
        lambda: _recall(tried, snapshot),
        tried.state,
    )


def again(tried: attempt) -> None:
    """After ``finally``: what the body has raised is raised again."""

    def once_more(error: Any) -> None:
        raise error

    if tried.raised is not None:
        tried.state = None  # it is settled
        steps = _Steps((once_more,), None, State(()))
        _choose(tried, tried.raised, list(tried.raised.cases), steps)
