"""From a function and a call to a captured program.

The converted function runs once under a program guard.  What it returns is taken apart into the
program's outputs and a function that rebuilds the result from the run's tensors.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.location import is_hidden, is_ours, user_line
from d2s.errors import (
    D2SError,
    InplaceError,
    LeakedValueError,
    NotStaticError,
    UnsupportedInGraphError,
)
from d2s.operators import inplace
from d2s.operators.calls import call as converted_of
from d2s.operators.context import Capture, capture_into, current, error_here
from d2s.operators.debugging import step_over_ours
from d2s.operators.effects import BlockLeft, HostText, Shipment, raise_later
from d2s.operators.either import UNBOUND, Either, bound
from d2s.operators.empties import enter_blocks
from d2s.operators.implicit import methods
from d2s.operators.items import value_getitem
from d2s.operators.lists import GrowingList
from d2s.operators.lowering import tell_what_is_lowered
from d2s.operators.objects import is_user_object
from d2s.operators.origins import origin_of
from d2s.operators.replays import CHECKS, Method, as_in_dygraph, calling
from d2s.operators.training import VALUE_METHODS, training_into
from d2s.operators.unread import drop_unread
from d2s.operators.values import (
    NUMBER_DTYPES,
    adapt_operand,
    as_value,
    cast_plain,
    mark_number,
    number_kind,
    refuse,
)
from d2s.program.apart import Apart, apart
from d2s.program.dimensions import SHAPE, is_open
from d2s.program.draws import Draw, Draws
from d2s.program.places import CONTAINERS, Place
from d2s.program.signature import Call, TensorLeaf
from d2s.program.state import Change, Guard, Record, Watch, is_symbol, refill
from d2s.program.steps import StepsOfRun, changes_of, steps_of
from d2s.program.structure import parts
from d2s.program.views import check_views
from d2s.syntax.depth import deep

capture_lock: Final = bridge.static_lock
"""One capture at a time in a process, and no program is built meanwhile."""

_HASH: Final[Callable[[Any], int]] = bridge.Value.__hash__

_SIZE: Final[type] = type(paddle.ones([1]).size)
"""What ``tensor.size`` is in dygraph: an int of Paddle's own."""

_RANDOM: Final = (
    "dropout", "uniform", "gaussian", "randint", "randperm", "bernoulli", "multinomial",
    "poisson", "exponential", "binomial", "gamma", "rrelu", "gumbel",
)  # fmt: skip


@dataclass(slots=True)
class Run:
    """One run of a program, as the builders of its results see it.

    Attributes:
        outputs: the tensors that the program gave.
        inputs: the tensors that it was given.
        containers: the caller's lists, dicts and so on among the arguments.
        made: objects of this run that several results share.
        drawn: how many of its random numbers are drawn where an exception leaves the program.
    """

    outputs: list[Any]
    inputs: list[Any]
    containers: list[Any]
    made: dict[int, Any] = field(default_factory=dict)
    drawn: int | None = None


Build = Callable[[Run], Any]
"""From a run to a part of its result."""

Write = Callable[[Run, Any], None]
"""Makes a change of state on a run, with the value that the run has for it."""


@dataclass
class Captured:
    """A captured program and how to call it.

    Attributes:
        program: the Paddle program.
        inputs: its input values, in the order of the call's tensors, of ``lifted``, of ``draws``.
        outputs: its output values, each once.
        parameters: dygraph tensors that it reads, and the values that stand for them.
        build: the result of a run.
        writes: what each run changes of the state outside, with the builder of the new value.
        updates: inputs that the function changes in place, with the position of the new value.
        hosts: host functions, kept alive.
        has_loop: a ``while`` is in it, so gradients need the joint program.
        has_random: an operation draws random numbers.
        leaves: what the key says of each input.
        ambiguous: names of values whose structure depends on a tensor.
        guards: what the program relies on besides its arguments.
        homes: for parameters whose places are known, index and place: each run reads them anew.
        lifted: places whose numbers are inputs.
        counters: numbers of the state that it changes.
        overwritten: indexes of parameters that it writes into.
        rewritten: indexes of parameters that get new contents after each run.
        draws: calls for random numbers of Python or NumPy, whose results are the last inputs.
        apart: what must be different objects on each call.
        steps: gradients and optimizer steps that are part of it.
    """

    program: Any
    inputs: list[Any]
    outputs: list[Any]
    parameters: tuple[list[Any], list[Any]]
    build: Build
    writes: list[tuple[Write, Build]]
    updates: list[tuple[int, int]]
    hosts: list[Any]
    has_loop: bool
    has_random: bool
    leaves: list[TensorLeaf] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    homes: list[tuple[int, Place]] = field(default_factory=list)
    lifted: list[Place] = field(default_factory=list)
    counters: list[Change] = field(default_factory=list)
    overwritten: list[int] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    rewritten: list[int] = field(default_factory=list)
    apart: Apart = field(default_factory=Apart)
    steps: StepsOfRun | None = None


