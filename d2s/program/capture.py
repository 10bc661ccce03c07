"""From a function and a call to a captured program.

The converted function runs once under a program guard.  What it returns is taken apart into the
program's outputs and a function that rebuilds the result from the run's tensors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import (
    InplaceError,
    LeakedValueError,
    NotStaticError,
    UnsupportedInGraphError,
)
from d2s.operators.calls import call as converted_of
from d2s.operators.context import Capture, capture_into, error_here
from d2s.operators.effects import BlockLeft, HostText
from d2s.operators.either import Either, bound
from d2s.operators.lists import GrowingList
from d2s.operators.values import adapt_operand, mark_number, number_kind, refuse
from d2s.program.signature import Call, TensorLeaf
from d2s.program.state import Place, Watch
from d2s.program.structure import scan
from d2s.program.views import check_views

capture_lock: Final = threading.RLock()
"""Paddle's static mode is a switch of the whole process: one capture at a time."""

_broken_programs: Final[list[Any]] = []

_RANDOM: Final = (
    "dropout", "uniform", "gaussian", "randint", "randperm", "bernoulli", "multinomial",
    "poisson", "exponential", "binomial", "gamma", "rrelu", "gumbel",
)  # fmt: skip


@dataclass
class Captured:
    """A captured program and how to call it.

    Attributes:
        program: the Paddle program.
        inputs: its input values, in the order of the call's tensors.
        outputs: its output values, each once.
        parameters: dygraph tensors that it reads, and the values that stand for them.
        rebuild: the result, from the tensors of a run: outputs, then inputs, then parameters.
        writes: attributes that each run binds: the place and the position of its output.
        updates: inputs that the function changes in place, with the position of the new value.
        hosts: host functions, kept alive.
        has_loop: a ``while`` is in it, so gradients need the joint program.
        has_random: an operation draws random numbers.
        ambiguous: names of values whose structure depends on a tensor.
        guards: Python values outside of the arguments that the capture has read.
        homes: for parameters whose place is known, index and place: each run reads it anew.
    """

    program: Any
    inputs: list[Any]
    outputs: list[Any]
    parameters: tuple[list[Any], list[Any]]
    rebuild: Callable[[list[Any]], Any]
    writes: list[tuple[Place, int]]
    updates: list[tuple[int, int]]
    hosts: list[Any]
    has_loop: bool
    has_random: bool
    leaves: list[TensorLeaf] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    guards: list[Place] = field(default_factory=list)
    homes: list[tuple[int, Place]] = field(default_factory=list)


def _unknown(name: str) -> Callable[..., Any]:
    """A method for values that asks for what only the run knows."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error_here(
            NotStaticError,
            f"{name}() asks for the values of a tensor while the program is being captured",
            "compute with the tensor itself, with functions of Paddle",
        )

    return method


def _refusals() -> dict[str, Callable[..., Any]]:
    plain = "its value decides what code that stays Python does, which only the run knows"
    return {
        "__bool__": refuse(
            f"a tensor is used as a truth value, but {plain}",
            "use if, while, and, or, not of a converted function, or bool(tensor)",
        ),
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
        "__iter__": _iterate,
        "__len__": _length,
        "__contains__": refuse(
            f"'in' asks for the truth of tensors, but {plain}",
            "use (tensor == item).any()",
        ),
    }


def _adapted(mine: Any, other: Any) -> Any:
    """``other`` as a partner of ``mine`` in an expression."""
    return adapt_operand(mine, other.get() if isinstance(other, Either) else other)


def _refuse_format(self: Any, spec: str) -> str:
    raise NotStaticError(
        "a tensor is formatted into text while the program is being captured",
        cure="use an f-string in print, assert or raise",
    )


def _length(self: Any) -> int:
    if not list(self.shape):
        raise TypeError("len() of a 0-D tensor")
    if self.shape[0] < 0:
        raise UnsupportedInGraphError(
            "the length of a tensor with an open first dimension is asked for by Python code",
            cure="call len() in a converted function, or use x.shape[0]",
        )
    return int(self.shape[0])


def _iterate(self: Any) -> Any:
    if not list(self.shape):
        raise TypeError("iteration over a 0-D tensor")
    return iter([self[index] for index in range(_length(self))])


def _input_name(leaf: TensorLeaf, index: int, taken: set[str]) -> str:
    wish = leaf.name or "".join(c if c.isalnum() or c == "_" else "_" for c in leaf.path).strip("_")
    name = wish or f"input_{index}"
    while name in taken:
        name = f"{name}_{index}"
    taken.add(name)
    return name


class _Results:
    """Takes a returned object apart into outputs of the program."""

    def __init__(self, inputs: list[Any], state: Capture) -> None:
        self.sometimes = state.sometimes
        self.inputs = {value.id: index for index, value in enumerate(inputs)}
        self.outputs: list[Any] = []
        self.positions: dict[int, int] = {}
        self.kept: list[Any] = []
        self.ambiguous: list[str] = []

    def output(self, value: Any) -> int:
        """The position of ``value`` among the outputs."""
        known = self.positions.get(value.id)
        if known is None:
            copy = paddle.assign(value)
            copy.stop_gradient = value.stop_gradient
            known = self.positions[value.id] = len(self.outputs)
            self.outputs.append(copy)
            self.kept.append(value)
        return known

    def take(self, thing: Any) -> Callable[[list[Any], list[Any]], Any]:
        """A function from the run's outputs and inputs to ``thing`` with real tensors."""
        pieces: list[Callable[[list[Any], list[Any]], Any]] = []

        def leaf(item: Any, path: str) -> int | None:
            piece = self.piece(item)
            if piece is None:
                return None
            pieces.append(piece)
            return len(pieces) - 1

        rebuild = scan(thing, leaf)
        return lambda outputs, inputs: rebuild([piece(outputs, inputs) for piece in pieces])

    def piece(self, item: Any) -> Callable[[list[Any], list[Any]], Any] | None:
        if isinstance(item, Either):
            self.ambiguous.append(item.name)
            flag = self.output(item.flag)
            true, false = self.take(item.true), self.take(item.false)
            return lambda outputs, inputs: (true if bool(outputs[flag]) else false)(outputs, inputs)
        if isinstance(item, GrowingList):
            return self.growing(item)
        if isinstance(item, HostText):
            str(item)  # raises: text with tensors cannot leave the program
        if not bridge.is_value(item):
            return None
        if item.id in self.inputs:
            position = self.inputs[item.id]
            return lambda outputs, inputs: inputs[position]
        kind = number_kind(item)
        position = self.output(item)
        if kind is not None:
            return lambda outputs, inputs: kind(outputs[position].item())
        if item.id in self.sometimes:
            _, flag, number = self.sometimes[item.id]
            where = self.output(flag)
            return lambda outputs, inputs: (
                number(outputs[position].item()) if bool(outputs[where]) else outputs[position]
            )
        return lambda outputs, inputs: outputs[position]

    def growing(self, item: GrowingList) -> Callable[[list[Any], list[Any]], Any]:
        if item.element is None:
            return lambda outputs, inputs: []
        element = item.element
        stacks = [self.output(item.stacked(leaf)) for leaf in range(len(element.leaves))]
        kinds = [leaf[2] for leaf in element.leaves]

        def build(outputs: list[Any], inputs: list[Any]) -> list[Any]:
            columns = []
            for position, kind in zip(stacks, kinds, strict=True):
                stacked = outputs[position]
                rows = paddle.unbind(stacked) if stacked.shape[0] else []
                columns.append(rows if kind is None else [kind(row.item()) for row in rows])
            return [element.build_host(list(row)) for row in zip(*columns, strict=True)]

        return build


