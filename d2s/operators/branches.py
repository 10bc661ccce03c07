"""``if`` statements and conditional expressions: Python, or one ``if`` of the program (B1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import D2SError
from d2s.operators.context import current
from d2s.operators.effects import BlockLeft, raise_later
from d2s.operators.merge import Merger
from d2s.operators.state import State, freeze
from d2s.operators.values import condition

Body = Callable[[], Any]


def if_(test: Any, body: Body, orelse: Body | None, names: tuple[str, ...]) -> None:
    """An ``if`` statement.

    Args:
        test: the condition, evaluated.
        body, orelse: the two sides; ``orelse`` may be ``None``.
        names: the state that the sides change and somebody reads afterwards.
    """
    test = condition(test)
    if bridge.is_value(test):
        _capture(test, body, orelse, State(names, body, orelse))
    elif test:
        body()
    elif orelse is not None:
        orelse()


def ifelse(test: Any, body: Body, orelse: Body) -> Any:
    """A conditional expression."""
    test = condition(test)
    if not bridge.is_value(test):
        return body() if test else orelse()
    return select(test, body, orelse)


def select(test: Any, body: Body, orelse: Body, name: str = "value") -> Any:
    """The value of ``body()`` where the bool value ``test`` holds, else of ``orelse()``."""
    outcome: list[Any] = [None, None]

    def true() -> None:
        outcome[0] = freeze(body())

    def false() -> None:
        outcome[1] = freeze(orelse())

    op, left = _sides(test, true, false, lambda: None)
    merger = Merger(op, left)
    build = merger.merge(outcome[0], outcome[1], name)
    results = merger.finish()
    _leave_if(left)
    return build(results)


def _sides(
    test: Any, body: Body, orelse: Body | None, between: Callable[[], None]
) -> tuple[bridge.IfOp, tuple[bool, bool]]:
    """Capture the two sides, calling ``between`` after each."""
    capture = current()
    assert capture is not None
    op = bridge.IfOp(test)
    ended = []
    try:
        for which, side in ((True, body), (False, orelse)):
            with capture.block("branch") as block, op.side(which):
                try:
                    if side is not None:
                        side()
                except BlockLeft:
                    block.left = True
                except D2SError:
                    raise
                except Exception as error:  # dygraph raises it on the runs that come here
                    raise_later(error)
                    block.left = True
                between()
            ended.append(block.left)
    except BaseException:
        op.drop()
        raise
    return op, (ended[0], ended[1])


def _capture(test: Any, body: Body, orelse: Body | None, state: State) -> None:
    before = state.freeze()
    snapshots: list[list[Any]] = []

    def between() -> None:
        snapshots.append(state.freeze())
        state.thaw(before)

    try:
        op, left = _sides(test, body, orelse, between)
    except BaseException:
        state.thaw(before)
        raise
    merger = Merger(op, left)
    builders = [
        merger.merge(true, false, name)
        for name, true, false in zip(state.names, *snapshots, strict=True)
    ]
    results = merger.finish()
    state.write([build(results) for build in builders])
    _leave_if(left)


def _leave_if(left: tuple[bool, bool]) -> None:
    """When both sides raise, what follows is never reached."""
    capture = current()
    if all(left) and capture is not None:
        raise BlockLeft
