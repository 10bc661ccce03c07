"""``while`` and ``for``: Python, or one ``while`` of the program (rules C1 to C7)."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.errors import (
    ContainerInGraphError,
    D2SError,
    LoopMismatchError,
    UnsupportedInGraphError,
)
from d2s.runtime.aliasing.holders import holders_of
from d2s.runtime.aliasing.origins import other_places
from d2s.runtime.aliasing.replays import calling
from d2s.runtime.aliasing.variables import Attribute, Cell, Slot, State
from d2s.runtime.control_flow.cond import decide, if_
from d2s.runtime.control_flow.effects import BlockLeft, raise_later
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.iteration import Indexed, indexed, items_of
from d2s.runtime.lists.storage import NeedsElementError, NeedsRowsError
from d2s.runtime.loops.carry import (
    Carrier,
    Leaf,
    NewKeysError,
    Plans,
    Replan,
    carrier_of,
    grow,
    path_of,
)
from d2s.runtime.loops.rolling import FEW, Attempt, is_still, lists_behind, sequence
from d2s.runtime.python.items import picked
from d2s.runtime.python.logic import and_, not_
from d2s.runtime.trace import (
    Capture,
    NeedsPythonError,
    OnceMoreError,
    current,
    error_here,
)
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.empties import axes_of, cut, may_be_empty, note_filled, padded
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    condition,
    is_tensor,
    mark_number,
    number_kind,
    number_value,
)
from d2s.runtime.values.unbound import UNBOUND

ATTEMPTS = 12
"""How often one loop is captured at most before its state counts as unstable."""


GUARDED = 64
"""How many trips behind a ``break`` that the run decides are captured one by one."""

PEELED = 4
"""How many trips that give a dict new keys are captured before the static loop."""

MOST_TRIPS = 100_000
"""How many trips of a Python loop are captured at most."""


def _watch(trips: int, word: str) -> None:
    """Refuse to capture a loop over Python values that seems to be endless."""
    if trips > MOST_TRIPS and current() is not None:
        raise error_here(
            UnsupportedInGraphError,
            f"a {word} loop over Python values has been captured for {MOST_TRIPS} trips; one that "
            "a tensor is to end goes on for ever",
            "let a tensor decide the condition of the loop, or bound it by a number",
        )


def _watched(things: Any) -> Any:
    """The items of ``things``; a list that grows under a tensor condition meanwhile is refused.

    Raises:
        ContainerInGraphError: (D2S207) the run decides how many items there are.
    """
    capture = current()
    if capture is None or type(things) is not list:
        return things
    return _growing_items(things)


def _growing_items(things: list[Any]) -> Iterator[Any]:
    capture = current()
    assert capture is not None
    before = sum(each is things for each in capture.divided)
    grown = id(things) in capture.grown
    for item in things:
        yield item
        changed = sum(each is things for each in capture.divided) > before
        if changed or (id(things) in capture.grown and not grown):
            raise error_here(
                ContainerInGraphError,
                "a list gets another length under a tensor condition while it is iterated",
                "iterate a copy of it, or use while and an index",
            )


class MayBeEmptyError(OnceMoreError):
    """A trip may leave a tensor without elements: the loop is captured again, prepared for it."""


class Border:
    """What the variables of one static loop are inside and outside of the trips.

    Attributes:
        inits: their first values, as the loop takes them.
    """

    def __init__(self, inits: list[Any], plans: Plans) -> None:
        self.open = {
            index: axes for index, init in enumerate(inits) if (axes := _open_dimensions(init))
        }
        if any(may_be_empty(inits[index]) for index in self.open):
            plans.empties = True
        self.wide = plans.empties
        self.inits = self._padded(inits) if self.wide else inits

    def _padded(self, values: list[Any]) -> list[Any]:
        return [
            padded(value, self.open[index]) if index in self.open else value
            for index, value in enumerate(values)
        ]

    def enter(self, values: list[Any]) -> list[Any]:
        """The variables in a trip, or behind the loop."""
        if not self.wide:
            for index in self.open:
                note_filled(values[index])
            return values
        return [
            cut(value, self.open[index]) if index in self.open else value
            for index, value in enumerate(values)
        ]

    def leave(self, values: list[Any]) -> list[Any]:
        """What a trip leaves, as the loop takes it.

        Raises:
            MayBeEmptyError: something may be empty, and the loop is not prepared for it.
        """
        if self.wide:
            return self._padded(values)
        if any(may_be_empty(values[index]) for index in self.open):
            raise MayBeEmptyError
        return values


def _open_dimensions(value: Any) -> list[int]:
    return axes_of(value) if bridge.shape_of(value) is not None else []


class MoreStateError(OnceMoreError):
    """A trip has changed what it does not name: the loop is captured again with it."""


def while_(
    test: Callable[[], Any],
    body: Callable[[], Any],
    names: tuple[str, ...],
    stop: Callable[[], Any] | None = None,
) -> None:
    """A ``while`` statement.

    Args:
        test: evaluates the condition.
        body: one trip.
        names: the state that the trips change and somebody reads.
        stop: whether a ``break`` has happened, asked after each trip.
    """
    trips = 0
    try:
        while True:
            holds = condition(test())
            if bridge.is_value(holds):
                _capture(holds, _going_on(test, stop), body, State(names, body, test, stop))
                return
            if not holds:
                return
            trips += 1
            _watch(trips, "while")
            body()
            stopped = False if stop is None else condition(stop())
            if bridge.is_value(stopped):
                assert stop is not None
                _rest(stopped, test, body, lambda: State(names, body, test, stop), stop)
                return
            if stopped:
                return
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one


def _going_on(test: Callable[[], Any], stop: Callable[[], Any] | None) -> Callable[[], Any]:
    """The condition of a static loop that a ``break`` may have left."""
    return test if stop is None else lambda: and_(not_(stop()), test)


def _is_plain(value: Any) -> bool:
    return (
        is_tensor(value)
        or number_kind(value) is not None
        or value is None
        or value is UNBOUND
        or isinstance(value, Choice)
    )


def _rest(
    stopped: Any,
    test: Callable[[], Any],
    body: Callable[[], Any],
    state: Callable[[], State],
    stop: Callable[[], Any],
) -> None:
    """The trips after a ``break`` that the run decides, while Python decides the condition (C1).

    They go on in a static loop.  Where that cannot be, the trips are captured one by one, each
    inside of the side that has not broken out.
    """
    going_on = _going_on(test, stop)
    attempt = Attempt()
    if attempt.succeeds(lambda: _rolled_while(going_on, body, state())):
        return
    now = state()
    if all(map(_is_plain, now.read())):
        holds = condition(going_on())
        if bridge.is_value(holds):
            _capture(holds, going_on, body, now)
        return
    depth = 0

    def trips() -> None:
        nonlocal depth
        while True:
            holds = condition(test())
            if bridge.is_value(holds):
                _capture(holds, going_on, body, state())
                return
            if not holds:
                return
            body()
            stopped = condition(stop())
            if bridge.is_value(stopped):
                depth = _deeper(depth, attempt)
                decide(~stopped, trips, None, state())
                return
            if stopped:
                return

    decide(~stopped, trips, None, now)


def _rolled_while(test: Callable[[], Any], body: Callable[[], Any], state: State) -> None:
    """One static loop; with a condition that Python decides there is none.

    Raises:
        NeedsPythonError: the condition is none that a program can ask.
    """
    holds = condition(test())
    if not bridge.is_value(holds):
        raise NeedsPythonError
    _capture(holds, test, body, state)


def _deeper(depth: int, attempt: Attempt | None = None) -> int:
    if depth == GUARDED:
        if attempt is not None and isinstance(attempt.reason, D2SError):
            raise attempt.reason
        raise error_here(
            UnsupportedInGraphError,
            f"a loop over Python objects goes on for more than {GUARDED} trips after a break that "
            "a tensor decides",
            "let a tensor decide the condition of the loop, iterate over a tensor, or bound the "
            "loop by a number",
        )
    return depth + 1


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
    try:
        if isinstance(iter_, Choice) and not iter_.single:
            sides = (_over(side, body, names, stop) for side in (iter_.true, iter_.false))
            if_(iter_.flag, next(sides), next(sides), names)
            return
        run_time = indexed(iter_)
        if run_time is not None:
            for_indexed(run_time, body, names, stop)
            return
        _Unrolled(iter_, body, names, stop).rest()
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one


class _Unrolled:
    """A ``for`` over Python values, whose trips are captured one after the other (C1).

    Attributes:
        iter_: what is iterated.
        body, names, stop: as :func:`for_` gets them.
        iterator: gives the items that are left.
        depth: how many trips stand inside of each other, or follow an open ``break``.
        trips: how many there were.
        attempt: the attempt to do without that.
        tried: it was made.
    """

    def __init__(
        self,
        iter_: Any,
        body: Callable[[Any], Any],
        names: tuple[str, ...],
        stop: Callable[[], Any] | None,
    ) -> None:
        self.iter_ = iter_
        self.body = body
        self.names = names
        self.stop = stop
        self.iterator = iter(_watched(items_of(iter_)))
        self.depth = 0
        self.trips = 0
        self.attempt = Attempt()
        self.tried = False

    def rest(self) -> None:
        """The items that are left; the program has not broken out of the loop."""
        sized = hasattr(self.iter_, "__len__")
        stopped: Any = False
        for item in self.left():
            self.trips += 1
            _watch(self.trips, "for")
            if bridge.is_value(stopped):
                # The rest of a Python loop runs unless the program has broken out of it.
                if not sized:
                    self.depth = _deeper(self.depth, self.attempt)
                if_(~stopped, _bound(self.body, item), None, self.names)
            else:
                self.body(item)
            stopped = False if self.stop is None else condition(self.stop())
            if bridge.is_value(stopped):
                _check_iterator(self.iter_)
                if isinstance(self.iter_, itertools.count):
                    self.counted(stopped)
                    return
                if isinstance(self.iter_, itertools.cycle):
                    self.cycled(stopped)
                    return
                if not self.tried and self.rolled():
                    return
                state = State(self.names, self.body, self.stop)
                if not all(map(_is_plain, state.read())):
                    self.depth = _deeper(self.depth, self.attempt)
                    decide(~stopped, self.rest, None, state)
                    return
            elif stopped:
                return

    def left(self) -> Iterator[Any]:
        """The items; :meth:`numbered_rest` may put another iterator in the place of the first."""
        while True:
            try:
                item = next(self.iterator)
            except StopIteration:
                return
            yield item

    def rolled(self) -> bool:
        """Whether the items that are left have become one static loop."""
        self.tried = True
        capture = current()
        assert capture is not None
        if not (capture.rolls and is_still(self.iter_)):
            return False
        sources = lists_behind(self.iter_)
        lengths = [len(source) for source in sources]
        rest = self.numbered_rest()
        if rest is None:
            return False

        def body(item: Any) -> None:
            self.body(item)
            for source, length in zip(sources, lengths, strict=True):
                if len(source) != length or id(source) in capture.grown:
                    capture.needs_python()  # the list is changed while it is iterated

        trip = Like(self.body, body)
        return self.attempt.succeeds(lambda: for_indexed(rest, trip, self.names, self.stop))

    def numbered_rest(self) -> Indexed | None:
        """The items that are left, by the number of their trip."""
        done = self.trips
        if is_tensor(self.iter_):
            rows = as_value(self.iter_)
            count = int(rows.shape[0]) - done
            if count <= FEW:
                return None
            return Indexed(number_value(count), lambda index: rows[index + done])
        if type(self.iter_) in (list, tuple, range):
            return sequence(self.iter_[done:])
        if isinstance(self.iter_, KeysView | ValuesView | ItemsView):
            return sequence(list(self.iter_)[done:])
        items = list(self.iterator)
        self.iterator = iter(items)
        return sequence(items)

    def cycled(self, stopped: Any) -> None:
        """The rest of a loop over ``itertools.cycle``: a static loop over one turn of it."""
        ahead = [next(self.iterator) for _ in range(2 * GUARDED)]
        turn = next(
            (
                size
                for size in range(1, GUARDED + 1)
                if all(a is b for a, b in zip(ahead, ahead[size:], strict=False))
            ),
            None,
        )
        if turn is None:
            _deeper(GUARDED)
        items, endless = ahead[:turn], number_value(2**62)

        def rest() -> None:
            one = Indexed(endless, lambda index: picked(items, index % len(items)))
            for_indexed(one, self.body, self.names, self.stop)

        decide(~stopped, rest, None, State(self.names, self.body, self.stop))

    def counted(self, stopped: Any) -> None:
        """The rest of a loop over ``itertools.count``, which only the run ends: a static loop."""
        first, second = next(self.iterator), next(self.iterator)
        step = second - first
        endless = number_value(2**62)
        kind = number_kind(second)

        def item(index: Any) -> Any:
            if kind is None:
                return first + index * step
            dtype = NUMBER_DTYPES[kind]
            return mark_number(paddle.cast(index, dtype) * step + first, kind)

        def rest() -> None:
            for_indexed(Indexed(endless, item), self.body, self.names, self.stop)

        decide(~stopped, rest, None, State(self.names, self.body, self.stop))


def _check_iterator(iter_: Any) -> None:
    """Refuse an iterator of which only the run knows how far it has come, if it is used again."""
    if isinstance(iter_, Iterator) and any(holder.live for holder in holders_of(iter_)):
        raise error_here(
            UnsupportedInGraphError,
            "a break that a tensor decides leaves an iterator somewhere in its middle, and it is "
            "used again",
            "iterate over a list, and keep the position as a number",
        )


class Like:
    """``run`` with the closure of ``body``, as the operators look for it."""

    def __init__(self, body: Callable[..., Any], run: Callable[..., None]) -> None:
        self.__code__ = body.__code__
        self.__closure__ = body.__closure__
        self.__globals__ = body.__globals__
        self.run = run

    def __call__(self, *item: Any) -> None:
        self.run(*item)


def _bound(body: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    """``body`` with its item."""
    return Like(body, lambda: body(item))


def _over(
    iter_: Any,
    body: Callable[[Any], Any],
    names: tuple[str, ...],
    stop: Callable[[], Any] | None,
) -> Callable[[], Any]:
    """The whole loop over one of several things that may be iterated."""
    return Like(body, lambda: for_(iter_, body, names, stop))


class _Counter(Slot):
    """The hidden index of a ``for`` over something that the run measures."""

    def __init__(self) -> None:
        self.value: Any = 0

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


def for_indexed(
    sequence: Indexed,
    body: Callable[[Any], Any],
    names: tuple[str, ...],
    stop: Callable[[], Any] | None,
    *others: Callable[..., Any],
) -> None:
    """A ``for`` over something whose length the run decides; ``others`` run in the trips too."""
    counter = _Counter()
    counter.value = mark_number(paddle.full([], 0, "int64"), int)

    def test() -> Any:
        more = counter.value < sequence.length
        return more if stop is None else and_(not_(stop()), lambda: more)

    def trip() -> None:
        index = counter.value
        body(sequence.item(index))
        counter.value = mark_number(index + 1, int)

    state = State(names, body, stop, *others)
    state.add("<index>", counter)
    holds = condition(test())
    if not bridge.is_value(holds):  # a break before the first trip cannot be
        return
    _capture(holds, test, trip, state)


def _capture(
    holds: Any,
    test: Callable[[], Any],
    body: Callable[[], Any],
    state: State,
    peeled: int = 0,
) -> None:
    """One ``while`` of the program, from the present state on.

    Args:
        holds: whether there is a first trip, a bool value.
        test: whether there is another one.
        body: one trip.
        state: what the trips change.
        peeled: how many trips stand before it, each in the one before.
    """
    capture = current()
    assert capture is not None
    before = state.freeze()
    plans = Plans()
    known = state.read()
    unstable = "the state of the loop"

    def back() -> list[Any]:
        """The state as it was; also what the attempt has changed before anybody could name it."""
        state.find()
        state.thaw(before)
        return before if len(before) == len(state.slots) else state.freeze()

    for _ in range(ATTEMPTS):
        notes = capture.noted()
        try:
            capture.loops.append((state.names, known))
            try:
                carriers = _attempt(holds, test, body, state, before, plans)
            finally:
                capture.loops.pop()
            _settle_names(carriers, capture)
            return
        except Replan as replan:
            before = back()
            capture.forget_since(notes)
            plans.change(replan)
            unstable = repr(replan.path)
        except NeedsElementError as need:
            capture.forget_since(notes)
            before = back()
            path = _own_path(need, state, capture)
            if path is None:
                raise error_here(
                    LoopMismatchError,
                    "a list grows in a static loop that does not know it by name",
                    "append to the list through the variable that holds it",
                ) from None
            grow(plans[path], need.item)
        except NeedsRowsError as need:
            before = back()
            path = _own_path(need, state, capture)
            if path is None or need.target.carried:
                raise
            capture.forget_since(notes)
            plans[path].rows = True
        except MayBeEmptyError:
            before = back()
            capture.forget_since(notes)
            plans.empties = True
        except MoreStateError:
            before = back()
            capture.forget_since(notes)
        except NewKeysError as new:
            before = back()
            if peeled == PEELED:
                capture.refused.append(new.refusal)
                raise new.refusal from None
            capture.forget_since(notes)
            _peel(holds, test, body, state, peeled + 1)
            return
        except BaseException:
            back()
            raise
    raise error_here(
        LoopMismatchError,
        f"{unstable} has another form in every trip",
        "give every variable that the loop changes its final type before the loop",
    )


def _peel(
    holds: Any, test: Callable[[], Any], body: Callable[[], Any], state: State, peeled: int
) -> None:
    """The first trip, which gives dicts the keys that they keep, then the loop; in an ``if``."""

    def first() -> None:
        for trips in itertools.count(1):
            body()
            _watch(trips, "while")
            again = condition(test())
            if bridge.is_value(again):
                _go_on(again, test, body, state, peeled)
            elif again:
                continue
            return

    decide(holds, first, None, state)


def _go_on(
    again: Any, test: Callable[[], Any], body: Callable[[], Any], state: State, peeled: int
) -> None:
    """The loop behind a trip; in an ``if`` where it rules out what a variable may be."""
    now = state.anew()

    def rest() -> None:
        _capture(again, test, body, state.anew(), peeled)

    ruled_out = bridge.implied(again, True)
    if any(
        isinstance(value, Choice) and possible(value, ruled_out) is not value
        for value in now.read()
    ):
        decide(again, rest, None, now)
    else:
        rest()


def _own_path(
    need: NeedsElementError | NeedsRowsError, state: State, capture: Capture
) -> str | None:
    """Where in the state the list stands that needs another form.

    Raises:
        NeedsElementError: a loop around knows the list too: it is prepared there.
    """
    targets = [need.target]
    if isinstance(need.target, DynamicList) and need.target.origin is not None:
        targets.append(need.target.origin)
    if isinstance(need, NeedsElementError):
        for names, values in capture.loops:
            if any(
                path_of(name, value, target)
                for name, value in zip(names, values, strict=True)
                for target in targets
            ):
                raise need
    for name, value in zip(state.names, state.read(), strict=True):
        for target in targets:
            path = path_of(name, value, target)
            if path is not None:
                return path
    return None


def _settle_names(carriers: list[Carrier], capture: Capture) -> None:
    """Let every name of a list that has grown hold what the loop has made of it."""
    for carrier in carriers:
        for growing in carrier.growing():
            origin = growing.target.origin
            if origin is None or growing.rebound:
                continue
            if len(origin) != growing.held:
                raise error_here(
                    ContainerInGraphError,
                    f"the list {growing.path!r} grows in a static loop, and is changed there "
                    "through another name, which the loop does not know",
                    "change it through one variable",
                )
            holders = holders_of(origin)
            for holder in holders:
                if holder.left and any(block.kind == "branch" for block in holder.left):
                    raise error_here(
                        ContainerInGraphError,
                        f"the list {growing.path!r}, known as {holder.path!r} too, grows in a "
                        "static loop inside of a branch",
                        "use one name for it",
                    )
            for holder in holders:
                try:
                    holder.set(growing.target)
                except TypeError:
                    raise error_here(
                        ContainerInGraphError,
                        f"the list {growing.path!r}, which is {holder.path!r} too, grows in a "
                        "static loop; a tuple cannot be given what it becomes",
                        "use one name for it",
                    ) from None
            for path, bind in other_places(origin):
                if capture.blocks:
                    raise error_here(
                        ContainerInGraphError,
                        f"the list {growing.path!r}, known as {path!r} too, grows in a static "
                        "loop inside of a branch or loop",
                        "use one name for it",
                    )
                bind(growing.target)
            capture.grown[id(origin)] = (origin, growing.target)


def _doubled(names: tuple[str, ...], values: list[Any]) -> frozenset[str]:
    """The names that hold one and the same tensor when the loop begins."""
    counts = collections.Counter(id(value) for value in values if is_tensor(value))
    return frozenset(
        name for name, value in zip(names, values, strict=True) if counts[id(value)] > 1
    )


def _attempt(
    holds: Any,
    test: Callable[[], Any],
    body: Callable[[], Any],
    state: State,
    before: list[Any],
    plans: Plans,
) -> list[Carrier]:
    capture = current()
    assert capture is not None
    depth = len(capture.blocks)
    plans.shared.clear()
    carriers = [
        carrier_of(name, value, plans, depth=depth, top=True)
        for name, value in zip(state.names, before, strict=True)
    ]
    inits = [init for carrier in carriers for init in carrier.inits]
    border = Border(inits, plans)
    lists = [target for carrier in carriers for target in carrier.lists()]
    op = bridge.WhileOp(holds, border.inits)

    def spread(values: list[Any]) -> None:
        rest = list(values)
        objects = []
        for carrier in carriers:
            count = len(carrier.inits)
            objects.append(carrier.rebuild(rest[:count]))
            rest = rest[count:]
        for slot, value in zip(state.slots, objects, strict=True):
            if isinstance(slot, Attribute) and isinstance(value, Choice):
                value.missing = slot.missing_error()
        state.write(objects)
        given[:] = objects

    given: list[Any] = []
    kept: list[bool] = []
    for growing in lists:
        growing.carried += 1
    try:
        with (
            capture.block("loop", state.names, _doubled(state.names, before)) as entered,
            op.body() as arguments,
        ):
            entered.before, entered.given = before, given
            entered.state = state
            entered.cells = frozenset(
                id(slot.cell) for slot in state.slots if isinstance(slot, Cell)
            )
            for growing in lists:
                growing.home = depth + 1
            variables = border.enter(arguments)
            spread(variables)
            try:
                calling(body)
                again = condition(calling(test))
            except BlockLeft:  # the trip ends in a raise; what it leaves is never read
                spread(variables)
                again = False
            except D2SError:
                raise
            except (Exception, SystemExit) as error:  # dygraph raises it in this trip, if it comes
                if is_defect(error):
                    raise
                raise_later(as_local(error))
                spread(variables)
                again = False
            if not bridge.is_value(again):
                again = paddle.full([], bool(again), "bool")
            snapshots = state.freeze()
            if len(snapshots) > len(carriers):
                raise MoreStateError
            kept = [  # `y.add_(w)` might change w, by its text; w stays what it was
                is_tensor(was) and now is mine
                for was, now, mine in zip(before, snapshots, given, strict=True)
            ]
            after = [
                value
                for carrier, snapshot in zip(carriers, snapshots, strict=True)
                for value in carrier.split(snapshot)
            ]
            op.finish(paddle.assign(again), border.leave(after))
    except BaseException:
        capture.drop(op)
        raise
    finally:
        for growing in lists:
            growing.home = depth
            growing.carried -= 1
    spread(border.enter(op.results()))
    settled = [
        carrier.settled(value, holds) if isinstance(carrier, Leaf) else value
        for carrier, value in zip(carriers, state.read(), strict=True)
    ]
    state.write(
        [was if same else value for was, same, value in zip(before, kept, settled, strict=True)]
    )
    state.forget_scratch()
    return carriers
