"""Functions of Paddle for training: ``paddle.grad``, ``paddle.autograd.backward``, ``assign``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.saved import check_overwritten
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.training.gradients import constant
from d2s.runtime.training.steps import steps
from d2s.runtime.values.tensors import as_value, is_tensor
from d2s.runtime.values.tree import is_sequence

Given: TypeAlias = paddle.Tensor | Sequence[paddle.Tensor | None]
"""A tensor, or several."""


def backward_of(
    tensors: Given, grad_tensors: Given | None = None, retain_graph: bool = False
) -> None:
    """``paddle.autograd.backward``."""
    state = steps()
    if state is None:
        paddle.autograd.backward(tensors, grad_tensors, retain_graph)
        return
    seeds = None if grad_tensors is None else _listed(grad_tensors)
    outputs = [as_value(output) for output in _listed(tensors)]
    state.gradients.backward(outputs, seeds, retain=retain_graph)


@dataclass(frozen=True)
class _Asked:
    """The arguments of ``paddle.grad``."""

    outputs: Given
    inputs: Given
    grad_outputs: Given | None = None
    retain_graph: bool | None = None
    create_graph: bool = False
    only_inputs: bool = True
    allow_unused: bool = False
    no_grad_vars: Given | None = None
    dump_backward_graph_path: str | None = None  # for debugging Paddle


def grad_(*arguments: Any, **options: Any) -> list[bridge.Value | None]:
    """``paddle.grad``, with our gradients of branches and loops.

    Without ``create_graph`` its results are constants, as in dygraph.
    """
    state = steps()
    if state is None:
        found: list[bridge.Value | None] = paddle.grad(*arguments, **options)
        return found
    asked = _Asked(*arguments, **options)
    create_graph = asked.create_graph
    given = [as_value(each) for each in _listed(asked.outputs)]
    wanted = [as_value(each) for each in _listed(asked.inputs)]
    _check_selected(given, wanted, state.gradients.ends_at)
    state.leaves.check_parted(given, wanted)
    check_overwritten(given, state.gradients.ends_at)
    seeds = None
    if asked.grad_outputs is not None:
        seeds = [
            bridge.filled_like(output, 1.0) if seed is None else as_value(seed)
            for output, seed in zip(given, _listed(asked.grad_outputs), strict=True)
        ]
    if asked.no_grad_vars is not None:
        fixed = [as_value(each) for each in _listed(asked.no_grad_vars)]
        made = list(paddle.grad(given, wanted, seeds, None, create_graph, True, True, fixed))
    else:
        made = state.gradients.of(given, wanted, seeds, kept=create_graph)
    state.record.capture.asked.update(each.id for each in wanted)
    if any(each is None for each in made) and state.record.capture.continues:
        raise error_here(
            UnsupportedInGraphError,
            "paddle.grad() asks for a gradient that may go through how an argument was computed",
            "compute it inside of the function, or pass a .detach() of it",
        )
    if not asked.allow_unused and any(each is None for each in made):
        missing = next(at for at, each in enumerate(made) if each is None)
        raise ValueError(
            f"(InvalidArgument) The {missing}-th input does not appear in the backward graph. "
            "Please check the input tensor or set allow_unused=True to get None result.\n"
            "  [Hint: Expected allow_unused == true, but received allow_unused:0 != true:1.] "
            "(at /paddle/paddle/fluid/eager/general_grad.h:474)\n"
        )
    if not create_graph:
        made = [None if each is None else constant(each) for each in made]
    return made


def _check_selected(
    outputs: list[bridge.Value],
    wanted: list[bridge.Value],
    ends: Callable[[bridge.Value], bool],
) -> None:
    """Refuse a gradient by one of several tensors that the outputs have used by themselves, too.

    ``w`` may be one value where the outputs are computed and another one where it is asked for,
    each selected out of the same tensors: the gradient would be a part of dygraph's.

    Args:
        outputs: what is differentiated.
        wanted: by what.
        ends: whether no gradient goes on from a value.

    Raises:
        UnsupportedInGraphError: (D2S205) they may have.
    """
    selected = open_trace().notes.selected
    for value in wanted if selected else ():
        maker = value.get_defining_op()
        known = selected.get(value.id)
        if known is None and (maker is None or maker.name() != "pd_op.where"):
            continue
        items = () if known is None else known[1]
        others = {*selected, *(item.id for item in items)} - {value.id}
        if not others.isdisjoint(_beside(outputs, value, ends)):
            raise error_here(
                UnsupportedInGraphError,
                "paddle.grad() asks for the gradient of a tensor that is one of several, as a "
                "branch or loop has decided, and what is differentiated may have used these, too",
                "let it be one tensor before it is used: w = w.detach(), then "
                "w.stop_gradient = False",
            )


def _beside(
    outputs: list[bridge.Value], value: bridge.Value, ends: Callable[[bridge.Value], bool]
) -> set[int]:
    """What the gradients of outputs go through that do not go through a value."""
    return bridge.gradients_go_to(outputs, lambda each: each.id == value.id or ends(each))


def _listed(tensors: Given) -> list[bridge.Value | None]:
    return list(tensors) if is_sequence(tensors) else [tensors]


def writes(output: object) -> bool:
    """Whether ``paddle.assign`` to ``output`` writes into a parameter of the program."""
    state = steps()
    return state is not None and state.parameters.keeps(output)


def write(x: object, output: paddle.Tensor) -> paddle.Tensor:
    """``paddle.assign(x, output)`` into a parameter."""
    state = steps()
    assert state is not None
    state.parameters.overwrite(output, as_value(x) if is_tensor(x) else paddle.assign(x))
    return output