def capture(
    function: Callable[..., Any],
    call: Call,
    *,
    roots: list[Any],
    gradients: bool,
    export: bool = False,
) -> Captured:
    """Run ``function`` once into a fresh program.

    Args:
        function: the user's function, ``self`` bound.
        call: the call that it is captured for.
        roots: objects whose attributes the function may assign.
        gradients: the program is to be differentiated.
        export: the program is to be saved: effects become Paddle's own operations.
    """
    with capture_lock, bridge.no_collection():
        made: Captured = _capture(function, call, roots, gradients, export)
        return made


@bridge.switch_to_static_graph  # type: ignore[untyped-decorator]
def _capture(
    function: Callable[..., Any], call: Call, roots: list[Any], gradients: bool, export: bool
) -> Captured:
    main = paddle.static.Program()
    main.random_seed = paddle.static.default_main_program().random_seed
    state = Capture(export=export, gradients=gradients)
    watch = Watch()
    for root in roots:
        watch.add(root)
    state.on_call = watch.function
    try:
        with (
            bridge.tracing(main) as context,
            bridge.tensors_as_values(_adapted, propagate_numbers, _refusals()),
            capture_into(state),
        ):
            inputs = _inputs(call, state)
            args, kwargs = call.rebuild(inputs)
            try:
                result = bound(converted_of(function)(*args, **kwargs))
            except BlockLeft:  # every path raises; nothing is returned
                result = None
            results = _Results(inputs, state)
            build = results.take(result)
            writes = [(place, results.output(value)) for place, value in watch.changed()]
            updates = _updates(state, main, results)
    except BaseException:
        watch.undo()
        raise
    _broken_programs.append(main)  # a program with a leaked value aborts when it is freed
    _check_leaks(main)
    _broken_programs.pop()
    check_views(main, set(state.copies))
    parameters = context.get_params_with_values()
    names = [operation.name() for operation in bridge.operations(main)]
    count = len(results.outputs)

    def rebuild(tensors: list[Any]) -> Any:
        return build(tensors[:count], tensors[count:])

    return Captured(
        main,
        inputs,
        results.outputs,
        (list(parameters[0]), list(parameters[1])),
        rebuild,
        writes,
        updates,
        state.hosts,
        "pd_op.while" in names,
        any(word in name for name in names for word in _RANDOM),
        call.leaves,
        results.ambiguous,
        list(watch.guards.values()),
        watch.places_of(list(parameters[0])),
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
    if not bridge.is_value(result) or any(kind is None for kind in kinds):
        return result
    if name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
        return mark_number(result, bool)
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
        found.append((index, results.output(value)))
    return found
