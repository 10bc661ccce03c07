"""The ``while`` statement: Python's trips, until a tensor decides (rule C1)."""

from __future__ import annotations

from collections.abc import Callable

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.variables import State
from d2s.runtime.control_flow.cond import choose, decide
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.loops.rolling import Attempt, hold_values
from d2s.runtime.loops.unrolling import GUARDED, check_trips, deeper
from d2s.runtime.loops.while_loop import WhileLoop
from d2s.runtime.python.logic import and_, not_
from d2s.runtime.trace import NeedsPythonError, current, error_here
from d2s.runtime.values.tensors import condition
from d2s.syntax.bytecode import binds


def while_(
    test: Callable[[], object],
    body: Callable[[], object],
    names: tuple[str, ...],
    stop: Callable[[], object] | None = None,
) -> None:
    """A ``while`` statement.

    Args:
        test: evaluates the condition.
        body: one trip.
        names: the state that the trips change and somebody reads.
        stop: whether a ``break`` has happened, asked after each trip.
    """

    def state() -> State:
        return State(names, body, test, stop)

    trips, raised = 0, _raised()
    try:
        while True:
            if trips == GUARDED and _is_constant(test) and _raised() > raised:
                raise _ended_by_an_exception()
            holds = condition(test())
            if bridge.is_value(holds):
                WhileLoop(holds, _going_on(test, stop, names), body, state()).follow()
                return
            if not holds:
                note("while", trips)
                return
            trips += 1
            check_trips(trips, "while")
            body()
            stopped = False if stop is None else condition(stop())
            if bridge.is_value(stopped):
                assert stop is not None
                _rest(stopped, test, body, state, stop, _going_on(test, stop, names))
                return
            if stopped:
                note("while", trips)
                return
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one


def _is_constant(test: Callable[[], object]) -> bool:
    """Whether the condition reads nothing, as in ``while True``."""
    code = getattr(test, "__code__", None)
    return code is not None and not (code.co_names or code.co_freevars)


def _raised() -> int:
    """How many exceptions the run may raise, as far as is captured."""
    capture = current()
    return 0 if capture is None else len(capture.raises) + len(capture.hosts)


def _ended_by_an_exception() -> Exception:
    return error_here(
        UnsupportedInGraphError,
        f"a while loop has been captured for {GUARDED} trips, and what ends it is an exception "
        "that only the run can raise",
        "leave the loop by a break where the tensor says so, and raise behind it",
    )


def _going_on(
    test: Callable[[], object], stop: Callable[[], object] | None, names: tuple[str, ...]
) -> Callable[[], object]:
    """The condition of a static loop that a ``break`` may have left.

    What the condition binds, as ``(n := ...) > 1`` does, comes out of the side that asks it.
    """
    if stop is None:
        return test
    code = getattr(test, "__code__", None)
    bound = tuple(name for name in names if code is not None and binds(code, name))

    def going_on() -> object:
        going = not_(stop())
        if bound and bridge.is_value(going):
            return choose(going, test, lambda: going, (test,), bound)
        return and_(going, test)

    return going_on


def _rest(
    stopped: paddle.Tensor,
    test: Callable[[], object],
    body: Callable[[], object],
    state: Callable[[], State],
    stop: Callable[[], object],
    going_on: Callable[[], object],
) -> None:
    """The trips after a ``break`` that the run decides, while Python decides the condition (C1).

    They go on in a static loop.  Where that cannot be, the trips are captured one by one, each
    inside of the side that has not broken out.
    """
    attempt = Attempt()
    if attempt.succeeds(lambda: _as_one_loop(going_on, body, state())):
        return
    now = state()
    if hold_values(now):
        holds = condition(going_on())
        if bridge.is_value(holds):
            WhileLoop(holds, going_on, body, now).follow()
        return
    depth = 0

    def trips() -> None:
        nonlocal depth
        while True:
            holds = condition(test())
            if bridge.is_value(holds):
                WhileLoop(holds, going_on, body, state()).follow()
                return
            if not holds:
                return
            body()
            stopped = condition(stop())
            if bridge.is_value(stopped):
                depth = deeper(depth, attempt)
                decide(~stopped, trips, None, state())
                return
            if stopped:
                return

    decide(~stopped, trips, None, now)


def _as_one_loop(test: Callable[[], object], body: Callable[[], object], state: State) -> None:
    """One static loop; with a condition that Python decides there is none.

    Raises:
        NeedsPythonError: the condition is none that a program can ask.
    """
    holds = condition(test())
    if not bridge.is_value(holds):
        raise NeedsPythonError
    WhileLoop(holds, test, body, state).follow()
