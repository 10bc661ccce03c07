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

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.frames import is_part
from d2s.diagnostics.location import is_hidden
from d2s.diagnostics.notes import noting
from d2s.errors import AmbiguousValueError, D2SError
from d2s.program.capture.captured import Captured
from d2s.program.capture.draws import Draws
from d2s.program.capture.leaks import check_leaks
from d2s.program.capture.parameters import Making
from d2s.program.capture.results import Results
from d2s.program.capture.shadows import Shadows
from d2s.program.capture.steps import flags_of, steps_of
from d2s.program.capture.symbols import attributes_of_values, expressions
from d2s.program.capture.views import check_results, check_views
from d2s.program.capture.write_back import Leaving, leaving, updates_of, writes_of
from d2s.program.keys.call_key import Call, TensorLeaf
from d2s.program.keys.dimensions import SHAPE
from d2s.program.state.guards import Guard
from d2s.program.state.opaque import check_opaque
from d2s.program.state.places import Place
from d2s.program.state.records import Change
from d2s.program.state.relied import guards_of, homes_of
from d2s.program.state.shared_arguments import apart, check_state
from d2s.program.state.tracker import Watch
from d2s.runtime.aliasing.empties import enter_blocks
from d2s.runtime.aliasing.replays import calling
from d2s.runtime.calls.call import call as converted_of
from d2s.runtime.calls.implicit import methods
from d2s.runtime.calls.stand_ins.coroutines import finished
from d2s.runtime.control_flow.cond import Branches
from d2s.runtime.control_flow.effects import BlockLeft, raise_later
from d2s.runtime.host.debuggers import step_over_ours
from d2s.runtime.host.lowering import check_on_host, tell_what_is_lowered
from d2s.runtime.loops.unread import drop_unread
from d2s.runtime.trace import Capture, capture_into
from d2s.runtime.training.methods import training_into
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.reading import check_taken, returned
from d2s.runtime.values.tensors import NUMBER_DTYPES, is_array, mark_number, number_kind
from d2s.syntax.depth import deep

capture_lock: Final = bridge.static_lock
"""One capture at a time in a process, and no program is built meanwhile."""

_RANDOM: Final = (
    "dropout", "uniform", "gaussian", "randint", "randperm", "bernoulli", "multinomial",
    "poisson", "exponential", "binomial", "gamma", "rrelu", "gumbel",
)  # fmt: skip


def _input_name(leaf: TensorLeaf, index: int, taken: set[str]) -> str:
    wish = leaf.name or "".join(c if c.isalnum() or c == "_" else "_" for c in leaf.path).strip("_")
    name = wish or f"input_{index}"
    while name in taken:
        name = f"{name}_{index}"
    taken.add(name)
    return name


def capture(
    function: Callable[..., Any],
    call: Call,
    *,
    roots: list[Any],
    gradients: bool,
    export: bool = False,
    lifted: tuple[Change, ...] = (),
    tentative: bool = False,
    decided: bool = False,
    part: bool = False,
) -> Captured:
    """Run ``function`` once into a fresh program.

    Args:
        function: the user's function, ``self`` bound.
        call: the call that it is captured for.
        roots: objects whose attributes the function may assign.
        gradients: the program is to be differentiated.
        export: the program is to be saved: effects become Paddle's own operations.
        lifted: places outside of the arguments whose Python numbers become inputs.
        tentative: another capture is made if this one fails; it keeps no exception for the run.
        decided: conditions on the ``lifted`` numbers are what they are now, and the program relies
            on that.
        part: the function is a part of one that changes tensors in place elsewhere.
    """
    step_over_ours()
    # This frame is the outermost one: see diagnostics.stacks.
    frames = bridge.remembered_frames(is_hidden, is_part, sys._getframe())

    def begun(*, rolls: bool) -> Capture:
        return Capture(
            Branches(),
            export=export,
            gradients=gradients,
            tentative=tentative,
            decided=decided,
            rolls=rolls,
        )

    state = begun(rolls=True)
    with capture_lock, bridge.keep_mode(), bridge.no_collection(), deep(), frames:
        made: Captured
        try:
            with noting() as notes:
                made = _capture(function, call, roots, lifted, state, part)
        except D2SError as error:
            if not state.rolled:
                raise
            # What a static loop leaves may be less than what trips leave that are captured one by
            # one: a list of unknown length, a number of the run.
            state = begun(rolls=False)
            try:
                with noting() as notes:
                    made = _capture(function, call, roots, lifted, state, part)
            except D2SError:
                raise error from None
        made.notes = notes
        return made


