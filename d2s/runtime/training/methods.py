"""Methods of optimizers, schedulers, scalers and layers while a program is captured."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import paddle
from paddle.optimizer import Optimizer
from paddle.optimizer.lr import LRScheduler

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_paddle
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing import inplace
from d2s.runtime.trace import Capture, error_here
from d2s.runtime.training import schedulers
from d2s.runtime.training.optimizers import Pairs
from d2s.runtime.training.steps import Steps, steps, steps_here
from d2s.runtime.training.tensor_attributes import TENSOR_ATTRIBUTES
from d2s.runtime.values.objects import attribute
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind

Method = Callable[..., Any]


def _instead(action: Callable[..., Any]) -> Callable[[Method], Method]:
    """A method that does ``action(steps, original, self, ...)`` while a program is captured."""

    def made(original: Method) -> Method:
        def method(self: object, *arguments: object, **options: object) -> Any:
            state = steps_here()
            if state is None:
                return original(self, *arguments, **options)
            return action(state, original, self, *arguments, **options)

        method.__name__ = getattr(original, "__name__", method.__name__)
        return method

    return made


def _refused(what: str, cure: str) -> Callable[[Method], Method]:
    def refuse(*_: object, **__: object) -> None:
        raise error_here(UnsupportedInGraphError, what, cure)

    return _instead(refuse)


@_instead
def _scaled(
    state: Steps,
    original: Method,
    scaler: paddle.amp.GradScaler,
    *arguments: object,
    **options: object,
) -> Any:
    """A method of a ``GradScaler``, which scales nothing on a CPU."""
    if not scaler._enable:
        return original(scaler, *arguments, **options)
    raise error_here(
        UnsupportedInGraphError,
        "a GradScaler leaves out the step, and changes its scale, when a gradient is not "
        "finite, which only the run knows",
        "convert the function that computes the loss, and scale, step and update outside",
    )


@_instead
def _set_value(state: Steps, original: Method, parameter: paddle.Tensor, value: object) -> None:
    """``parameter.set_value`` as Paddle's own code calls it: of a layer's ``set_state_dict``."""
    inplace.method(parameter, "set_value")(value)


@_instead
def _load(
    state: Steps, original: Method, layer: paddle.nn.Layer, *arguments: object, **options: object
) -> Any:
    """A layer's ``set_state_dict``, which in a program writes into the scope of an executor."""
    with bridge.layers_as_in_dygraph():
        return original(layer, *arguments, **options)


@_instead
def _assign(
    state: Steps, original: Method, layer: paddle.nn.Layer, name: str, value: object
) -> None:
    """``layer.name = value``: in a program, Paddle knows a parameter by its value alone."""
    if value is True and bridge.is_flag(layer, name) and is_paddle(sys._getframe(2)):
        return  # dygraph notes no call there
    if is_tensor(value) and number_kind(value) is None:
        state.buffers.setdefault((id(layer), name), len(state.buffers))
    known = isinstance(value, bridge.EagerParamBase) and id(value) in bridge.known_tensors()
    original(layer, name, as_value(value) if known else value)


@_instead
def _copy(
    state: Steps, original: Method, parameter: paddle.Tensor, memo: dict[int, Any]
) -> paddle.Tensor:
    """``copy.deepcopy`` of a parameter."""
    made = memo[id(parameter)] = copy.deepcopy(as_value(parameter), memo)
    return made


@_instead
def _step(state: Steps, original: Method, optimizer: Optimizer, *_: object, **__: object) -> None:
    state.optimizers.step(optimizer)


@_instead
def _minimize(
    state: Steps, original: Method, optimizer: Optimizer, *_: object, **__: object
) -> tuple[list[object], Pairs]:
    return [], state.optimizers.step(optimizer)


@_instead
def _rate(state: Steps, original: Method, optimizer: Optimizer) -> bridge.Value:
    return state.optimizers.rate(optimizer)


