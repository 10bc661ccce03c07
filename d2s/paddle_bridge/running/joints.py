"""Programs with loops and their gradients: as one program, or as two with lists between them.

Paddle's split into forward and backward loses what the trips of a loop save (decision 4).  So such
a program is differentiated as a whole.  Either all of it runs as the backward, which computes the
forward once more; or it is cut in two (``gradients/halves``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import paddle

from d2s.paddle_bridge.gradients.halves import cut
from d2s.paddle_bridge.gradients.repairs import differentiate, mark_inner_loops
from d2s.paddle_bridge.names import PartialProgramLayer, switch_to_static_graph
from d2s.paddle_bridge.preparing.passes import copy_into_loops
from d2s.paddle_bridge.walks import erase_unread


class Layer(PartialProgramLayer):  # type: ignore[misc]
    """Paddle's split of a program of ours; its class tells it from those of Paddle's own.

    Attributes:
        wanted: for each output that may get a gradient whether it does; ``None``: all do.
    """

    wanted: tuple[bool, ...] | None = None

    def _append_backward(self, train_runnable_program: Any) -> Any:
        if self.wanted is not None:
            let_stop(train_runnable_program.out_values, self.wanted)
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
        made = differentiate(targets, [*inputs, *parameters], seeds)
        found = [index for index, value in enumerate(made) if value is not None]
        results = [paddle.assign(made[index]) for index in found]
    return _Whole(program, inputs, parameters, own, seeds, results, found, end)


@switch_to_static_graph  # type: ignore[untyped-decorator]
def joint(
    layer: Layer, outputs: list[Any], tensors: list[Any], wanted: tuple[bool, ...]
) -> tuple[Layer, list[int]]:
    """The program that computes the forward once more, and its gradients.

    Args:
        layer, outputs, wanted: see :func:`_differentiated`.
        tensors: what stands behind its parameters.

    Returns:
        It, and which input, or then parameter, each of its results is the gradient of.
    """
    whole = _differentiated(layer, outputs, wanted, effects=False)
    inputs = [*whole.inputs, *whole.seeds]
    made = Layer(whole.program, inputs, whole.results, (tensors, whole.parameters))
    return made, whole.found


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