@bridge.switch_to_static_graph  # type: ignore[untyped-decorator]
def _capture(
    function: Callable[..., Any],
    call: Call,
    roots: list[Any],
    lifted: tuple[Change, ...],
    state: Capture,
    part: bool,
) -> Captured:
    export, gradients = state.export, state.gradients
    main = paddle.static.Program()
    main.random_seed = paddle.static.default_main_program().random_seed
    attributes = attributes_of_values()
    attributes["shape"] = SHAPE
    watch = Watch(state.born)
    watch.handed = state.handed
    for root in roots:
        watch.add(root, type(root).__name__)
    for change in lifted:
        watch.note(change)
    relied: list[Guard] = []
    state.on_call = watch.function
    state.on_read = watch.seen
    state.watched = watch.scopes
    making = Making(again=call.repeated)
    state.makes = making.told
    straight: dict[int, bool] = {}

    def lies_straight(index: int) -> bool:
        known = index >= len(call.tensors) or bool(call.tensors[index].is_contiguous())
        return straight.setdefault(index, known)

    state.lies_straight = lies_straight
    state.continues = any(map(bridge.continues, call.tensors))
    state.expressions = lambda: expressions(attributes)
    try:
        with (
            bridge.tracing(main) as context,
            bridge.parameters_made(making.parameter),
            expressions(attributes),
            capture_into(state),
            methods(state),
            training_into(state),
            watch.probes.installed(),
        ):
            watch.tell_classes(state.adopt)
            inputs = _inputs(call, state)
            found = [change.place.get() for change in lifted]
            numbers = [_lift(change.place) for change in lifted]
            if state.decided:
                shadows = Shadows([change.place for change in lifted], found, numbers, relied)
                state.decides, state.shadow = shadows.decide, shadows.note
            draws = Draws()
            state.ask = draws.ask
            args, kwargs, containers = call.rebuild(inputs)
            arguments = Watch()
            arguments.tell_classes(state.adopt)
            state.outside = lambda thing: watch.opaque.path(thing) or arguments.opaque.path(thing)
            state.callers = {id(container): container for container in containers.values()}
            for container in containers.values():
                arguments.add(container, "argument")
            if not export:
                state.leaving = lambda: leaving(
                    Leaving(inputs, state, watch),
                    arguments,
                    containers,
                    state,
                    len(draws),
                    relied,
                )
                state.draw = draws.make
            try:
                result = returned(calling(finished, converted_of(function), *args, **kwargs))
            except BlockLeft:  # every path raises; nothing is returned
                result = None
            except (Exception, SystemExit) as error:
                check_taken(error)
                if state.refused and not isinstance(error, D2SError):
                    # Python has put words of its own in the place of what was refused.
                    raise state.refused[0] from None
                happened = (
                    state.hosts
                    or state.notes.written
                    or state.steps.record.used
                    or watch.changed()
                    or arguments.changed()
                )
                if export or isinstance(error, D2SError) or not happened:
                    raise
                if is_defect(error):
                    raise
                raise_later(error)  # each run does first what comes before it
                result = None
            if state.refused:  # the user's code has caught what stands for no error of its own
                raise state.refused[0]
            check_on_host(state.wanting)
            check_opaque((watch.opaque, arguments.opaque), function)
            results = Results(inputs, state, watch)
            results.watches = (watch, arguments)
            results.arguments = {id(made): number for number, made in containers.items()}
            build = results.take(result)
            changes = watch.changed()
            writes = (
                []
                if export
                else list(writes_of(results, arguments.changed(), changes, containers, state))
            )
            counters = [part for change in changes for part in _parts(change) if _counts(part)]
            kept_apart = apart(
                watch,
                {*state.grown, *(id(change.record.scope) for change in changes)},
                _changed_arguments(arguments.changed(), containers, state.grown),
            )
            updates = updates_of(state, main, results)
            drop_unread(main, results.outputs)
            if export:
                tell_what_is_lowered(state.lowered)
                bridge.without_copies(main)
                bridge.copy_what_is_read_twice(main)
            elif gradients and not state.steps.record.used:
                enter_blocks(main)
    except BaseException:
        watch.undo()
        raise
    watch.undo()
    making.finish()
    try:
        check_leaks(main)
    except BaseException:
        bridge.never_free(main)
        raise
    check_views(
        main,
        set(state.notes.copies),
        {
            number: [base.id for base in bases]
            for number, (_, bases) in state.notes.shared().items()
        },
        state.notes.settled,
        state.steps.record.shown,
    )
    parameters = context.get_params_with_values()
    if part:
        check_results(
            main,
            set(state.notes.copies),
            {
                number: [base.id for base in bases]
                for number, (_, bases) in state.notes.shared().items()
            },
            results.given,
            [*inputs, *parameters[1]],
            [each for each in results.kept if is_array(each)],
        )
    names = [operation.name() for operation in bridge.operations(main)]
    _check_choices(names)
    tensors, values = map(list, parameters)
    bridge.tell_apart(main, tensors, values, export=export)
    relied += flags_of(state.steps)
    steps = steps_of(state.steps, tensors, results.given)
    written = _positions((state.stored[root] for root in state.notes.written if root < 0), tensors)
    check_state(written, tensors)
    homes = homes_of(watch, tensors)
    if steps is not None:
        homes = steps.keep(homes, tensors)
        relied += steps.guards
    return Captured(
        main,
        [*inputs, *numbers, *draws.values],
        results.outputs,
        (tensors, values),
        build,
        writes,
        updates,
        state.hosts,
        "pd_op.while" in names,
        any(word in name for name in names for word in _RANDOM),
        [
            *call.leaves,
            *(_number_leaf(change.place.path, type(change.place.get())) for change in lifted),
            *(_number_leaf(draw.name, draw.kind) for draw in draws.made),
        ],
        results.ambiguous,
        results.texts,
        [*guards_of(watch, changes, tensors), *results.find_homes(), *relied],
        homes,
        [change.place for change in lifted],
        counters,
        bridge.overwritten(main, values),
        draws.made,
        written,
        kept_apart,
        steps,
        straight,
        state.flags,
        [(tensor, stops) for tensor, _, stops in state.steps.parameters.flags.values()],
        results.stops,
        [tensor for tensor, value in zip(tensors, values, strict=True) if value.id in state.asked],
        state.effects,
        callers=results.callers or bool(kept_apart.arguments),
    )


