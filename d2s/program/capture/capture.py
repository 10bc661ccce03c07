"""From a function and a call to a captured program.

The converted function runs once under a program guard.

============  =====================================================================
``symbols``   what it meets in the place of tensors
``results``   what it returns, taken apart into outputs
``writes``    what it changes outside, as each run is to change it
``captured``  what comes of all that
============  =====================================================================

Then the program is looked at: ``leaks``, ``views``, ``opaque``.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.frames import is_part
from d2s.diagnostics.location import is_hidden
from d2s.diagnostics.notes import noting
from d2s.errors import D2SError, InplaceError
from d2s.program.capture.captured import Captured, Run
from d2s.program.capture.draws import Draws
from d2s.program.capture.parameters import Making
from d2s.program.capture.refused import check_choices, check_leaks, check_results, check_stored
from d2s.program.capture.results import Results
from d2s.program.capture.shadows import Shadows
from d2s.program.capture.steps import flags_of, steps_of
from d2s.program.capture.symbols import attributes_of_values, expressions
from d2s.program.capture.views import check_views
from d2s.program.capture.write_back import (
    Leaving,
    changed_arguments,
    leaving,
    updates_of,
    writes_of,
)
from d2s.program.keys.call_key import Call, TensorLeaf
from d2s.program.keys.dimensions import SHAPE
from d2s.program.state.guards import Guard
from d2s.program.state.iterators.taking import Taking
from d2s.program.state.lifted import Lifted, apart_from, counters_of
from d2s.program.state.opaque import check_opaque
from d2s.program.state.relied import guards_of, homes_of
from d2s.program.state.shared_arguments import apart, check_state
from d2s.program.state.tables import check_tables
from d2s.program.state.tracker import Watch
from d2s.runtime.aliasing.replays import calling
from d2s.runtime.aliasing.sizes.empties import enter_blocks
from d2s.runtime.aliasing.waiting import WaitingError
from d2s.runtime.calls.call import call as converted_of
from d2s.runtime.calls.implicit import methods
from d2s.runtime.calls.stand_ins.coroutines import finished
from d2s.runtime.control_flow.cond import Branches
from d2s.runtime.control_flow.effects import BlockLeft, is_of_run, raise_later
from d2s.runtime.control_flow.guards import limited, limited_together
from d2s.runtime.host.debuggers import step_over_ours
from d2s.runtime.host.lowering import check_on_host, tell_what_is_lowered
from d2s.runtime.lists.items.pools import open_pools, with_pools
from d2s.runtime.lists.items.taken_in import TakenIn
from d2s.runtime.lists.lending import settle_block
from d2s.runtime.loops.unread import drop_unread
from d2s.runtime.trace import Capture, capture_into
from d2s.runtime.training.methods import training_into
from d2s.runtime.values.choice import MOST_USES
from d2s.runtime.values.fields import attributes_of
from d2s.runtime.values.reading import check_taken, returned
from d2s.runtime.values.tensors import NUMBER_DTYPES, check_dense
from d2s.syntax.depth import deep

capture_lock: Final = bridge.static_lock
"""One capture at a time in a process, and no program is built meanwhile."""


def _input_name(leaf: TensorLeaf, index: int, taken: set[str]) -> str:
    wish = leaf.name or "".join(c if c.isalnum() or c == "_" else "_" for c in leaf.path).strip("_")
    name = wish or f"input_{index}"
    while name in taken:
        name = f"{name}_{index}"
    taken.add(name)
    return name


@dataclass(frozen=True)
class Wanted:
    """What a program is captured of.

    Attributes:
        function: the user's function, ``self`` bound.
        call: the call that it is captured for.
        roots: objects whose attributes the function may assign.
        lifted: what becomes inputs of the state outside of the arguments.
        part: the function is a part of one that changes tensors in place elsewhere.
        dygraph: what cannot be one program runs in dygraph, which goes on with the results.
    """

    function: Callable[..., Any]
    call: Call
    roots: list[Any]
    lifted: tuple[Lifted, ...] = ()
    part: bool = False
    dygraph: bool = False


def capture(
    wanted: Wanted,
    *,
    gradients: bool,
    export: bool = False,
    tentative: bool = False,
    decided: bool = False,
) -> Captured:
    """Run a function once into a fresh program.

    Args:
        wanted: the function, and what it is captured for.
        gradients: the program is to be differentiated.
        export: the program is to be saved: effects become Paddle's own operations.
        tentative: another capture is made if this one fails; it keeps no exception for the run.
        decided: conditions on the numbers of ``wanted.lifted`` are what they are now, and the
            program relies on that.
    """
    step_over_ours()
    # This frame is the outermost one: see diagnostics.stacks.
    frames = bridge.remembered_frames(is_hidden, is_part, sys._getframe())

    begun = functools.partial(Capture, Branches(), export=export, gradients=gradients)
    state = (begun := functools.partial(begun, tentative=tentative, decided=decided))()
    of: Callable[[Capture], Captured] = functools.partial(_captured, wanted)
    limit = limited(config.get().capture_seconds, multiplied=0 if wanted.dygraph else MOST_USES)
    with capture_lock, bridge.keep_mode(), bridge.no_collection(), deep(), frames, limit:
        try:
            return with_pools(of, state, begun)
        except D2SError as error:
            refused = error
        try:  # not inside of ``except``, of which what the function raises would be in the context
            for again in _other_ways(refused, state):
                seconds = config.get().capture_seconds // 5 if "stepping" in again else 0
                with contextlib.suppress(D2SError), limited_together(seconds):
                    return with_pools(of, begun(**again), functools.partial(begun, **again))
            raise refused
        finally:
            del refused


def _other_ways(error: D2SError, state: Capture) -> Iterable[dict[str, Any]]:
    """How a capture that was refused may succeed."""
    if state.stepping is False:
        yield {"stepping": True}
    if isinstance(error, WaitingError):
        yield {"bound": True}
    if isinstance(error, InplaceError | WaitingError):  # of a view of a place of the run, say
        yield {"bound": True, "places": True}
    if state.rolled:  # trips that are captured one by one may leave more than a static loop does
        yield {"rolls": False}


@bridge.switch_to_static_graph  # type: ignore[untyped-decorator]
def _captured(wanted: Wanted, state: Capture) -> Captured:
    recording = _Recording(wanted, state)
    with noting() as notes, bridge.keeping_what_goes():
        try:
            try:
                contextvars.copy_context().run(recording.run)
            finally:
                recording.taken_in.leave()
                recording.watch.undo()
                recording.arguments.opaque.restore()
            recording.check()
            made = recording.captured()
        except BaseException:
            recording.forget()
            raise
    made.notes, made.takes = notes, bool(recording.watch.opaque.upcoming)
    return made


class _Recording:
    """One capture: what its phases hand on to each other.

    Args:
        wanted: the function, and what it is captured for.
        state: what its operators know; it begins empty.

    Attributes:
        watch: the state outside of the arguments.
        arguments: what is changed of the arguments.
        containers: the caller's containers among the arguments, as the function sees them.
        relied: guards that come up on the way.
        straight: arguments that were asked whether their elements lie beside each other.
        results: what the function has returned, taken apart; also what it has changed.
    """

    results: Results

    def __init__(self, wanted: Wanted, state: Capture) -> None:
        self.wanted, self.state = wanted, state
        self.main = paddle.static.Program()
        self.main.random_seed = paddle.static.default_main_program().random_seed
        self.attributes = attributes_of_values()
        self.attributes["shape"] = SHAPE
        self.watch, self.arguments = Watch(state.born), Watch()
        self.making = Making(again=wanted.call.repeated)
        self.draws = Draws()
        self.inputs: list[Any] = []
        self.numbers: list[Any] = []
        self.containers: dict[int, Any] = {}
        self.relied: list[Guard] = []
        self.straight: dict[int, bool] = {}
        owner = getattr(wanted.function, "__self__", None)
        self.taken_in = TakenIn(state, self._watched, owner)

    # -- before the function runs ----------------------------------------------------------------

    def _watch_state(self) -> None:
        watch, state = self.watch, self.state
        watch.handed = state.handed
        watch.opaque.add_process(state)
        for root in self.wanted.roots:
            watch.add(root, type(root).__name__)
        for lifted in self.wanted.lifted:
            watch.note(lifted)
        state.on_call = self._on_call
        state.on_read = watch.seen
        state.watched = watch.scopes
        state.makes = self.making.told
        state.lies_straight = self._lies_straight
        state.continues = any(map(bridge.continues, self.wanted.call.tensors))
        state.expressions = lambda: expressions(self.attributes)

    def _watched(self) -> list[Any]:
        return [*self.watch.scopes(), *self.arguments.scopes()]

    def _on_call(self, function: Any, owner: Any, converted: Any) -> None:
        self.watch.function(function, owner, converted)
        self.taken_in.look()

    def _lies_straight(self, index: int) -> bool:
        tensors = self.wanted.call.tensors
        known = index >= len(tensors) or bool(tensors[index].is_contiguous())
        return self.straight.setdefault(index, known)

    def _enter(self) -> tuple[Any, Any]:
        """Make the inputs; the arguments of the function."""
        state, watch, arguments = self.state, self.watch, self.arguments
        state.goes_on = self.wanted.dygraph
        watch.tell_classes(state.adopt)
        self.inputs = _inputs(self.wanted.call, state)
        lifted = self.wanted.lifted
        found = [each.place.get() for each in lifted]
        values = [each.value() for each in lifted]
        tensors = sum(each.is_tensor for each in lifted)
        for value in values[:tensors]:  # like arguments
            state.notes.roots[value.id] = (value, len(self.inputs))
            self.inputs.append(value)
        self.numbers = values[tensors:]
        if state.decided:
            places = [each.place for each in lifted[tensors:]]
            shadows = Shadows(places, found[tensors:], self.numbers, self.relied)
            state.decides, state.shadow = shadows.decide, shadows.note
        state.ask = self.draws.ask
        args, kwargs, self.containers = self.wanted.call.rebuild(self.inputs)
        arguments.tell_classes(state.adopt)
        state.outside = lambda thing: watch.opaque.path(thing) or arguments.opaque.path(thing)
        state.was_there = lambda thing: watch.knows(thing) or arguments.knows(thing)
        state.callers = {id(container): container for container in self.containers.values()}
        for container in self.containers.values():
            arguments.add(container, "argument")
        if not state.export:
            state.taking = Taking(watch, self.wanted.function)
            state.leaving = self._leaving
            state.draw = self.draws.make
        return args, kwargs

    def _leaving(self) -> tuple[list[Any], Callable[[Run, list[Any]], None]]:
        with self.taken_in.settled():
            return leaving(
                Leaving(self.inputs, self.state, self.watch),
                self.arguments,
                self.containers,
                self.state,
                len(self.draws),
                self.relied,
            )

    # -- the run ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the function, and note what it returns and what it leaves changed."""
        self._watch_state()
        with (
            bridge.tracing(self.main, check_dense) as self.context,
            bridge.parameters_made(self.making.parameter),
            expressions(self.attributes),
            capture_into(self.state),
            methods(self.state),
            training_into(self.state),
            self.watch.probes.installed(),
        ):
            args, kwargs = self._enter()
            open_pools(self.state, self.state.pooled)
            args, kwargs = self.taken_in.arguments(args, kwargs)
            result = self._called(args, kwargs)
            self._settle()
            check_on_host(self.state.wanting)
            for part in (self.state.steps.read, *self.state.counts.values()):
                part.check()
            watched, function = (self.watch, self.arguments), self.wanted.function
            check_opaque([each.opaque for each in watched], function, self.state.set_at)
            check_tables(watched, function)
            self._take(result)
            if self.state.export:
                tell_what_is_lowered(self.state.lowered)
                bridge.without_copies(self.main)
                bridge.copy_what_is_read_twice(self.main)
            elif self.state.gradients and not self.state.steps.record.used:
                enter_blocks(self.main)

    def _called(self, args: Any, kwargs: Any) -> Any:
        """What the function returns; ``None`` where each run raises instead."""
        state, result = self.state, None
        try:
            function = converted_of(self.wanted.function)
            result = returned(calling(finished, function, *args, **kwargs))
            settle_block()
        except BlockLeft:  # every path raises; nothing is returned
            pass
        except (Exception, SystemExit) as error:
            check_taken(error)
            if state.refused and not isinstance(error, D2SError):
                # Python has put words of its own in the place of what was refused.
                raise state.refused[0] from None
            if isinstance(error, D2SError) or is_defect(error):
                raise
            if not is_of_run(error) and (state.export or not self._has_happened()):
                raise
            raise_later(error)  # each run does first what comes before it, and fills it in
        if state.refused:  # the user's code has caught what stands for no error of its own
            raise state.refused[0]
        return result

    def _settle(self) -> None:
        """Objects that were there before the call are in their places again."""
        self.taken_in.settle()
        watch = self.watch
        for thing, _ in self.state.taken_in:  # all of its attributes were read
            for names in (watch.names, watch.used, watch.native):
                names.update(attributes_of(thing))

    def _has_happened(self) -> bool:
        """Whether something was done by now that can be seen outside."""
        state = self.state
        done = state.hosts or state.notes.written or state.steps.record.used
        return bool(done or self.watch.changed() or self.arguments.changed())

    def _take(self, result: Any) -> None:
        """Take apart what the function has returned and changed."""
        state, watch, containers = self.state, self.watch, self.containers
        self.results = results = Results(self.inputs, state, watch)
        results.watches = (watch, self.arguments)
        results.arguments = {id(made): number for number, made in containers.items()}
        self.build, self.returned = results.take(result), len(results.outputs)
        self.changes, changed = watch.changed(), self.arguments.changed()
        written = (
            () if state.export else writes_of(results, changed, self.changes, containers, state)
        )
        self.writes = list(written)
        self.counters = counters_of(self.changes)
        scopes = {*state.grown, *(id(change.record.scope) for change in self.changes)}
        self.apart = apart(watch, scopes, changed_arguments(changed, containers, state.grown))
        self.updates = updates_of(state, self.main, results)
        results.check_leaves()
        results.check_overwritten()
        results.check_passed()
        if self.wanted.dygraph:
            state.steps.leaves.check_results(results.given)
        drop_unread(self.main, results.outputs)

    # -- afterwards ------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse a program that dygraph disagrees with."""
        notes, main, taking = self.state.notes, self.main, self.state.taking
        self.given = taking and taking.settle(self.state.counts.values(), self.relied)
        self.making.finish()
        check_leaks(main)
        check_views(main, notes, self.state.steps.record.shown)
        check_stored(main, notes, self.results)
        self.parameters = self.context.get_params_with_values()
        if self.wanted.part:
            known = [*self.inputs, *self.parameters[1]]
            check_results(main, self.state, self.results, known)
        check_choices([operation.name() for operation in bridge.operations(main)])

    def forget(self) -> None:
        """Let go of the user's objects, which would live until the next garbage collection.

        Paddle ends the process where a program goes in which a value is read outside of its block.
        """
        if self.state.taking is not None:
            self.state.taking.forget(self.state.counts.values())
        if bridge.misplaced(self.main) is not None:
            bridge.never_free(self.main)
        for part in (self.watch, self.arguments):
            vars(part).clear()
        for name in vars(self.state).keys() - {"rolls", "rolled", "wishes", "stepping"}:
            delattr(self.state, name)
        vars(self).clear()

    def captured(self) -> Captured:
        """The program with all that is known of it."""
        state, watch, results = self.state, self.watch, self.results
        tensors, values = map(list, self.parameters)
        bridge.tell_apart(self.main, tensors, values, export=state.export)
        self.relied += flags_of(state.steps)
        steps = steps_of(state.steps, tensors, results.given)
        rewritten = _positions((state.stored[n] for n in state.notes.written if n < 0), tensors)
        check_state(rewritten, tensors)
        homes = homes_of(watch, tensors)
        if steps is not None:
            homes = steps.keep(homes, tensors)
            self.relied += steps.guards
        self.relied += apart_from(self.wanted.lifted, homes)
        return Captured(
            self.main,
            [*self.inputs, *self.numbers, *self.draws.values],
            results.outputs,
            (tensors, values),
            self.build,
            self.writes,
            self.updates,
            state.hosts,
            bridge.has_differentiable_loop(self.main),
            bridge.draws_numbers(self.main) or bool(state.drawn),
            self.returned,
            leaves=[
                *self.wanted.call.leaves,
                *(each.leaf for each in self.wanted.lifted),
                *(TensorLeaf(d.name, NUMBER_DTYPES[d.kind], (), True) for d in self.draws.made),
            ],
            ambiguous=results.ambiguous,
            texts=results.texts,
            guards=[
                *guards_of(watch, self.changes, tensors, state.born),
                *results.find_homes(),
                *self.relied,
            ],
            homes=homes,
            lifted=self.wanted.lifted,
            counters=[*self.counters, *(self.given or ())],
            overwritten=bridge.overwritten(self.main, values),
            drawn=list(state.drawn.values()),
            draws=self.draws.made,
            rewritten=rewritten,
            apart=self.apart,
            steps=steps,
            straight=self.straight,
            flags=state.flags,
            outer_flags=[
                (tensor, stops) for tensor, _, stops in state.steps.parameters.flags.values()
            ],
            stops=results.stops,
            asked=[
                tensor
                for tensor, value in zip(tensors, values, strict=True)
                if value.id in state.asked
            ],
            only_static=state.only_static,
            callers=results.callers or bool(self.apart.arguments),
        )


def _positions(wanted: Iterable[Any], tensors: list[Any]) -> list[int]:
    """Where the ``wanted`` stand among ``tensors``."""
    known = {id(tensor) for tensor in wanted}
    return [index for index, tensor in enumerate(tensors) if id(tensor) in known]


def _inputs(call: Call, state: Capture) -> list[Any]:
    taken: set[str] = set()
    inputs = []
    for index, leaf in enumerate(call.leaves):
        value = paddle.static.data(_input_name(leaf, index, taken), list(leaf.shape), leaf.dtype)
        value.stop_gradient = leaf.stop_gradient or not state.gradients
        inputs.append(value)
        state.notes.roots[value.id] = (value, index)
    return inputs