@_instead
def _set_rate(state: Steps, original: Method, optimizer: Optimizer, value: object) -> None:
    """``optimizer.set_lr``: steps behind it take the new rate, and each run leaves it behind."""
    if isinstance(value, int | float):  # of NumPy, too
        value = float(value)
    if number_kind(value) is None or isinstance(optimizer._learning_rate, LRScheduler):
        with bridge.in_dygraph():  # it says what is wrong
            original(optimizer, value)
        return
    state.optimizers.set_rate(optimizer, value, original.__get__(optimizer))


_OUTSIDE: Final = "do it outside of the converted function"

_OF_OPTIMIZERS: Final[dict[str, Callable[[Method], Method]]] = {
    "step": _step,
    "minimize": _minimize,
    "get_lr": _rate,
    "set_lr": _set_rate,
    "set_lr_scheduler": _refused(
        "the scheduler is set while the program is being captured", _OUTSIDE
    ),
    "apply_gradients": _refused(
        "apply_gradients() is called inside of a converted function", "use step()"
    ),
    "state_dict": _refused(
        "the state of an optimizer is asked for while the program is being captured", _OUTSIDE
    ),
    "set_state_dict": _refused(
        "the state of an optimizer is set while the program is being captured", _OUTSIDE
    ),
}

_OF_LAYERS: Final = ("set_state_dict", "set_dict", "load_dict")

_OF_SCALERS: Final = ("scale", "step", "update", "minimize", "unscale_")


def if_training(function: object, first: object) -> object:
    """``function`` if it is a method that changes parameters or learning rates, else ``None``.

    Args:
        function: what is called.
        first: its first argument, of which it is a method if it is not bound.
    """
    owner = attribute(function, "__self__", first)
    loads = attribute(function, "__name__", "") in _OF_LAYERS
    if isinstance(owner, paddle.nn.Layer) and loads:
        return function
    return function if isinstance(owner, Optimizer | LRScheduler) else None


def _decaying(original: Method) -> Method:
    """The call of a regularizer, which takes values alone in a program."""

    def method(self: object, param: paddle.Tensor, *others: object) -> Any:
        return original(self, param if steps() is None else as_value(param), *others)

    return method


def _classes(module: ModuleType, base: type) -> list[type]:
    found = [member for member in vars(module).values() if isinstance(member, type)]
    return [base, *(kind for kind in found if issubclass(kind, base) and kind is not base)]


def _replacements() -> Iterator[tuple[tuple[Any, str], Any]]:
    for kind in _classes(paddle.optimizer, Optimizer):
        for name, make in _OF_OPTIMIZERS.items():
            if name in vars(kind):
                yield (kind, name), make(vars(kind)[name])
    yield from schedulers.replacements(_classes(paddle.optimizer.lr, LRScheduler))
    for kind in paddle.amp.GradScaler.__mro__:
        for name in _OF_SCALERS:
            if name in vars(kind):
                yield (kind, name), _scaled(vars(kind)[name])
    for kind in (paddle.regularizer.L1Decay, paddle.regularizer.L2Decay):
        yield (kind, "__call__"), _decaying(vars(kind)["__call__"])
    for name in _OF_LAYERS:
        yield (paddle.nn.Layer, name), _load(vars(paddle.nn.Layer)[name])
    yield bridge.tensors_of_layers(is_paddle)
    yield (paddle.nn.Layer, "__setattr__"), _assign(vars(paddle.nn.Layer)["__setattr__"])
    parameter = bridge.EagerParamBase
    yield (parameter, "__deepcopy__"), _copy(vars(parameter)["__deepcopy__"])
    yield (bridge.EagerTensor, "set_value"), _set_value(bridge.EagerTensor.set_value)
    for name, property_ in TENSOR_ATTRIBUTES.items():
        yield (bridge.EagerTensor, name), property_


@contextlib.contextmanager
def training_into(capture: Capture) -> Iterator[Steps]:
    """While a program is captured, let gradients and optimizers be part of it."""
    capture.steps = state = Steps(capture)
    with bridge.methods_replaced(dict(_replacements())):
        try:
            yield state
        finally:
            state.parameters.restore()