_CHOOSING: Final = frozenset(("pd_op.bitwise_and", "pd_op.bitwise_or", "pd_op.bitwise_not"))

_MOST_CHOICES: Final = 10_000
"""So many operations may say which of several values is meant; Paddle takes minutes to prepare
more of them.
"""


def _check_choices(names: list[str]) -> None:
    """Refuse a program that does little but decide what its values are.

    Args:
        names: those of its operations.

    Raises:
        AmbiguousValueError: (D2S203).
    """
    choices = sum(name in _CHOOSING for name in names)
    if choices > max(_MOST_CHOICES, len(names) // 2):
        raise AmbiguousValueError(
            f"{choices} of the {len(names)} operations of the program say which of several values "
            "of Python's is meant, as many trips of a Python loop choose under a tensor condition",
            cure="keep what the loop chooses in a tensor, by paddle.where, or give the loop fewer "
            "trips",
        )


def _positions(wanted: Iterable[Any], tensors: list[Any]) -> list[int]:
    """Where the ``wanted`` stand among ``tensors``."""
    known = {id(tensor) for tensor in wanted}
    return [index for index, tensor in enumerate(tensors) if id(tensor) in known]


def _changed_arguments(
    changes: list[Change], containers: dict[int, Any], grown: dict[int, tuple[Any, Any]]
) -> list[int]:
    changed = {id(change.record.scope) for change in changes}
    return [
        number
        for number, container in containers.items()
        if id(container) in changed or id(container) in grown
    ]


def _lift(place: Place) -> Any:
    """Let the number at ``place`` be an input of the program."""
    number = place.get()
    value = paddle.static.data(f"d2s_{place.path}", [], NUMBER_DTYPES[type(number)])
    place.put(mark_number(value, type(number)))
    return value


def _number_leaf(path: str, kind: type) -> TensorLeaf:
    return TensorLeaf(path, NUMBER_DTYPES[kind], (), True)


def _counts(change: Change) -> bool:
    """Whether a Python number of the state is another one afterwards."""

    def number(value: Any) -> bool:
        if isinstance(value, Choice):
            return number(value.true) and number(value.false)
        return number_kind(value) in (int, float)

    return type(change.before) in (int, float) and number(change.value)


def _parts(change: Change) -> list[Change]:
    """The entries that have changed, for a list that has as many items as before."""
    if not change.whole:
        return [change]
    if not isinstance(change.record.scope, list) or len(change.value) != len(change.before):
        return []
    pairs = enumerate(zip(change.value, change.before, strict=True))
    return [Change(change.record, at, now, was) for at, (now, was) in pairs if now is not was]


def _inputs(call: Call, state: Capture) -> list[Any]:
    taken: set[str] = set()
    inputs = []
    for index, leaf in enumerate(call.leaves):
        value = paddle.static.data(_input_name(leaf, index, taken), list(leaf.shape), leaf.dtype)
        value.stop_gradient = leaf.stop_gradient or not state.gradients
        inputs.append(value)
        state.notes.roots[value.id] = (value, index)
    return inputs
