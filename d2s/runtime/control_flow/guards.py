"""Code that is skipped on the runs on which something before it has raised.

When a branch may have raised an exception that a ``try`` around it catches, the rest of the
present extent (the side of a branch, or the body of the ``try``) is captured into an ``if`` that
is left open: whatever Python code comes next belongs to the runs that have not raised.  At the
end of the extent the ``if`` is closed, and what is known of both paths is handed out of it.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.origins import note_merged
from d2s.runtime.aliasing.slots import Slot
from d2s.runtime.aliasing.snapshots import check_doubles, freeze, renew_doubles, thaw
from d2s.runtime.aliasing.variables import State
from d2s.runtime.control_flow.effects import BlockLeft
from d2s.runtime.control_flow.forms.form import Select
from d2s.runtime.control_flow.merge import Merger
from d2s.runtime.control_flow.outputs import Builder
from d2s.runtime.control_flow.raises import Raised, Try
from d2s.runtime.trace import Block, Extent, current, error_here
from d2s.runtime.values.tensors import as_value


@dataclass
class Guard:
    """An ``if`` that is being captured: its true side is the code that comes next.

    Attributes:
        op: the ``if``.
        side: the context of its true side, entered.
        raised: what the runs of the other side have raised.
        lasting: what they have left in slots that last, by their ids.
    """

    op: bridge.IfOp
    side: Any
    raised: Raised
    lasting: dict[int, Any]


@dataclass
class Rest(Block):
    """The rest of an extent, behind something that may have raised.

    Attributes:
        hands_on: the state of the extent, which has what lasts of the rest.
    """

    hands_on: State | None = None


@dataclass
class Stretch(Extent):
    """An extent, and its state.

    Attributes:
        state: what it hands on, where more can join it.
    """

    state: State | None = None

    def lasting(self) -> list[Slot]:
        """The slots of the state that last."""
        return [] if self.state is None else [slot for slot in self.state.slots if slot.lasts]


class _Limit(NamedTuple):
    """When a capture is given up, by its thread's time on the processor.

    Attributes:
        until: from then on, if values of several alternatives were used inside of each other
            ``multiplied`` times.
        last: from then on in any case.
    """

    until: float
    multiplied: int
    last: float


_NEVER: Final = _Limit(math.inf, 0, math.inf)

_latest: contextvars.ContextVar[_Limit] = contextvars.ContextVar("latest", default=_NEVER)

_MOST: Final = 2
"""What has to be one program may take so many times the seconds of what need not."""


@contextlib.contextmanager
def limited(seconds: int, *, multiplied: int = 0) -> Iterator[None]:
    """Give a capture up that takes more seconds of the processor; 0 is no limit.

    A limit around this one holds, too.

    Args:
        seconds: so many.
        multiplied: up to :data:`_MOST` times the seconds, only one in which values of several
            alternatives were used inside of each other more often than that, as it may not end:
            each step multiplies what a variable may be.
    """
    around, now = _latest.get(), time.thread_time()
    until = now + seconds if seconds else math.inf
    last = min(now + seconds * _MOST if seconds else math.inf, around.last)
    token = _latest.set(_Limit(min(until, last), multiplied, last))
    try:
        yield
    finally:
        _latest.reset(token)


@contextlib.contextmanager
def limited_together(seconds: int) -> Iterator[None]:
    """Give captures up in here that take more seconds of the processor together; 0 is no limit."""
    around = _latest.get()
    last = min(around.last, time.thread_time() + seconds if seconds else math.inf)
    token = _latest.set(around._replace(last=last))
    try:
        yield
    finally:
        _latest.reset(token)


def check_time(multiplied: int) -> None:
    """Give the capture up if it has taken too long.

    Args:
        multiplied: how often values of several alternatives were used inside of each other.

    Raises:
        UnsupportedInGraphError: (D2S205) it has.
    """
    limit, now = _latest.get(), time.thread_time()
    if now > (limit.until if multiplied >= limit.multiplied else limit.last):
        raise error_here(
            UnsupportedInGraphError,
            "to capture the function has taken more than D2S_CAPTURE_SECONDS",
            "let its branches and loops leave fewer things of several kinds or lengths, or give it "
            "more time, d2s.options(capture_seconds=...)",
        )


@contextlib.contextmanager
def extent(
    frame: types.FrameType | None, names: tuple[str, ...], state: State | None
) -> Iterator[Stretch]:
    """A stretch of the capture: a side of a branch, or the body of a ``try``.

    Args:
        frame: the frame in which it is entered.
        names: the state that it hands on.
        state: that, where more can join it.
    """
    capture = current()
    assert capture is not None
    check_time(capture.multiplied)
    made = Stretch(frame, names, state=state)
    capture.extents.append(made)
    try:
        yield made
    except BaseException:
        abandon(made)
        raise
    finally:
        capture.extents.pop()
        made.frame = None


def abandon(made: Extent) -> None:
    """Take the open guards of ``made`` out of the program again."""
    while made.guards:
        op, capture = _leave(made).op, current()
        if capture is None:
            op.drop()
        else:
            capture.drop(op)


def skip_where(raised: Raised) -> None:
    """What follows in the present extent runs where nothing of ``raised`` was raised."""
    capture = current()
    assert capture is not None
    op = bridge.IfOp(paddle.equal(raised.number, paddle.full([], 0, "int64")))
    side = op.side(True)
    side.__enter__()
    inside: Any = capture.extents[-1]
    capture.blocks.append(Rest("branch", inside.frame, inside.names, hands_on=inside.state))
    lasting = {id(slot): freeze(slot.get()) for slot in inside.lasting()}
    inside.guards.append(Guard(op, side, raised, lasting))


def leave(raised: Raised | None) -> NoReturn:
    """The present path ends here; the run has raised what a ``try`` around may catch."""
    capture = current()
    assert capture is not None
    if raised is not None:
        capture.extents[-1].raised = raised
    raise BlockLeft


def _leave(made: Extent) -> Guard:
    capture = current()
    assert capture is not None
    guard: Guard = made.guards.pop()
    capture.blocks.pop().frame = None
    guard.side.__exit__(None, None, None)
    return guard


@dataclass
class End:
    """How an extent ends.

    Attributes:
        left: every path of it has raised.
        outcome: frozen, what it leaves behind on the other paths.
        raised: what the run may have raised in it for a ``try`` around.
    """

    left: bool
    outcome: list[Any]
    raised: Raised | None

    @property
    def is_over(self) -> bool:
        """Whether the run ends on every path of it."""
        return self.left and self.raised is None


def close(
    made: Stretch, left: bool, outcome: list[Any], names: tuple[str, ...], select: Select
) -> End:
    """End an extent: its guards are closed, innermost first.

    Args:
        made: the extent.
        left: whether the present path has raised.
        outcome: frozen values that the extent leaves behind; when ``left``, only what lasts is
            read.
        names: what they are, for messages.
        select: makes an ``if``, for one of two values.
    """
    raised, guarded = made.raised, bool(made.guards)
    if guarded:
        check_doubles()
    while made.guards:
        guard = _leave(made)
        merger = Merger(guard.op, (left, True), select)
        gone = left and raised is None
        pending = handed_out(merger, raised, guard.raised)
        lasting = {
            index: _noting(
                _merged(merger, (gone, False), outcome[index], was, names[index]),
                [(outcome[index],), (was,)],
                live=True,
            )
            for index, was in _before(made, guard)
        }
        builders = (
            []
            if left
            else [
                lasting.get(index) or _kept(merger, True, item, name)
                for index, (item, name) in enumerate(zip(outcome, names, strict=True))
            ]
        )
        results = merger.finish()
        raised = pending(results)
        if not left:
            outcome = [freeze(build(results)) for build in builders]
        else:
            outcome = [
                freeze(lasting[index](results)) if index in lasting else item
                for index, item in enumerate(outcome)
            ]
    if guarded:
        renew_doubles()
    return End(left, outcome, raised)


def _before(made: Stretch, guard: Guard) -> Iterator[tuple[int, Any]]:
    """The slots of ``made`` that last, by their index, with what they had before ``guard``."""
    state = made.state
    if state is not None:
        for index, slot in enumerate(state.slots):
            if slot.lasts:
                known = id(slot) in guard.lasting
                yield index, guard.lasting[id(slot)] if known else state.base(slot)


def merge_sides(
    merger: Merger, state: State, left: list[tuple[Any, Any]], ends: list[End]
) -> list[Builder]:
    """What the two sides of a branch ``left`` in the slots of ``state``."""
    gone = ends[0].is_over, ends[1].is_over
    return [
        _merged(merger, gone, *pair, name) if slot.lasts else merger.merge(*pair, name)
        for pair, slot, name in zip(left, state.slots, state.names, strict=True)
    ]


def _merged(
    merger: Merger, gone: tuple[bool, bool], true: object, false: object, name: str
) -> Builder:
    """What two sides leave in a slot that lasts.

    Args:
        merger: of the sides.
        gone: for each, whether the run has ended there.
        true, false: what they leave.
        name: of the slot.
    """
    before, merger.left = merger.left, gone
    try:
        return merger.merge(true, false, name)
    finally:
        merger.left = before


def _kept(merger: Merger, side: bool, item: object, name: str) -> Builder:
    """``item`` of one side; as it is when nothing of it was made there."""
    if not merger.made_here(item):
        return lambda results: thaw(item)
    return merger.merge(item if side else None, None if side else item, name)


def handed_out(
    merger: Merger, true: Raised | None, false: Raised | None
) -> Callable[[list[Any]], Raised | None]:
    """Yield what the two sides may have raised.

    Returns:
        From the results of the ``if`` to what it may have raised.
    """
    if true is None and false is None:
        return lambda results: None
    sides = true, false
    number = merger.output(
        *(
            merger.copied(which, 0 if side is None else side.number, "int64")
            for which, side in zip((True, False), sides, strict=True)
        )
    )
    snapshots: dict[Try, list[Builder]] = {}
    contents: dict[int, Builder] = {}
    for side in sides:
        for attempt in () if side is None else side.snapshots:
            if attempt not in snapshots and attempt.state is not None:
                snapshots[attempt] = _variables(merger, attempt, attempt.state, sides)
        for case in () if side is None else side.contents:
            held = [(s.contents[case],) if s and case in s.contents else None for s in sides]
            contents[case] = contents.get(case) or _of_sides(merger, held, "exception")

    def build(results: list[Any]) -> Raised:
        made = {}
        for attempt, builders in snapshots.items():
            assert attempt.state is not None
            live = attempt.state.freeze()
            made[attempt] = [freeze(builder(results)) for builder in builders]
            attempt.state.thaw(live)
        held = {case: freeze(builder(results)) for case, builder in contents.items()}
        return Raised(number(results), tuple(sorted(held)), made, held)

    return build


def _variables(
    merger: Merger, attempt: Try, state: State, sides: tuple[Raised | None, Raised | None]
) -> list[Builder]:
    """The variables of a ``try``, as the sides have left them where they have raised."""
    found = [None if side is None else side.snapshots.get(attempt) for side in sides]
    found = [None if part is None else state.padded(part) for part in found]
    builders: list[Builder] = []
    for index, (slot, name) in enumerate(zip(state.slots, state.names, strict=True)):
        parts = [None if part is None else (part[index],) for part in found]
        made = (lambda results: None) if slot.lasts else _of_sides(merger, parts, name)
        builders.append(made if slot.lasts else _noting(made, parts))
    return builders


def _noting(build: Builder, parts: list[tuple[Any] | None], *, live: bool = False) -> Builder:
    """``build``, which notes what containers become that both sides hold."""
    one, other = parts

    def noting(results: list[Any]) -> Any:
        made = build(results)
        if one is not None and other is not None:
            note_merged(one[0], other[0], made, live=live)
        return made

    return noting


def _of_sides(merger: Merger, parts: list[tuple[Any] | None], name: str) -> Builder:
    """The value of one thing that both sides have, or one of them."""
    one, other = parts
    before, merger.left = merger.left, (one is None, other is None)
    try:
        if one is not None and other is not None:
            return merger.merge(one[0], other[0], name)
        (item,) = next(part for part in parts if part is not None)
        return _kept(merger, one is not None, item, name)
    finally:
        merger.left = before


def split(raised: Raised | None, cases: set[int]) -> tuple[Raised | None, Raised | None]:
    """``raised`` for the given cases, and for the others."""
    if raised is None:
        return None, None
    found: list[Raised | None] = []
    for wanted in (
        [case for case in raised.cases if case in cases],
        [case for case in raised.cases if case not in cases],
    ):
        if len(wanted) in (0, len(raised.cases)):
            found.append(raised if wanted else None)
            continue
        number = as_value(raised.number)
        mine = is_one_of(number, wanted)
        found.append(
            Raised(
                paddle.where(mine, number, paddle.full([], 0, "int64")),
                tuple(wanted),
                raised.snapshots,
                {case: raised.contents[case] for case in wanted},
            )
        )
    return found[0], found[1]


def is_one_of(number: object, cases: list[int]) -> Any:
    """A bool value: whether ``number`` is one of ``cases``."""
    result: Any = None
    for case in cases:
        part = paddle.equal(as_value(number), paddle.full([], case, "int64"))
        result = part if result is None else result | part
    return result
