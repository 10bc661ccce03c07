"""What tensors have for training: ``.grad``, ``.backward()``, ``.stop_gradient``, ``.is_leaf``.

Those of dygraph tensors look whether a program is being captured; values get theirs of
:data:`VALUE_METHODS`.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import error_here
from d2s.runtime.training.gradients import GRADIENT, real_gradient
from d2s.runtime.training.parameters import FLAG
from d2s.runtime.training.steps import steps, steps_here

Tensor: TypeAlias = paddle.Tensor | bridge.Value


def _get_gradient(self: Tensor) -> Tensor | None:
    state = steps_here()
    if state is None:
        return real_gradient(self)
    if bridge.is_eager(self):
        asked = id(self) in state.leaves.all  # the function may have set that of a frozen one
        if not asked and (self.stop_gradient or not self.is_leaf):
            return real_gradient(self)
        return state.gradients.show(state.leaves.of_tensor(self))
    leaf = state.leaves.of_value(self)
    if leaf is None:
        state.leaves.check_joined(self)
        return None
    return state.gradients.show(leaf)


def _set_gradient(self: Tensor, gradient: object) -> None:
    state = steps_here()
    if state is None:
        GRADIENT.__set__(self, gradient)
        return
    leaf = state.leaves.of(self)
    if leaf is None and gradient is None:
        return  # it has none
    if leaf is None:
        raise error_here(
            UnsupportedInGraphError,
            "the gradient of a tensor is set that the function has computed itself",
            "keep it in a variable of its own",
        )
    state.gradients.assign(leaf, gradient)


def _set_flag(self: paddle.Tensor, stops: bool) -> None:
    state = steps_here()
    if state is None or self.stop_gradient == stops:
        FLAG.__set__(self, stops)
    else:
        state.parameters.set_flag(self, bool(stops))


_REAL_CLEAR: Final = bridge.EagerTensor.clear_gradient


def _clear_gradient(self: Tensor, set_to_zero: bool = True) -> None:
    state = steps_here()
    if state is None:
        _REAL_CLEAR(self, set_to_zero)
        return
    leaf = state.leaves.of(self)
    if leaf is not None:
        state.gradients.clear(leaf, set_to_zero)


def _backward(
    self: bridge.Value,
    grad_tensor: object = None,
    retain_graph: bool = False,
    **_: object,
) -> None:
    state = steps()
    assert state is not None
    state.gradients.backward([self], [grad_tensor], retain=bool(retain_graph))


def _is_leaf(self: bridge.Value) -> bool:
    state = steps()
    return bool(self.stop_gradient) or (state is not None and state.leaves.is_leaf(self))


def _retain(self: bridge.Value) -> None:
    state = steps()
    assert state is not None
    state.leaves.retain(self)


_GRADIENTS: Final[dict[str, Any]] = {
    "grad": property(_get_gradient, _set_gradient),
    "grad_": property(_get_gradient, _set_gradient),
    "clear_gradient": _clear_gradient,
    "clear_grad": _clear_gradient,
}

TENSOR_ATTRIBUTES: Final[dict[str, Any]] = {
    **_GRADIENTS,
    "stop_gradient": property(FLAG.__get__, _set_flag),
}
"""What a dygraph tensor has in the place of Paddle's while a program is captured."""

VALUE_METHODS: Final[dict[str, Any]] = {
    **_GRADIENTS,
    "backward": _backward,
    "retain_grads": _retain,
    "is_leaf": property(_is_leaf),
}
"""What a value of a program has for training, as a dygraph tensor has."""
