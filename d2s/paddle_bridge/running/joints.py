"""Programs with loops and their gradients: as one program, or as two with lists between them.

Paddle's split into forward and backward loses what the trips of a loop save (decision 4).  So such
a program is differentiated as a whole.  Either all of it runs as the backward, which computes the
forward once more; or it is cut in two (``gradients/halves``).

Dygraph keeps the tensors that a gradient reads, not their contents, which may have been written
since by an optimizer or ``set_value``.  So the forward is computed once more from copies of what
the call was given, and gradients that read a tensor of it by themselves read the tensor::

    w = data("w")                              w = data("w")                   # the copy
    while(...) { y = tanh(x @ w) }             while(...) { y = tanh(x @ w) }
    seed = data("d2s_gradient_0")         ->   seed = data("d2s_gradient_0")
                                               now = data("d2s_now_0")         # the tensor
    while(...) { ... matmul_grad(x, w, g) }    while(...) { ... matmul_grad(x, now, g) }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import paddle

from d2s.paddle_bridge.capturing.leaves import is_copy
from d2s.paddle_bridge.gradients.current import reading_memory
from d2s.paddle_bridge.gradients.dependence import reached_inputs
from d2s.paddle_bridge.gradients.halves import cut, read_by, read_instead
from d2s.paddle_bridge.gradients.repairs import differentiate, mark_inner_loops
from d2s.paddle_bridge.names import PartialProgramLayer, pir, switch_to_static_graph
from d2s.paddle_bridge.preparing.passes import copy_into_loops
from d2s.paddle_bridge.walks import erase_unread, operations


class Layer(PartialProgramLayer):  # type: ignore[misc]
    """Paddle's split of a program of ours; its class tells it from those of Paddle's own.

    Attributes:
        wanted: for each output that may get a gradient whether it does; ``None``: all do.
    """

    wanted: tuple[bool, ...] | None = None

    def _append_backward(self, train_runnable_program: Any) -> Any:
        if self.wanted is not None:
            let_stop(train_runnable_program.out_values, self.wanted)
        with reading_memory(train_runnable_program.program):
            return super()._append_backward(train_runnable_program)


def let_stop(outputs: list[Any], wanted: tuple[bool, ...]) -> list[Any]:
    """Let the outputs stop gradients that get none; give those that do."""
    open_ = [value for value in outputs if not value.stop_gradient]
    for value, gets in zip(open_, wanted, strict=True):
        value.stop_gradient = not gets
    return [value for value, gets in zip(open_, wanted, strict=True) if gets]


@dataclass
class _Whole:
    """A copy of a program, with its gradients.

    Attributes:
        inputs, parameters, outputs: its values.
        seeds: those that stand for the gradients of the outputs that get one.
        results: the gradients.
        found: of which input, or then parameter, each of them is.
        end: the id of the last operation of the forward.
    """

    program: Any
    inputs: list[Any]
    parameters: list[Any]
    outputs: list[Any]
    seeds: list[Any]
    results: list[Any]
    found: list[int]
    end: int


def _differentiated(
    layer: Layer, outputs: list[Any], wanted: tuple[bool, ...], *, effects: bool
) -> _Whole:
    """A copy of the program of ``layer`` with the gradients of its outputs.

    Args:
        layer: of the captured program.
        outputs: its values in that program.
        wanted: for each of them that may get a gradient whether it does.
        effects: what it does on the host is in the copy, too.
    """
    copied = layer.origin_runnable_program.clone()
    program = copied.program
    inputs, parameters = list(copied.x_values), list(copied.param_values)
    own = list(copied.out_values)
    for value, original in zip(own, outputs, strict=True):
        value.stop_gradient = original.stop_gradient
    if not effects:
        erase_unread(program, "py_op.d2s_")
    copy_into_loops(program)
    mark_inner_loops(program)
    end = program.global_block().ops[-1].id()
    with paddle.static.program_guard(program):
        targets = let_stop(own, wanted)
        seeds = [
            paddle.static.data(f"d2s_gradient_{index}", value.shape, value.dtype)
            for index, value in enumerate(targets)
        ]
        reached = frozenset().union(*reached_inputs(program, [*inputs, *parameters], targets))
        with reading_memory(program):
            made = differentiate(targets, [*inputs, *parameters], seeds)
        # A loop has a gradient, of zeros, for all that it reads.
        found = [at for at, value in enumerate(made) if value is not None and at in reached]
        results = [paddle.assign(made[index]) for index in found]
    return _Whole(program, inputs, parameters, own, seeds, results, found, end)


@dataclass(frozen=True)
class Again:
    """The program that computes the forward once more, and its gradients.

    Attributes:
        layer: it; its inputs are those of the forward, the gradients of its outputs, and ``now``.
        found: which input, or then parameter, each of its results is the gradient of.
        now: which inputs, and parameters counted on, its gradients read as they have become.
    """

    layer: Layer
    found: list[int]
    now: list[int]


@switch_to_static_graph  # type: ignore[untyped-decorator]
def joint(layer: Layer, outputs: list[Any], tensors: list[Any], wanted: tuple[bool, ...]) -> Again:
    """The whole as one program.

    Args:
        layer, outputs, wanted: see :func:`_differentiated`.
        tensors: what stands behind its parameters.
    """
    whole = _differentiated(layer, outputs, wanted, effects=False)
    now = _read_as_they_are(whole)
    inputs = [*whole.inputs, *whole.seeds, *now.values()]
    made = Layer(whole.program, inputs, whole.results, (tensors, whole.parameters))
    return Again(made, whole.found, [*now])


def _read_as_they_are(whole: _Whole) -> dict[int, Any]:
    """Let gradients read other values for inputs and parameters; those, by their positions."""
    block = whole.program.global_block()
    first = next(at for at, each in enumerate(block.ops) if each.id() == whole.end) + 1
    behind = block.ops[first:]
    given = {value.id: at for at, value in enumerate((*whole.inputs, *whole.parameters))}
    read = {value.id: _origin(value) for value in read_by(behind)}
    saved = [(_origin(value), taken) for value, taken in _saved(whole.program)]
    values = {value.id: value for value in (*read.values(), *(value for value, _ in saved))}
    with paddle.static.program_guard(whole.program):
        paddle.pir.set_insertion_point(behind[0])
        others = {
            number: paddle.static.data(f"d2s_now_{given[number]}", value.shape, value.dtype)
            for number, value in values.items()
            if number in given
        }
        pir.set_insertion_point_to_block_end(block)
    read_instead(behind, {at: others[value.id] for at, value in read.items() if value.id in others})
    for value, taken in saved:
        if value.id in others:
            taken.replace_all_uses_with(others[value.id])
    return {given[number]: value for number, value in others.items()}


def _origin(value: Any) -> Any:
    """What ``value`` is a copy of that was made for the sake of gradients."""
    maker = value.get_defining_op()
    while is_copy(maker):
        value = maker.operand_source(0)
        maker = value.get_defining_op()
    return value


def _saved(program: Any) -> Iterator[tuple[Any, Any]]:
    """What blocks save for their gradients, and what stands for it there."""
    for stack in [each for each in operations(program) if each.name() == "cf.stack_create"]:
        for push in stack.result(1).all_used_ops():
            for pop in stack.result(2).all_used_ops():
                if push.name() == "cf.tuple_push" and pop.name() == "cf.tuple_pop":
                    yield from zip(push.operands_source()[1:], pop.results(), strict=True)


@dataclass(frozen=True)
class Two:
    """A forward that keeps, and its backward.

    Attributes:
        forward, backward: the programs.
        found: which input, or then parameter, each result of the backward is the gradient of.
        lists: how many lists a run needs.
    """

    forward: Layer
    backward: Layer
    found: list[int]
    lists: int


@switch_to_static_graph  # type: ignore[untyped-decorator]
def two(
    layer: Layer, outputs: list[Any], tensors: list[Any], wanted: tuple[bool, ...]
) -> Two | None:
    """The same as two programs; ``None`` where no list can keep what goes from one to the other."""
    whole = _differentiated(layer, outputs, wanted, effects=True)
    halves = cut(whole.program, whole.end, whole.seeds)
    if halves is None:
        return None
    there, back = halves.forward, halves.backward
    forward, backward = (
        Layer(
            half.program,
            [*map(half.value, inputs)],
            [*map(half.value, results)],
            (tensors, [*map(half.value, whole.parameters)]),
        )
        for half, inputs, results in (
            (there, whole.inputs, whole.outputs),
            (back, [*whole.inputs, *whole.seeds], whole.results),
        )
    )
    return Two(forward, backward, whole.found, halves.lists)