def _unknown(name: str) -> Callable[..., Any]:
    """A method for values that asks for what only the run knows."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error_here(
            NotStaticError,
            f"{name}() asks for the values of a tensor while the program is being captured",
            "compute with the tensor itself, with functions of Paddle",
        )

    return method


@functools.cache
def _inplace_methods() -> dict[str, Callable[..., Any]]:
    """Every in-place method of a dygraph tensor, for values of a program."""

    def made(name: str) -> Callable[..., Any]:
        def change(self: Any, *arguments: Any, **options: Any) -> Any:
            return inplace.method(self, name)(*arguments, **options)

        change.__name__ = name
        return change

    names = [name for name in dir(paddle.Tensor) if inplace.is_inplace(name)]
    return {name: made(name) for name in names if not name.startswith("_")}


_DECIDES: Final = "its value decides what code that stays Python does, which only the run knows"
_YIELDING: Final = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _truth(self: Any) -> bool:
    """Refuse to be a truth value; a generator stays Python, and is named."""
    code = sys._getframe(1).f_code
    if code.co_flags & _YIELDING and not is_ours(code.co_filename) and code.co_name[0] != "<":
        raise error_here(
            UnsupportedInGraphError,
            f"a tensor decides what the generator {code.co_name!r} yields, which only the run "
            "knows",
            "write its loop into the function that uses it, without yield, or let it return a list",
        )
    raise error_here(
        UnsupportedInGraphError,
        f"a tensor is used as a truth value, but {_DECIDES}",
        "use if, while, and, or, not of a converted function, or bool(tensor)",
    )


def _refusals() -> dict[str, Any]:
    plain = _DECIDES
    return {
        "size": property(_size),
        "detach": _detach,
        "cpu": _to_cpu,
        "__hash__": _hash,
        "__bool__": _truth,
        "__index__": refuse(
            f"a tensor is used as a Python index, but {plain}",
            "stack the sequence into a tensor and index that",
        ),
        "__setitem__": refuse(
            "an item of a tensor that is no local variable is assigned, which a captured program "
            "would lose",
            "bind the tensor to a local variable, assign the item, and bind it back",
        ),
        "__array__": _unknown("np.asarray"),
        "__float__": _unknown("float"),
        "__int__": _unknown("int"),
        "__complex__": _unknown("complex"),
        "numpy": _unknown("numpy"),
        "tolist": _unknown("tolist"),
        "__format__": _refuse_format,
        "__str__": _as_text,
        "__iter__": _iterate,
        "__len__": _length,
        "__contains__": refuse(
            f"'in' asks for the truth of tensors, but {plain}",
            "use (tensor == item).any()",
        ),
    }


def _to_cpu(self: Any) -> Any:
    """``x.cpu()``, which ``x.to("cpu")`` calls as well: Paddle's own has no gradient."""
    if not paddle.is_compiled_with_cuda():
        return paddle.assign(self)
    if self.stop_gradient:
        return _COPY_TO_CPU(self)
    raise error_here(
        UnsupportedInGraphError,
        ".cpu() moves a tensor that takes a gradient, which Paddle's programs would lose",
        "leave it on its device, or move a .detach() of it",
    )


_COPY_TO_CPU: Final = bridge.Value.cpu


def _adapted(mine: Any, other: Any, name: str) -> Any:
    """``other`` as a partner of ``mine`` in the operator ``name``."""
    if isinstance(other, Either):
        compares = name in ("__eq__", "__ne__") and any(each is None for each in other.leaves())
        if compares or not other.single:
            return NotImplemented  # it uses each of its alternatives
        other = other.get(lambda found: getattr(mine, name)(found))
    adapted = adapt_operand(mine, other)
    if name == "__matmul__" and bridge.is_value(adapted) and not paddle.is_autocast_enabled():
        return cast_plain(adapted, mine.dtype)  # a program would promote both
    return adapted


def _said(error: Exception, name: str, operands: tuple[Any, ...]) -> Exception:
    return as_in_dygraph(error, Method(name), operands, {})


