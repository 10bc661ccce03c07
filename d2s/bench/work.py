"""What a peer is given, and one call of it: inference, forward and backward, or a training step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, Literal

import paddle

from d2s import api, config
from d2s.bench.rounds import Calls
from d2s.bench.values import Array, arrays

Call = Callable[[], Any]
Converter = Callable[[Any], Any]
Kind = Literal["inference", "gradient", "training", "step"]


@dataclass(frozen=True)
class Work:
    """What a peer converts, and what it is called with; made anew for each peer.

    Attributes:
        function: a function or a layer.
        arguments: its positional arguments.  Tensors among them with ``stop_gradient=False`` get
            their gradients compared.
        keywords: its keyword arguments.
        kind: what one call is.  ``inference``: the function, without gradients.  ``gradient``: the
            function, and ``backward`` from its result.  ``training``: the same, and a step of the
            optimizer.  ``step``: the function, which does all of that itself.
        optimizer: makes the step of ``training``.
        watched: the tensors whose values belong to the result, such as parameters that change.
    """

    function: Any
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = "inference"
    optimizer: Any = None
    watched: tuple[Any, ...] = ()

    def leaves(self) -> list[Any]:
        """The tensors that get a gradient."""
        given = [*self.arguments, *self.keywords.values()]
        found = [each for each in given if isinstance(each, paddle.Tensor)]
        owner = getattr(self.function, "__self__", self.function)
        if isinstance(owner, paddle.nn.Layer):
            found += owner.parameters()
        return [tensor for tensor in found if not tensor.stop_gradient]

    def mode(self) -> contextlib.AbstractContextManager[Any]:
        """The mode in which it is called."""
        return paddle.no_grad() if self.kind == "inference" else contextlib.nullcontext()


class Prepared:
    """One call of some work, ready to be timed, and what it has computed last.

    Args:
        work: what is called.
        convert: makes of its function what the peer runs.
    """

    def __init__(self, work: Work, convert: Converter) -> None:
        self._work = work
        self._last: Any = None
        self._leaves = work.leaves()
        converted = convert(work.function)
        arguments, keywords = work.arguments, work.keywords

        def forward() -> Any:
            return converted(*arguments, **keywords)

        kinds: dict[Kind, Callable[[Call], Call]] = {
            "inference": lambda forward: forward,
            "gradient": self._gradient,
            "training": self._training,
            "step": lambda forward: forward,
        }
        self._run = kinds[work.kind](forward)

    def __call__(self) -> None:
        """Call it; the result stays until the next call, as it would in a user's variable."""
        self._last = self._run()

    def values(self) -> list[Array | None]:
        """What the last call has computed, and what it has changed."""
        gradients = [leaf.grad for leaf in self._leaves] if self._work.kind == "gradient" else []
        return arrays([self._last, gradients, [*self._work.watched]])

    def _gradient(self, forward: Call) -> Call:
        leaves = self._leaves

        def call() -> Any:
            for leaf in leaves:
                leaf.clear_gradient(set_to_zero=False)
            result = forward()
            loss_of(result).backward()
            return result

        return call

    def _training(self, forward: Call) -> Call:
        optimizer = self._work.optimizer

        def call() -> Any:
            loss = forward()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

        return call


def loss_of(result: Any) -> Any:
    """Where ``backward`` begins: a result of one element itself, else the sum of all that can.

    A result is not asked for its ``size``, which runs an operation: 30 µs of a call of 50.
    """
    if isinstance(result, paddle.Tensor) and not result.stop_gradient and prod(result.shape) == 1:
        return result
    parts = [leaf for leaf in paddle.utils.flatten([result]) if isinstance(leaf, paddle.Tensor)]
    sums = [leaf.sum() for leaf in parts if not leaf.stop_gradient]
    if not sums:
        raise ValueError("no result depends on what can have a gradient")
    return sum(sums[1:], sums[0])


def _by_dygraph(function: Any) -> Any:
    paddle.jit.enable_to_static(False)  # what is decorated already runs as it was
    return function


def _by_d2s(function: Any) -> Any:
    config.set_default(try_dygraph=False)  # programs are measured, also where they are slower
    return api.to_static(function)


CONVERTERS: Final[Mapping[str, Converter]] = {
    "dygraph": _by_dygraph,
    "paddle-ast": lambda function: paddle.jit.to_static(function, full_graph=True, backend=None),
    "paddle-sot": lambda function: paddle.jit.to_static(function, full_graph=False, backend=None),
    "d2s": _by_d2s,
}
"""The peers that are given a function as it was written, by name; dygraph is first."""


def calls(make: Callable[[], Work], peer: str) -> Calls:
    """The task of a peer of :data:`CONVERTERS`.

    Args:
        make: what is measured; the same random numbers for every peer.
        peer: its name.
    """
    paddle.seed(0)
    work = make()
    return Calls(Prepared(work, CONVERTERS[peer]), work.mode)
