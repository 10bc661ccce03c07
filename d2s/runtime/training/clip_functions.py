"""Clipping of gradients: the ``grad_clip`` of an optimizer, ``clip_grad_norm_``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import paddle

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.control_flow.cond import choose
from d2s.runtime.trace import error_here
from d2s.runtime.training.leaves import Leaf
from d2s.runtime.training.steps import Steps, steps
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import is_tensor

Given: TypeAlias = paddle.Tensor | Iterable[paddle.Tensor]
"""One parameter, or several."""


def clip_grad_norm_(
    parameters: Given,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> paddle.Tensor:
    """``paddle.nn.utils.clip_grad_norm_``, with Paddle's own arithmetic."""
    state = steps()
    if state is None:
        return paddle.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)
    if error_if_nonfinite:
        raise error_here(
            UnsupportedInGraphError,
            "clip_grad_norm_ with error_if_nonfinite asks for the norm while the program is being "
            "captured",
            "leave it off and assert that the norm that it returns is finite",
        )
    leaves = _leaves_of(state, parameters)
    return _with_gradients(state, leaves, lambda: _clipped(state, leaves, max_norm, norm_type))


def _clipped(state: Steps, leaves: list[Leaf], max_norm: float, norm_type: float) -> paddle.Tensor:
    with paddle.no_grad():
        found = [(leaf, state.gradients.read(leaf)) for leaf in leaves]
        pairs = [(leaf, gradient) for leaf, gradient in found if gradient is not None]
        if not pairs:
            return paddle.full([], 0.0)
        if norm_type == float("inf"):
            norms = [gradient.abs().max() for _, gradient in pairs]
            total = norms[0] if len(norms) == 1 else paddle.max(paddle.stack(norms))
        else:
            each = [paddle.linalg.norm(gradient, norm_type) for _, gradient in pairs]
            total = paddle.linalg.norm(paddle.stack(each), norm_type)
        factor = paddle.clip(float(max_norm) / (total + 1e-6), max=1.0)
        for leaf, gradient in pairs:
            state.gradients.assign(leaf, gradient * factor)
    return total


def clip_grad_value_(parameters: Given, clip_value: float) -> None:
    """``paddle.nn.utils.clip_grad_value_``."""
    state = steps()
    if state is None:
        paddle.nn.utils.clip_grad_value_(parameters, clip_value)
        return
    leaves, bound = _leaves_of(state, parameters), float(clip_value)

    def clip() -> None:
        with paddle.no_grad():
            for leaf in leaves:
                gradient = state.gradients.read(leaf)
                if gradient is not None:
                    state.gradients.assign(leaf, paddle.clip(gradient, min=-bound, max=bound))

    _with_gradients(state, leaves, clip)


def _with_gradients(state: Steps, leaves: list[Leaf], clip: Callable[[], Any]) -> Any:
    """``clip()``, on each run with the gradients that it has."""
    for gradient in map(state.gradients.read, leaves):
        if isinstance(gradient, Choice):
            again = functools.partial(_with_gradients, state, leaves, clip)
            return choose(gradient.flag, again, again, ())
    return clip()


def _leaves_of(state: Steps, parameters: Given) -> list[Leaf]:
    listed = [parameters] if is_tensor(parameters) else list(parameters)
    found = [state.leaves.of(tensor) for tensor in listed]
    return [leaf for leaf in found if leaf is not None]