def _refuse_format(self: Any, spec: str) -> str:
    raise NotStaticError(
        "a tensor is formatted into text while the program is being captured",
        cure="use an f-string in print, assert or raise",
    )


def _as_text(self: Any) -> str:
    """What a debugger shows; ``text % tensor`` of code that stays as it is would keep it."""
    frame = sys._getframe(1)
    step = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    if step.startswith(("BINARY_", "INPLACE_")) and not is_ours(frame.f_code.co_filename):
        raise error_here(
            NotStaticError,
            "a tensor is formatted into text by % while the program is being captured",
            "write the text before the % itself, or a tuple behind it, or use an f-string",
        )
    return repr(self)


def _length(self: Any) -> int:
    if not list(self.shape):
        raise AssertionError("len() of a 0-D tensor is wrong")
    if self.shape[0] < 0:
        raise UnsupportedInGraphError(
            "the length of a tensor with an open first dimension is asked for by Python code",
            cure="call len() in a converted function, or use x.shape[0]",
        )
    return int(self.shape[0])


def _noticed(tensor: Any) -> None:
    """The contents of a tensor go into the program as constants, if user code reads them."""
    state = current()
    if state is not None and state.on_read is not None:
        state.on_read(tensor)


def _hash(self: Any) -> int:
    """A number of the run has no hash by which code that stays Python would find it."""
    if number_kind(self) is not None and not is_ours(sys._getframe(1).f_code.co_filename):
        raise error_here(
            NotStaticError,
            "a number that only the run knows is hashed, as a key of a dict or an item of a set",
            "choose with if, or index a list or a tensor with it",
        )
    return _HASH(self)


def _check_parts(operation: Any, value: Any, axis: int = 0, *others: Any) -> None:
    """Paddle 3.3.1 ends the process when it takes apart a dimension of unknown size."""
    if bridge.is_value(value) and list(value.shape)[axis : axis + 1 or None] == [-1]:
        raise error_here(
            UnsupportedInGraphError,
            "a tensor is taken apart along a dimension whose size only the run knows",
            "iterate over it with for, or index it",
        )


def _detach(self: Any) -> Any:
    """A copy without gradient.

    In dygraph it shares the tensor's storage; in a program of Paddle 3.3 an operation that may
    work in place then overwrites the argument.
    """
    copy = paddle.assign(self)
    copy.stop_gradient = True
    state = current()
    if state is not None:
        state.detached[copy.id] = copy
    return copy


def _size(self: Any) -> Any:
    """The number of elements: an int where every dimension is known, as in dygraph."""
    sizes = list(self.shape)
    if all(size >= 0 for size in sizes):
        return _SIZE(math.prod(sizes))
    return mark_number(paddle.numel(self).astype("int64"), int)


def _iterate(self: Any) -> Any:
    if not list(self.shape):
        return iter(())  # as in dygraph
    return iter([self[index] for index in range(_length(self))])


def _input_name(leaf: TensorLeaf, index: int, taken: set[str]) -> str:
    wish = leaf.name or "".join(c if c.isalnum() or c == "_" else "_" for c in leaf.path).strip("_")
    name = wish or f"input_{index}"
    while name in taken:
        name = f"{name}_{index}"
    taken.add(name)
    return name


class _HiddenError(Exception):
    """A value of another block is asked for."""


