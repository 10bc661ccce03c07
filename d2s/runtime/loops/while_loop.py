"""How a loop whose condition the run decides becomes one ``while`` of the program (C2 to C4).

The body is captured once, and runs as often as the program decides::

    before the loop     each piece of the state gets a carrier, which says what its loop
                        variables are: none for a constant, one for a tensor, two for a tensor
                        that may be None, those of its parts for a dict ...
    in a trip           the carriers rebuild the state out of the loop variables, the body and
                        the condition run, and the carriers split what they have left into the
                        next values of the loop variables
    behind the loop     the carriers rebuild the state out of the results

A trip may leave what its carrier was not made for: a float in the place of an int, a longer list.
That capture then ends in a request (an :class:`OnceMoreError`), everything is put back, and the
loop is captured again with better plans.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.errors import D2SError, LoopMismatchError
from d2s.runtime.aliasing.replays import calling
from d2s.runtime.aliasing.slots import Attribute, Cell
from d2s.runtime.aliasing.variables import State
from d2s.runtime.aliasing.views.arrays import ConstantArrays, of_run
from d2s.runtime.control_flow.cond import decide, decide_anew
from d2s.runtime.control_flow.effects import BlockLeft, raise_later
from d2s.runtime.control_flow.guards import check_time
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.sizes import lengthens
from d2s.runtime.lists.lending import check_given, left_alone, settle_block
from d2s.runtime.lists.storage import NeedsElementError, NeedsRowsError
from d2s.runtime.loops.boundary import Boundary, OtherSizesError
from d2s.runtime.loops.carriers.carrier import Carrier, rebuilt
from d2s.runtime.loops.carriers.growing import GrowingList
from d2s.runtime.loops.carriers.making import Carriers
from d2s.runtime.loops.carriers.plans import NewKeysError, Plans, Replan, split_each
from d2s.runtime.loops.carriers.stopping import TripsDifferError
from d2s.runtime.loops.carriers.tensor import settle_roots
from d2s.runtime.loops.doubles import Doubles
from d2s.runtime.loops.grown_lists import bind_all_names, bind_others, forms_of, path_of_list
from d2s.runtime.loops.handed_on import HandedOn
from d2s.runtime.loops.unrolling import check_trips
from d2s.runtime.loops.views import LoopViews
from d2s.runtime.trace import Block, OnceMoreError, error_here, open_trace
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.mixed import AskedError
from d2s.runtime.values.tensors import condition, is_tensor
from d2s.runtime.values.tree import is_mapping

ATTEMPTS = 12
"""How often one loop is captured at most before its state counts as unstable."""

PEELED = 4
"""How many trips that give a dict new keys are captured before the static loop."""


class MoreStateError(OnceMoreError):
    """A trip has changed what it does not name: the loop is captured again with it."""


@dataclass
class WhileLoop:
    """One ``while`` of the program, from the present state on.

    Attributes:
        holds: whether there is a first trip, a bool value.
        test: whether there is another one.
        body: one trip.
        state: what the trips change.
        peeled: how many trips stand before it, each in the one before.
    """

    holds: paddle.Tensor
    test: Callable[[], object]
    body: Callable[[], object]
    state: State
    peeled: int = 0

    def capture(self) -> None:
        """Capture the body until it leaves what was planned, and go on behind the loop."""
        with of_run(self.state) as self.state:
            self._capture()

    def _capture(self) -> None:
        trace = open_trace()
        before = self.state.freeze()
        plans = Plans()
        for _ in range(ATTEMPTS):
            known = trace.checkpoint()
            try:
                with self._known_as_loop():
                    carriers = self._attempt(before, plans)
            except NewKeysError as new:
                self._back(before)
                self._refuse_more_keys(new)
                trace.rollback(known)
                break
            except OnceMoreError as request:
                before = self._back(before, request)
                self._answer(request, plans)
                trace.rollback(known)
            except BaseException:
                self._back(before)
                raise
            else:
                try:
                    bind_all_names(carriers)
                except BaseException:
                    self._back(before)
                    raise
                return
        else:
            raise error_here(
                LoopMismatchError,
                f"{plans.unstable} has another form in every trip",
                "give every variable that the loop changes its final type before the loop",
            )
        self._peel()  # not inside of ``except``: what it raises would have a context of ours

    def follow(self) -> None:
        """Capture the loop behind a trip; in an ``if`` where that rules out what a variable may be.

        Where the trip before may have left the loop, the rest of it stands in a branch, and a
        dict, say, has new keys only if that was taken.
        """
        ruled_out = bridge.implied(self.holds, True, open_trace().facts())
        if any(
            isinstance(value, Choice)
            and possible(value, ruled_out) is not value
            and any(is_mapping(each) for each, _ in value.alternatives())
            for value in self.state.read()
        ):
            decide(self.holds, lambda: self._anew(self.peeled).capture(), None, self.state)
        else:
            self.capture()

    def _anew(self, peeled: int) -> WhileLoop:
        """The same loop at the present place."""
        return dataclasses.replace(self, state=self.state.anew(), peeled=peeled)

    def _attempt(self, before: list[object], plans: Plans) -> list[Carrier]:
        """Capture the loop with the present plans.

        Raises:
            OnceMoreError: it has to be captured again.
        """
        trace, state = open_trace(), self.state
        check_time(trace.multiplied)
        depth = len(trace.blocks)
        making = Carriers(plans, depth)
        state_before = zip(state.names, before, strict=True)
        carriers = [making.of(name, value, top=True) for name, value in state_before]
        views = LoopViews(carriers, plans)
        boundary = Boundary([*carriers, views], plans)
        op = bridge.WhileOp(self.holds, boundary.inits)
        kept: list[bool] = []
        try:
            with (
                bind_others(carriers),
                _arrays_inside(carriers, depth),
                trace.block("loop", state.names) as entered,
                op.body() as arguments,
            ):
                self._enter(entered, before)
                variables = boundary.enter(arguments)

                def begin() -> None:
                    self._spread(carriers, variables, entered.given)
                    views.note(variables)

                begin()
                doubles = Doubles(state.names, before, entered.given)
                handed_on = HandedOn(op, entered)
                entered.makes = handed_on.makes
                again = self._trip(begin, ConstantArrays(before, depth))
                taken, after = settle_block(), state.freeze()
                check_given(taken, after)
                if len(after) > len(carriers):
                    raise MoreStateError
                kept = [  # `y.add_(w)` might change w, by its text; w stays what it was
                    is_tensor(was) and now is mine
                    for was, now, mine in zip(before, after, entered.given, strict=True)
                ]
                leaving = split_each(carriers, after)
                doubles.end(after, forms_of(carriers))
                handed_on.end(after)
                if any(map(lengthens, entered.given, after)):
                    _let_sizes_differ(carriers)
                settle_roots(carriers)
                leaving += views.end(after, op.is_outer)
                op.finish(paddle.assign(again), boundary.leave(leaving))
        except BaseException:
            trace.drop(op)
            raise
        results = boundary.enter(op.results())
        self._spread(carriers, results, [])
        self._settle(carriers, before, kept)
        views.note(results)
        doubles.note(state.freeze())
        state.forget_scratch()
        return carriers

    def _settle(self, carriers: list[Carrier], before: list[object], kept: list[bool]) -> None:
        """Let the state, which the carriers have rebuilt, be what it is behind the loop."""
        state = self.state
        settled = [
            carrier.settled(value, self.holds)
            for carrier, value in zip(carriers, state.read(), strict=True)
        ]
        state.write(
            [was if same else now for was, same, now in zip(before, kept, settled, strict=True)]
        )
        for carrier, value in zip(carriers, state.read(), strict=True):
            carrier.now = value

    def _enter(self, block: Block, before: list[object]) -> None:
        """Tell the code in the trips what the loop hands on."""
        block.before, block.state = before, self.state
        cells = [slot.cell for slot in self.state.slots if isinstance(slot, Cell)]
        block.cells = frozenset(map(id, cells))

    def _trip(self, begin: Callable[[], None], arrays: ConstantArrays) -> paddle.Tensor:
        """The body and the condition; whether there is another trip, a bool value.

        Args:
            begin: lets the state be what a trip begins with, again.
            arrays: those that the trip must not change.
        """
        again: object = False
        try:
            with arrays.noted():
                calling(self.body)
                again = condition(calling(self.test))
                arrays.check()
        except BlockLeft:  # the trip ends in a raise; what it leaves is never read
            begin()
        except D2SError:
            raise
        except (Exception, SystemExit) as error:  # dygraph raises it in this trip, if it comes
            if is_defect(error):
                raise
            raise_later(as_local(error))
            begin()
        return again if bridge.is_value(again) else paddle.full([], bool(again), "bool")

    def _spread(
        self, carriers: list[Carrier], values: list[paddle.Tensor], given: list[object]
    ) -> None:
        """Let the state be what the carriers make of ``values``; it is noted in ``given``."""
        if len(self.state.slots) > len(carriers):  # a trip that fails has found more
            raise MoreStateError
        given[:] = rebuilt(carriers, values)
        for slot, value in zip(self.state.slots, given, strict=True):
            if isinstance(slot, Attribute) and isinstance(value, Choice):
                value.missing = slot.missing_error()
        self.state.write(given)

    def _back(self, before: list[object], request: object = None) -> list[object]:
        """The state as it was; also what a capture has changed before anybody could name it."""
        with left_alone():
            self.state.find()
        if isinstance(request, NeedsElementError):
            self.state.find_holder(request.target)
        self.state.thaw(before)
        return before if len(before) == len(self.state.slots) else self.state.freeze()

    def _answer(self, request: OnceMoreError, plans: Plans) -> None:
        """Note in the plans what a capture has asked for; what this loop cannot give goes on."""
        if isinstance(request, Replan):
            plans.change(request)
        elif isinstance(request, NeedsElementError):
            path = path_of_list(request, self.state)
            if path is None:
                raise error_here(
                    LoopMismatchError,
                    "a list grows in a static loop that does not know it by name",
                    "append to the list through the variable that holds it",
                ) from None
            plans[path].append(request.element)
        elif isinstance(request, NeedsRowsError):
            path = path_of_list(request, self.state)
            if path is None or request.target.carried:
                raise request
            plans[path].rows = True
        elif isinstance(request, TripsDifferError):
            plans.stops = True
        elif isinstance(request, AskedError) and request.loop is plans:
            self._answer(request.request, plans)
        elif isinstance(request, OtherSizesError):
            plans.note_sizes(request.empty, request.own)
        elif not isinstance(request, MoreStateError):
            raise request

    @contextmanager
    def _known_as_loop(self) -> Iterator[None]:
        """Loops inside find the lists that this one knows."""
        loops = open_trace().loops
        loops.append((self.state.names, self.state.read()))
        try:
            yield
        finally:
            loops.pop()

    # -- trips before the loop -------------------------------------------------------------------

    def _refuse_more_keys(self, new: NewKeysError) -> None:
        """Refuse a loop whose every trip gives a dict new keys."""
        if self.peeled == PEELED:
            open_trace().refused.append(new.refusal)
            raise new.refusal from None

    def _peel(self) -> None:
        """The first trip, which gives dicts the keys that they keep, and the loop; in an ``if``."""

        def first() -> None:
            for trips in itertools.count(1):
                self.body()
                check_trips(trips, "while")
                again = condition(self.test())
                if bridge.is_value(again):
                    loop = self._anew(self.peeled + 1)
                    dataclasses.replace(loop, holds=again).follow()
                elif again:
                    continue
                return

        decide_anew(self.holds, first, None, self.state)


def _let_sizes_differ(carriers: list[Carrier]) -> None:
    """Let lists that the loop changes hold items of several sizes: other tensors get longer.

    Raises:
        Replan: one was not made for that.
    """
    for top in carriers:
        for carrier in top.each():
            if isinstance(carrier, GrowingList):
                element = carrier.target.element
                if element != element.ragged():
                    raise Replan(carrier.path, grow=element.ragged(), rows=True)


@contextmanager
def _arrays_inside(carriers: list[Carrier], depth: int) -> Iterator[None]:
    """While a trip is captured: the lists whose arrays the loop carries belong to it."""
    lists: list[DynamicList] = [
        carrier.target
        for top in carriers
        for carrier in top.each()
        if isinstance(carrier, GrowingList) and carrier.arrays
    ]
    for target in lists:
        target.carried += 1
        target.home = depth + 1
    try:
        yield
    finally:
        for target in lists:
            target.carried -= 1
            target.home = depth
