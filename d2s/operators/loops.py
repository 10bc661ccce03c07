"""``while`` and ``for``: Python, or one ``while`` of the program (rules C1 to C7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import LoopMismatchError
from d2s.operators.branches import if_
from d2s.operators.carry import Plans, Replan, carrier_of, path_of
from d2s.operators.context import current, error_here
from d2s.operators.effects import BlockLeft
from d2s.operators.iteration import Indexed, indexed, items_of
from d2s.operators.lists import NeedsElementError
from d2s.operators.logic import and_, not_
from d2s.operators.state import Slot, State
from d2s.operators.values import condition, mark_number

ATTEMPTS = 12
"""How often one loop is captured at most before its state counts as unstable."""


def while_(test: Callable[[], Any], body: Callable[[], Any], names: tuple[str, ...]) -> None:
    """A ``while`` statement.

    Args:
        test: evaluates the condition.
        body: one trip.
        names: the state that the trips change and somebody reads.
    """
    while True:
        holds = condition(test())
        if bridge.is_value(holds):
            _capture(holds, test, body, State(names, body, test))
            return
        if not holds:
            return
        body()


def for_(
    iter_: Any,
    body: Callable[[Any], Any],
    names: tuple[str, ...],
    stop: Callable[[], Any] | None = None,
) -> None:
    """A ``for`` statement.

    Args:
        iter_: what is iterated, evaluated.
        body: one trip, given the item.
        names: the state that the trips change and somebody reads.
        stop: whether a ``break`` has happened, asked after each trip.
    """
    run_time = indexed(iter_)
    if run_time is not None:
        _for_indexed(run_time, body, names, stop)
        return
    for item in items_of(iter_):
        if stop is not None:
            stopped = condition(stop())
            if bridge.is_value(stopped):
                # The rest of a Python loop runs unless the program has broken out of it (C1).
                if_(~stopped, _bound(body, item), None, names)
                continue
            if stopped:
                return
        body(item)
        if stop is not None:
            stopped = condition(stop())
            if not bridge.is_value(stopped) and stopped:
                return


def _bound(body: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    """``body`` with its item, still showing its closure to the operators."""

    class Trip:
        __code__ = body.__code__
        __closure__ = body.__closure__
        __globals__ = body.__globals__

        def __call__(self) -> None:
            body(item)

    return Trip()


class _Counter(Slot):
    """The hidden index of a ``for`` over something that the run measures."""

    def __init__(self) -> None:
        self.value: Any = 0

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


def _for_indexed(
    sequence: Indexed,
    body: Callable[[Any], Any],
    names: tuple[str, ...],
    stop: Callable[[], Any] | None,
) -> None:
    counter = _Counter()
    counter.value = mark_number(paddle.full([], 0, "int64"), int)

    def test() -> Any:
        more = counter.value < sequence.length
        return more if stop is None else and_(not_(stop()), lambda: more)

    def trip() -> None:
        index = counter.value
        body(sequence.item(index))
        counter.value = mark_number(index + 1, int)

    state = State(names, body, stop)
    state.names = (*state.names, "<index>")
    state.slots.append(counter)
    holds = condition(test())
    if not bridge.is_value(holds):  # a break before the first trip cannot be
        return
    _capture(holds, test, trip, state)


def _capture(holds: Any, test: Callable[[], Any], body: Callable[[], Any], state: State) -> None:
    """One ``while`` of the program, from the present state on."""
    capture = current()
    assert capture is not None
    before = state.freeze()
    plans = Plans()
    for _ in range(ATTEMPTS):
        notes = capture.noted()
        try:
            _attempt(holds, test, body, state, before, plans)
            return
        except Replan as replan:
            state.thaw(before)
            capture.forget_since(notes)
            plans.change(replan)
        except NeedsElementError as need:
            capture.forget_since(notes)
            state.thaw(before)
            _grow(plans, state, need.target, need.item)
        except BaseException:
            state.thaw(before)
            raise
    raise error_here(
        LoopMismatchError,
        "the state of the loop has another form in every trip",
        "give every variable that the loop changes its final type before the loop",
    )


def _grow(plans: Plans, state: State, target: Any, item: Any) -> None:
    for name, value in zip(state.names, state.read(), strict=True):
        path = path_of(name, value, target)
        if path is not None:
            plans[path].grow = item
            return
    raise error_here(
        LoopMismatchError,
        "a list grows in a static loop that does not know it by name",
        "append to the list through the variable that holds it",
    )


def _attempt(
    holds: Any,
    test: Callable[[], Any],
    body: Callable[[], Any],
    state: State,
    before: list[Any],
    plans: Plans,
) -> None:
    capture = current()
    assert capture is not None
    depth = len(capture.blocks)
    carriers = [
        carrier_of(name, value, plans, depth=depth, top=True)
        for name, value in zip(state.names, before, strict=True)
    ]
    inits = [init for carrier in carriers for init in carrier.inits]
    lists = [target for carrier in carriers for target in carrier.lists()]
    op = bridge.WhileOp(holds, inits)

    def spread(values: list[Any]) -> None:
        rest = list(values)
        objects = []
        for carrier in carriers:
            count = len(carrier.inits)
            objects.append(carrier.rebuild(rest[:count]))
            rest = rest[count:]
        state.write(objects)

    try:
        with capture.block("loop"), op.body() as arguments:
            for growing in lists:
                growing.home = depth + 1
            spread(arguments)
            try:
                body()
                again = condition(test())
            except BlockLeft:  # the trip ends in a raise; what it leaves is never read
                spread(arguments)
                again = False
            if not bridge.is_value(again):
                again = paddle.full([], bool(again), "bool")
            after = [
                value
                for carrier, snapshot in zip(carriers, state.freeze(), strict=True)
                for value in carrier.split(snapshot)
            ]
            op.finish(paddle.assign(again), after)
    except BaseException:
        for growing in lists:
            growing.home = depth
        op.drop()
        raise
    for growing in lists:
        growing.home = depth
    spread(op.results())
    state.forget_scratch()