class _Results:
    """Takes returned objects and changed state apart into outputs of the program."""

    def __init__(self, inputs: list[Any], state: Capture, watch: Watch) -> None:
        self.sometimes = state.sometimes
        self.grown = state.grown
        self.roots, self.written, self.stored = state.roots, state.written, state.stored
        self.watch = watch
        # A saved program gives every tensor of the result, arguments and repetitions too.
        self.every = state.export
        self.inputs = {} if self.every else {value.id: at for at, value in enumerate(inputs)}
        self.outputs: list[Any] = []
        self.positions: dict[int, int] = {}
        self.kept: list[Any] = []
        self.ambiguous: list[str] = []
        self.arguments: dict[int, int] = {}
        self.shared: dict[int, Build] = {}
        self.moved: dict[int, Any] = {}
        self.homes: dict[int, list[Place]] = {}

    def output(self, value: Any) -> int:
        """The position of ``value`` among the outputs."""
        known = self.positions.get(value.id)
        if known is None or self.every:
            copy = paddle.assign(value)
            copy.stop_gradient = value.stop_gradient
            known = self.positions[value.id] = len(self.outputs)
            self.outputs.append(copy)
            self.kept.append(value)
        return known

    def take(self, thing: Any) -> Build:
        """A function from a run to ``thing`` with real tensors."""
        return self.original(thing) or self.new(thing)

    def original(self, thing: Any) -> Build | None:
        """How a run finds the container outside of the function that has become ``thing``."""
        if not self.grown or not isinstance(thing, (Either, GrowingList, *CONTAINERS)):
            return None
        root = origin_of(thing)
        return None if root is None or root is thing else self.outside(root)

    def new(self, thing: Any) -> Build:
        """The same for what stands for no container that was there before."""
        piece = self.piece(thing)
        if piece is not None:
            return piece
        held = parts(thing)
        if held is None:
            return self.instance(thing)
        known = self.known(thing)
        if known is not None:
            return known
        return self.once(thing, self.contents(thing))

    def known(self, thing: Any) -> Build | None:
        """How a run finds a container that is no new one, or that has been taken already."""
        return self.outside(thing) or self.shared.get(id(thing))

    def outside(self, thing: Any) -> Build | None:
        """How a run finds a container that was there before."""
        number = self.arguments.get(id(thing))
        if number is not None:
            return lambda run: run.containers[number]
        record = self.watch.holds(thing)
        if record is None:
            return None
        place = record.place
        return (lambda run: thing) if place is None else lambda run: place.get()

    def once(self, thing: Any, build: Build) -> Build:
        """``build``, called once in each run."""
        slot = len(self.kept)
        self.kept.append(thing)

        def shared(run: Run) -> Any:
            if slot not in run.made:
                run.made[slot] = build(run)
            return run.made[slot]

        if not isinstance(thing, tuple):
            self.shared[id(thing)] = shared
        return shared

    def contents(self, thing: Any) -> Build:
        """A container of the same form with the run's parts."""
        held = parts(thing)
        assert held is not None
        items = [self.take(item) for _, item in held[0]]
        make = held[1]
        if not isinstance(thing, dict):
            return lambda run: make([item(run) for item in items])

        def build(run: Run) -> Any:
            made = make([item(run) for item in items])
            for key in [key for key, item in made.items() if item is UNBOUND]:
                del made[key]
            return made

        return build

    def instance(self, thing: Any) -> Build:
        """An object of the user's that holds tensors of the program: its like; others as is."""
        if bridge.is_eager(thing):
            return self.eager(thing)
        if not is_user_object(thing) or not _holds_values(thing):
            return lambda run: thing
        fields = thing.__dict__
        if self.watch.holds(fields) is not None:
            return lambda run: thing  # it was there before: its attributes are state
        known = self.shared.get(id(thing))
        if known is not None:
            return known
        members = self.contents(dict(fields))
        kind: Any = type(thing)

        def build(run: Run) -> Any:
            fresh = object.__new__(kind)
            fresh.__dict__.update(members(run))
            return fresh

        return self.once(thing, build)

    def eager(self, tensor: Any) -> Build:
        """A tensor of the state that no operation reads: the one that is in its place now."""
        self.moved[id(tensor)] = tensor

        def build(run: Run) -> Any:
            places = self.homes.get(id(tensor))
            return places[0].get() if places else tensor

        return build

    def find_homes(self) -> list[Guard]:
        """Note where the tensors of :meth:`eager` are kept; what the program relies on for it."""
        tensors = list(self.moved.values())
        for index, place in self.watch.places_of(tensors):
            self.homes.setdefault(id(tensors[index]), []).append(place)
        return [
            Guard(other, _is_at(places[0]), True)
            for places in self.homes.values()
            for other in places[1:]
        ]

    def piece(self, item: Any) -> Build | None:
        """How a run gives what stands for one value; ``None`` for anything else."""
        if isinstance(item, Either):
            self.ambiguous.append(item.name)
            where = self.output(item.flag)
            true, false = self.take(item.true), self.take(item.false)
            return lambda run: (true if bool(run.outputs[where]) else false)(run)
        if isinstance(item, GrowingList):
            known = self.shared.get(id(item))
            return known if known is not None else self.once(item, self.growing(item))
        if isinstance(item, HostText):
            return self.text(item)
        if not bridge.is_value(item):
            return None
        if item.id in self.inputs:
            position = self.inputs[item.id]
            return lambda run: run.inputs[position]
        kept = self.rewritten(item)
        if kept is not None:
            return self.eager(kept)
        kind = number_kind(item)
        position = self.output(item)
        if kind is not None:
            return lambda run: kind(run.outputs[position].item())
        if item.id in self.sometimes:
            _, flag, number = self.sometimes[item.id]
            where = self.output(flag)
            return lambda run: (
                number(run.outputs[position].item())
                if bool(run.outputs[where])
                else run.outputs[position]
            )
        return lambda run: run.outputs[position]

    def rewritten(self, item: Any) -> Any:
        """The tensor of the state that is changed in place and holds ``item`` in the end."""
        _, root = self.roots.get(item.id, (None, 0))
        if root >= 0 or not item.stop_gradient or self.written.get(root) is not item:
            return None
        return self.stored[root]

    def text(self, item: HostText) -> Build:
        """Text that the host formats."""
        shipment = Shipment()
        build = shipment.pack(item)
        pieces = [self.take(value) for value in shipment.values]
        return lambda run: build(tuple(piece(run) for piece in pieces))

    def growing(self, item: GrowingList) -> Build:
        """A list that has grown in a loop."""
        element = item.element
        stacks = [self.output(item.stacked(leaf)) for leaf in range(len(element.leaves))]
        kinds = [leaf.kind for leaf in element.leaves]
        make = tuple if item.frozen else list

        def build(run: Run) -> Any:
            columns = []
            for position, kind in zip(stacks, kinds, strict=True):
                stacked = run.outputs[position]
                rows = paddle.unbind(stacked) if stacked.shape[0] else []
                columns.append(rows if kind is None else [kind(row.item()) for row in rows])
            return make(element.build_host(list(row)) for row in zip(*columns, strict=True))

        return build


