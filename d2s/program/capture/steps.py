"""What each run of a program with training in it does besides running it.

Before: the gradients that parameters have are handed in.  Afterwards: those that are left become
``.grad`` again, and schedulers step.  :mod:`d2s.runtime.training.steps` makes such programs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location, here
from d2s.errors import UnsupportedInGraphError
from d2s.program.state.guards import Guard
from d2s.program.state.places import Found, Place
from d2s.runtime.training.leaves import CLEARED, DROPPED, ZEROS, Leaf
from d2s.runtime.training.steps import Steps
from d2s.runtime.values.choice import Choice


@dataclass
class _Relied(Guard):
    """A guard that asks a function."""

    def holds(self, seen: Found | None = None) -> bool:
        return bool(self.test(None))


def _relied(path: str, holds: Callable[[], bool]) -> Guard:
    return _Relied(Place({}, path, path), lambda _: holds(), True)


@dataclass
class StepsOfRun:
    """The training of a program, for its runs.

    Attributes:
        given: gradients that the program reads: index of the parameter, the tensor, and what is
            there between the runs.
        arguments: arguments at which gradients arrive, and for those that may have none before
            where the function has asked.
        tensors: the tensors that get gradients, or that an optimizer changes, by their ids.
        guards: what the program relies on.
        leaves: which of the results are leaves in dygraph.
        lock: held for the time of a run.
    """

    given: list[tuple[int, Any, Any]] = field(default_factory=list)
    arguments: list[tuple[int, Location | None]] = field(default_factory=list)
    tensors: dict[int, Any] = field(default_factory=dict)
    guards: list[Guard] = field(default_factory=list)
    leaves: set[int] = field(default_factory=set)
    lock: Any = field(default_factory=threading.RLock)

    def keep(self, homes: list[tuple[int, Place]], tensors: list[Any]) -> list[tuple[int, Place]]:
        """The homes of what may be replaced; what is trained must stay where it is."""
        kept = []
        for index, place in homes:
            tensor = tensors[index]
            if id(tensor) in self.tensors:
                flag = tensor.stop_gradient
                self.guards.append(_relied(place.path, _stays(place, tensor, flag)))
            else:
                kept.append((index, place))
        return kept

    def check(self, inputs: list[Any]) -> None:
        """Refuse arguments whose gradients a program has not.

        Raises:
            UnsupportedInGraphError: (D2S205) an argument has one, or a hook, or is no leaf, or is a
                tensor that the function trains under another name.
        """
        if any(id(tensor) in self.tensors for tensor in inputs):
            raise _refusal(
                "an argument is a parameter that the function trains, as one of an optimizer's or "
                "a layer's, where a program has two tensors",
                "leave it out of the arguments, and read it from the layer that has it",
            )
        for index, asked in self.arguments:
            tensor = inputs[index]
            if bridge.continues(tensor):
                raise _refusal(
                    "an argument was computed outside of the function, where backward() would go "
                    "on",
                    "compute it inside of the function, or pass a .detach() of it",
                )
            if bridge.has_hooks(tensor):
                raise _refusal(
                    "an argument has a gradient hook, which a backward() in a program has not",
                    "call backward() outside of the function, or change .grad inside of it",
                    asked,
                )
            if asked is not None and tensor.grad is not None:
                raise _refusal(
                    "an argument has a gradient already, and the function asks for its gradient",
                    "set its .grad to None before the call, or read the tensor from the layer or "
                    "list outside of the function that has it",
                    asked,
                )

    def begin(self, parameters: list[Any]) -> None:
        """Hand in the gradients of before the call."""
        for index, tensor, _ in self.given:
            gradient = tensor.grad
            if gradient is None:
                gradient = paddle.zeros_like(tensor)
            parameters[index] = gradient

    def release(self, parameters: list[Any]) -> None:
        """Let go of the gradients that were handed in."""
        for index, _, nothing in self.given:
            parameters[index] = nothing

    def end(self, outputs: list[Any], values: list[Any], stopped: set[int]) -> None:
        """Let results look as in dygraph: one that had a gradient refuses a second backward.

        Args:
            outputs: of the run.
            values: of the program.
            stopped: positions of outputs that have no gradient on this run.
        """
        for index, (tensor, value) in enumerate(zip(outputs, values, strict=True)):
            if not value.stop_gradient and index not in stopped:
                if index in self.leaves:
                    tensor.stop_gradient = False
                else:
                    bridge.let_gradients_end(tensor, _refuse_backward)


def check_asked(inputs: list[Any], asked: list[Any]) -> None:
    """Refuse arguments that were computed of tensors whose gradients the function asks for.

    Args:
        inputs: of the call.
        asked: tensors that ``paddle.grad`` was given.

    Raises:
        UnsupportedInGraphError: (D2S205) the gradient would go on outside of the function.
    """
    for tensor in inputs:
        if bridge.continues(tensor) and bridge.comes_of(tensor, asked):
            raise _refusal(
                "an argument was computed outside of the function, where paddle.grad() would go on",
                "compute it inside of the function, or pass a .detach() of it",
            )


def _stays(place: Place, tensor: Any, flag: bool) -> Callable[[], bool]:
    return lambda: place.get() is tensor and tensor.stop_gradient == flag


def _refusal(cause: str, cure: str, place: Location | None = None) -> UnsupportedInGraphError:
    place = place or here()
    if place is None:
        return UnsupportedInGraphError(cause, cure=cure)
    return UnsupportedInGraphError(cause, cure=cure, file=place.file, line=place.line)


def _refuse_backward(gradient: Any) -> None:
    error = _refusal(
        "backward() goes into a result of a converted function that calls backward() itself",
        "call every backward() of a step inside of the function, or all of them outside",
    )
    bridge.keep_backward_error(error)
    raise error


def steps_of(steps: Steps, parameters: list[Any], results: list[Any]) -> StepsOfRun | None:
    """What the runs of a program have to do for ``steps``; ``None`` without training.

    Args:
        steps: those of the capture, which is over.
        parameters: the tensors that the program reads.
        results: the values that it gives.
    """
    leaves = list(steps.leaves.all.values())
    asked = [leaf for leaf in leaves if leaf.tensor is not None or leaf.index is not None]
    if not steps.record.used and all(leaf.found is None for leaf in asked):
        return None
    found = StepsOfRun()
    found.leaves = {index for index, value in enumerate(results) if steps.leaves.begins_at(value)}
    indexes = {id(tensor): index for index, tensor in enumerate(parameters)}
    for leaf in leaves:
        if leaf.tensor is not None:
            found.tensors[id(leaf.tensor)] = leaf.tensor
            if leaf.stored is not None and id(leaf.stored) in indexes:
                index = indexes[id(leaf.stored)]
                parameters[index] = leaf.nothing
                found.given.append((index, leaf.tensor, parameters[index]))
            if leaf.found is not None:
                path = f"{leaf.tensor.name}.grad"
                found.guards.append(_relied(path, _has_gradient(leaf.tensor, leaf.found)))
        elif leaf.index is not None and (leaf.changed or leaf.found is not None):
            found.arguments.append((leaf.index, leaf.place))
    trained = [each.tensor for each in leaves if each.tensor is not None and each.changed]
    if trained:
        found.guards.append(
            _relied("gradient hooks", lambda: not any(map(bridge.has_hooks, trained)))
        )
    for facts in steps.optimizers.facts():
        found.guards.append(_relied(type(facts.optimizer).__name__, facts.hold))
    return found


def flags_of(steps: Steps) -> list[Guard]:
    """What the function relies on of the flags that it sets."""
    return [
        _relied(f"{tensor.name}.stop_gradient", _is_flagged(tensor, before))
        for tensor, before, _ in steps.parameters.flags.values()
    ]


def _is_flagged(tensor: Any, stops: bool) -> Callable[[], bool]:
    return lambda: bool(tensor.stop_gradient) == stops


def _has_gradient(tensor: Any, before: bool) -> Callable[[], bool]:
    return lambda: (tensor.grad is not None) == before


def changes_of(steps: Steps) -> Iterator[tuple[Callable[[Any, Any], None], Any]]:
    """What a run changes, at this point of the capture: how, and the value that it needs."""
    for leaf in steps.leaves.all.values():
        if not leaf.changed or (leaf.tensor is None and leaf.index is None):
            continue
        if bridge.is_value(leaf.grad) or isinstance(leaf.grad, Choice):
            yield _setter(leaf), leaf.grad
        elif leaf.grad is DROPPED:
            yield _clearer(leaf, False), None
        elif leaf.grad in (CLEARED, ZEROS):
            yield _clearer(leaf, True, leaf.grad is ZEROS), None
    for call in steps.optimizers.after:
        yield _caller(call.function), call.given
    for optimizer, keep, rate in steps.optimizers.rates_set():
        yield _keeper(optimizer, keep), rate


def _target(leaf: Leaf) -> Callable[[Any], Any]:
    tensor, index = leaf.tensor, leaf.index
    return (lambda run: run.inputs[index]) if tensor is None else lambda run: tensor


def _setter(leaf: Leaf) -> Callable[[Any, Any], None]:
    target, adds = _target(leaf), leaf.index is not None and not leaf.alone

    def write(run: Any, gradient: Any) -> None:
        tensor = target(run)
        if gradient is None:  # on this run
            tensor.clear_gradient(False)
            return
        with paddle.no_grad():
            before = tensor.grad if adds else None
            if tensor.stop_gradient:
                tensor.stop_gradient = False
            tensor.grad = gradient if before is None else before + gradient
            bridge.let_gradient_stop(tensor, leaf.stops)

    return write


def _clearer(leaf: Leaf, zero: bool, there: bool = False) -> Callable[[Any, Any], None]:
    target = _target(leaf)

    def write(run: Any, _: Any) -> None:
        tensor = target(run)
        if there and tensor.grad is None:
            tensor.grad = paddle.zeros_like(tensor)
            bridge.let_gradient_stop(tensor, leaf.stops)
        tensor.clear_gradient(zero)

    return write


def _keeper(optimizer: Any, keep: Callable[[object], None]) -> Callable[[Any, Any], None]:
    def write(run: Any, rate: Any) -> None:
        if rate != optimizer.get_lr():  # else no line that sets it was come to on this run
            keep(rate)

    return write


def _caller(function: Callable[..., Any]) -> Callable[[Any, Any], None]:
    def write(run: Any, given: Any) -> None:
        if given is not None:  # on this run
            arguments, options = given
            function(*arguments, **options)

    return write