def _is_at(place: Place) -> Callable[[Any], bool]:
    return lambda thing: thing is place.get()


class _Leaving(_Results):
    """Takes changed state apart where an exception of the run leaves the program.

    Its outputs are those of a host operator.
    """

    def output(self, value: Any) -> int:
        known = self.positions.get(value.id)
        if known is None:
            if not bridge.is_visible(value):
                raise _HiddenError
            known = self.positions[value.id] = len(self.outputs)
            self.outputs.append(value)
            self.kept.append(value)
        return known


def _leaving(
    results: _Leaving,
    arguments: Watch,
    containers: dict[int, Any],
    state: Capture,
    drawn: int,
    guards: list[Guard],
) -> tuple[list[Any], Callable[[Run, list[Any]], None]]:
    """What has changed until here: the values that it needs, and how a run makes it so.

    What it relies on besides is added to ``guards``.
    """
    writes: list[tuple[Write, Build]] = []
    results.arguments = {id(made): number for number, made in containers.items()}
    changes = arguments.changed()
    for number, container in containers.items():
        with contextlib.suppress(_HiddenError):
            writes.extend(_writes(results, changes, {number: container}, state.grown))
    for change in results.watch.changed():
        with contextlib.suppress(_HiddenError):  # what a branch has left behind for nobody
            writes.extend(_state(results, [change]))
    with contextlib.suppress(_HiddenError):
        writes.extend(_divided(results, containers))
    with contextlib.suppress(_HiddenError):
        writes.extend(_trained(results, state))
    updates = []
    for index, value in state.written.items():
        with contextlib.suppress(_HiddenError):
            if index < 0:
                writes.extend(_contents(results, value))
            else:
                updates.append((index, results.output(value)))
    guards.extend(results.find_homes())

    def make(run: Run, tensors: list[Any]) -> None:
        run.drawn = drawn
        now = Run(tensors, run.inputs, run.containers)
        values = [(write, build(now)) for write, build in writes]
        for write, value in values:
            write(now, value)
        with paddle.no_grad():
            for index, position in updates:
                paddle.assign(tensors[position], run.inputs[index])

    return results.outputs, make


def _holds_values(thing: Any, depth: int = 4) -> bool:
    """Whether something of the program can be reached from ``thing``."""
    if is_symbol(thing):
        return True
    held = parts(thing) if depth else None
    if held is not None:
        return any(_holds_values(item, depth - 1) for _, item in held[0])
    if depth and is_user_object(thing):
        return any(_holds_values(item, depth - 1) for item in thing.__dict__.values())
    return False


def capture(
    function: Callable[..., Any],
    call: Call,
    *,
    roots: list[Any],
    gradients: bool,
    export: bool = False,
    lifted: tuple[Change, ...] = (),
    tentative: bool = False,
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
    """
    step_over_ours()
    frames = bridge.remembered_frames(is_hidden, sys._getframe())  # ours: see diagnostics.stacks
    with capture_lock, bridge.keep_mode(), bridge.no_collection(), deep(), frames:
        made: Captured = _capture(function, call, roots, gradients, export, lifted, tentative)
        return made


@contextlib.contextmanager
def _expressions(refusals: dict[str, Any]) -> Iterator[None]:
    """Let dygraph tensors take part in the expressions of a program."""
    with (
        bridge.tensors_as_values(_adapted, propagate_numbers, refusals, _noticed, _said),
        bridge.checked_operations({**CHECKS, "unbind": _check_parts, "unstack": _check_parts}),
        _attributes_as_values(),
    ):
        yield


@bridge.switch_to_static_graph  # type: ignore[untyped-decorator]
def _capture(
    function: Callable[..., Any],
    call: Call,
    roots: list[Any],
    gradients: bool,
    export: bool,
    lifted: tuple[Change, ...],
    tentative: bool,
) -> Captured:
    main = paddle.static.Program()
    main.random_seed = paddle.static.default_main_program().random_seed
    state = Capture(export=export, gradients=gradients, tentative=tentative)
    refusals = {**_inplace_methods(), **_refusals(), **VALUE_METHODS}
    refusals["__getitem__"] = value_getitem()
    if tentative and is_open(call):
        refusals["shape"] = SHAPE
    watch = Watch(state.born)
    for root in roots:
        watch.add(root, type(root).__name__)
    for change in lifted:
        watch.note(change)
    relied: list[Guard] = []
    state.on_call = watch.function
    state.on_read = watch.contents
    state.watched = watch.scopes
    state.expressions = lambda: _expressions(refusals)
    try:
        with (
            bridge.tracing(main) as context,
            _expressions(refusals),
            capture_into(state),
            methods(state),
            training_into(state),
        ):
            inputs = _inputs(call, state)
            numbers = [_lift(change.place) for change in lifted]
            draws = Draws()
            state.ask = draws.ask
            args, kwargs, containers = call.rebuild(inputs)
            arguments = Watch()
            state.callers = {id(container): container for container in containers.values()}
            for container in containers.values():
                arguments.add(container, "argument")
            if not export:
                state.leaving = lambda: _leaving(
                    _Leaving(inputs, state, watch),
                    arguments,
                    containers,
                    state,
                    len(draws),
                    relied,
                )
                state.draw = draws.make
            try:
                result = bound(calling(converted_of(function), *args, **kwargs))
            except BlockLeft:  # every path raises; nothing is returned
                result = None
            except (Exception, SystemExit) as error:
                happened = (
                    state.hosts
                    or state.written
                    or state.steps.used
                    or watch.changed()
                    or arguments.changed()
                )
                if export or state.refused or isinstance(error, D2SError) or not happened:
                    raise
                if is_defect(error):
                    raise
                raise_later(error)  # each run does first what comes before it
                result = None
            if state.refused:  # the user's code has caught what stands for no error of its own
                raise state.refused[0]
            _check_opaque(watch, arguments, function)
            results = _Results(inputs, state, watch)
            results.arguments = {id(made): number for number, made in containers.items()}
            build = results.take(result)
            changes = watch.changed()
            writes = (
                []
                if export
                else [
                    *_writes(results, arguments.changed(), containers, state.grown),
                    *_state(results, changes),
                    *_divided(results, containers),
                    *_trained(results, state),
                    *(
                        write
                        for root, value in state.written.items()
                        if root < 0
                        for write in _contents(results, value)
                    ),
                ]
            )
            counters = [change for change in changes if _counts(change)]
            kept_apart = apart(
                watch,
                {*state.grown, *(id(change.record.scope) for change in changes)},
                _changed_arguments(arguments.changed(), containers, state.grown),
            )
            updates = _updates(state, main, results)
            drop_unread(main, results.outputs)
            if export:
                tell_what_is_lowered(state.lowered)
                bridge.without_copies(main)
            elif gradients and not state.steps.used:
                enter_blocks(main)
    except BaseException:
        watch.undo()
        raise
    watch.undo()
    try:
        _check_leaks(main)
    except BaseException:
        bridge.never_free(main)
        raise
    check_views(main, set(state.copies), set(state.detached), state.settled, state.steps.shown)
    parameters = context.get_params_with_values()
    names = [operation.name() for operation in bridge.operations(main)]
    tensors, values = map(list, parameters)
    bridge.tell_apart(main, tensors, values, export=export)
    steps = steps_of(state.steps, tensors)
    homes = watch.places_of(tensors)
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
        [*watch.guards(changes, tensors), *results.find_homes(), *relied],
        homes,
        [change.place for change in lifted],
        counters,
        bridge.overwritten(main, values),
        draws.made,
        _positions((state.stored[root] for root in state.written if root < 0), tensors),
        kept_apart,
        steps,
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
        if isinstance(value, Either):
            return number(value.true) and number(value.false)
        return number_kind(value) in (int, float)

    return type(change.before) in (int, float) and not change.whole and number(change.value)


def _writes(
    results: _Results,
    changes: list[Change],
    containers: dict[int, Any],
    grown: dict[int, tuple[Any, Any]],
) -> Iterator[tuple[Write, Build]]:
    """What each run changes in the caller's own lists, dicts and data classes."""
    changed = {id(change.record.scope) for change in changes}
    for number, container in containers.items():
        fields = getattr(container, "__dict__", None)
        if id(container) in grown:
            yield _refiller(number), _become(results, grown[id(container)][1], container)
            continue
        if isinstance(container, tuple) or not {id(container), id(fields)} & changed:
            continue
        if isinstance(container, CONTAINERS):
            yield _refiller(number), results.contents(container)
        else:
            yield _setter(number), results.contents(dict(fields or {}))


def _become(results: _Results, form: Any, container: Any) -> Build:
    """The contents that ``container`` gets, which has become ``form``."""
    if form is container:
        return results.contents(container)
    if isinstance(form, Either):
        where = results.output(form.flag)
        true = _become(results, form.true, container)
        false = _become(results, form.false, container)
        return lambda run: (true if bool(run.outputs[where]) else false)(run)
    return results.new(form)


def _refiller(number: int) -> Write:
    return lambda run, contents: refill(run.containers[number], contents)


def _setter(number: int) -> Write:
    def write(run: Run, contents: dict[str, Any]) -> None:
        for name, value in contents.items():
            object.__setattr__(run.containers[number], name, value)

    return write


def _contents(results: _Results, value: Any) -> Iterator[tuple[Write, Build]]:
    """New contents of a tensor of the state that is changed in place.

    Where they have a gradient, the places that are known get a new tensor besides, as a change of
    the state: a tensor cannot be given another history.
    """
    target = results.eager(results.stored[results.roots[value.id][1]])
    position = results.output(value)
    yield _overwrite, lambda run: (target(run), run.outputs[position])


def _overwrite(run: Run, found: tuple[Any, Any]) -> None:
    tensor, contents = found
    with paddle.no_grad():
        paddle.assign(contents, tensor)


def _trained(results: _Results, state: Capture) -> Iterator[tuple[Write, Build]]:
    """What each run does to gradients and schedulers."""
    for write, symbol in changes_of(state.steps):
        yield write, results.take(symbol)


def _divided(results: _Results, containers: dict[int, Any]) -> Iterator[tuple[Write, Build]]:
    """What each run fills lists and dicts with that are state and have become something else."""
    arguments = {id(container) for container in containers.values()}
    for root, form in list(results.grown.values()):
        record = results.watch.holds(root)
        if record is None or id(root) in arguments:
            continue
        if not _only_added(form, record):  # the program relies on what was in it
            results.watch.filled.discard(record.path)
        yield _fill, _filled(record, _refilled(results, form, record))


def _filled(record: Record, build: Build) -> Build:
    return lambda run: (record.holder(), *build(run))


def _fill(run: Run, found: tuple[Any, bool, Any]) -> None:
    target, added, contents = found
    if isinstance(target, list) and added:
        target.extend(contents)
    elif isinstance(target, CONTAINERS):
        refill(target, contents)


def _only_added(form: Any, record: Record) -> bool:
    if isinstance(form, Either):
        return _only_added(form.true, record) and _only_added(form.false, record)
    return type(form) is list and Change(record, None, form, record.before).added


def _refilled(results: _Results, form: Any, record: Record) -> Build:
    """Whether items are added, and those or all items, for a list that has become ``form``."""
    if isinstance(form, Either):
        where = results.output(form.flag)
        true = _refilled(results, form.true, record)
        false = _refilled(results, form.false, record)
        return lambda run: (true if bool(run.outputs[where]) else false)(run)
    added = _only_added(form, record)
    items = form[len(record.before) :] if added else form
    build = _become(results, items, items if form is record.scope else None)
    return lambda run: (added, build(run))


def _state(results: _Results, changes: list[Change]) -> Iterator[tuple[Write, Build]]:
    """What each run changes outside of the arguments."""
    for change in changes:
        if change.whole and id(change.record.scope) in results.grown:
            continue  # what it has become fills it
        if change.whole:
            yield _changer(change), _with_target(change, results.take(change.contents))
        else:
            yield _maker(change), results.take(change.value)


def _maker(change: Change) -> Write:
    return lambda run, value: change.make(value)


def _changer(change: Change) -> Write:
    return lambda run, found: change.make(*found)


def _with_target(change: Change, build: Build) -> Build:
    return lambda run: (build(run), change.target())


@contextlib.contextmanager
def _attributes_as_values() -> Iterator[None]:
    """While a program is captured, a layer's attribute can hold what stands for a value.

    Paddle's own ``Layer.__setattr__`` would write the new value into the buffer that is there.
    """
    layer = paddle.nn.Layer
    original = layer.__setattr__

    def assign(self: Any, name: str, value: Any) -> None:
        if current() is None or not is_symbol(value) or name in self._parameters:
            original(self, name, value)
        elif isinstance(getattr(type(self), name, None), property):
            raise error_here(
                UnsupportedInGraphError,
                f"a tensor is assigned to {name!r}, a property of a layer, of which Paddle makes "
                "a buffer as well",
                f"write a method such as set_{name}(value) in place of the setter",
            )
        else:
            fields = self.__dict__
            home = fields["_buffers"] if name in fields.get("_buffers", ()) else fields
            home[name] = value

    layer.__setattr__ = assign
    try:
        yield
    finally:
        layer.__setattr__ = original


def _check_opaque(watch: Watch, arguments: Watch, function: Callable[..., Any]) -> None:
    """Refuse a function that changes what no run of a program can change.

    Raises:
        UnsupportedInGraphError: (D2S205) it writes into an array of NumPy, asks an iterator for
            its next item, and the like.
    """
    found = [*watch.opaque.changed(), *arguments.opaque.changed()]
    if not found:
        return
    thing, path = found[0]
    code = getattr(inspect.unwrap(function), "__code__", None)
    raise UnsupportedInGraphError(
        f"the function changes {path!r}, of type {type(thing).__name__!r}, which a run of its "
        "program would not do",
        cure="keep it in a tensor, a list, a dict or an attribute, or change it outside of the "
        "converted function",
        file=None if code is None else code.co_filename,
        line=None if code is None else code.co_firstlineno,
    )


def _check_leaks(main: Any) -> None:
    """Refuse a program in which a value of a branch or loop body is used outside of it."""
    found = bridge.misplaced(main)
    if found is None:
        return
    file, line = user_line(bridge.callstack(found[0]))
    raise LeakedValueError(
        "a tensor that is made inside a branch or static loop is kept in an object and used "
        "outside of it",
        cure="hand it over through a local variable, or through an attribute or item that the "
        "branch or loop assigns by name",
        file=file,
        line=line,
    )


def propagate_numbers(operands: tuple[Any, ...], name: str, result: Any) -> Any:
    """Arithmetic among Python numbers gives a Python number: ``i + 1``, ``i < n``."""
    kinds = [number_kind(operand) for operand in operands]
    if name in ("__floordiv__", "__rfloordiv__") and len(set(kinds)) == 2 and None in kinds:
        # In dygraph Paddle gives a 0-D tensor over a number the shape [1].
        return paddle.reshape(result, [1]) if not list(result.shape) else result
    if not bridge.is_value(result) or any(kind is None for kind in kinds):
        return result
    if name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        return mark_number(result, bool)
    if name in ("__truediv__", "__rtruediv__") and float not in kinds:
        left, right = (paddle.cast(as_value(operand), "float64") for operand in operands)
        return mark_number(left / right if name == "__truediv__" else right / left, float)
    dtype = str(result.dtype)
    kind = bool if "bool" in dtype else float if "float" in dtype else int
    return mark_number(result, kind)


def _inputs(call: Call, state: Capture) -> list[Any]:
    taken: set[str] = set()
    inputs = []
    for index, leaf in enumerate(call.leaves):
        value = paddle.static.data(_input_name(leaf, index, taken), list(leaf.shape), leaf.dtype)
        value.stop_gradient = leaf.stop_gradient or not state.gradients
        inputs.append(value)
        state.roots[value.id] = (value, index)
    return inputs


def _updates(state: Capture, main: Any, results: _Results) -> list[tuple[int, int]]:
    """Inputs that were changed in place, with the outputs that hold their new values."""
    found = []
    top = main.global_block()
    inside = {result.id for operation in top.ops for result in operation.results()}
    for index, value in state.written.items():
        if value.id not in inside:
            raise InplaceError(
                "an argument is changed in place inside a branch or loop, and not read afterwards",
                cure="return the changed tensor, and change the argument in the caller",
            )
        if index >= 0:
            found.append((index, results.output(value)))
    return found
