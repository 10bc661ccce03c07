"""Arguments and state with a history, which only some of the results were computed from.

A program is one node for Paddle: what comes back to a result goes on to the history of each
tensor that the program has read.  In dygraph it goes where the result came from::

    self.peak = maximum(self.peak, loss)       computed from the peak of the call before
    return loss                                not computed from it

A backward of ``loss`` would go through the call before once more, whose graph is freed.  So the
node reads such a tensor without its history, and a node of its own joins it to the results that
were computed from it::

    x, weights -> node -> loss
                       -> Side -> peak
    peak of before --------^

Where gradients are known to come to results that were computed from the tensor, it goes into the
node as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.tracebacks import user_traceback
from d2s.program.running.met import Met, Trainable
from d2s.program.running.once import Once, explained, refusal_between, refuse_graph


class Side(paddle.autograd.PyLayer):  # type: ignore[misc]
    """A result, joined to the tensors with a history that it was computed from."""

    @staticmethod
    def forward(ctx: Any, joins: _Joins, output: Any, *before: Any) -> Any:
        ctx.joins, ctx.output = joins, output
        ctx.set_materialize_grads(False)
        return bridge.sharing(output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        joins: _Joins = ctx.joins
        met = joins.met
        refuse_graph(met.runner)
        given: list[Any] = [None] * len(met.kinds)
        try:
            given[joins.at] = gradient = joins.hooks[0].applied(gradient)
            found = met.gradients(given)
        except Exception as error:
            failure = explained(error) or error
            bridge.keep_backward_error(failure, user_traceback(failure.__traceback__))
            raise
        every = [*met.tensors, *met.read]
        before = [every[place] for place in joins.places]
        with paddle.no_grad():
            made = [
                paddle.zeros_like(tensor) if found[place] is None else found[place]
                for place, tensor in zip(joins.places, before, strict=True)
            ]
        return bridge.only_asked([ctx.output, *before], [gradient, *made])


@dataclass
class _Joins:
    """What a :class:`Side` joins.

    Attributes:
        met: the call.
        at: which of its results that may get gradients.
        places: the tensors with a history, by their places among what the program reads.
        hooks: those of the user's code on the result.
    """

    met: Met
    at: int
    places: list[int]
    hooks: list[bridge.ResultHooks] = field(default_factory=list)


class Apart:
    """A call some of whose tensors the node of the program reads without their history.

    Args:
        runner: the program.
        tensors: its inputs.
        read: what it reads as its parameters.
        reached: for each such tensor, by its place among both, the results computed from it.

    Attributes:
        tensors, read: what the node reads.
    """

    def __init__(
        self,
        runner: Trainable,
        tensors: list[Any],
        read: list[Any],
        reached: dict[int, frozenset[int]],
    ) -> None:
        self._met = Met(runner, tensors, read)
        self._met.remember(tensors, read)
        self._reached = reached
        given = [*tensors, *read]
        for place in reached:
            given[place] = _leaf_of(given[place])
        self.tensors, self.read = given[: len(tensors)], given[len(tensors) :]

    def joined(self, outputs: list[Any]) -> list[Any]:
        """The results, with the histories that they have in dygraph."""
        met = self._met
        met.note(outputs)
        every = [*met.tensors, *met.read]
        joined, at = list(outputs), -1
        for index, value in enumerate(met.runner.captured.outputs):
            if value.stop_gradient:
                continue
            at += 1
            places = [place for place, results in self._reached.items() if at in results]
            if places:
                joins = _Joins(met, at, places)
                before = (every[place] for place in places)
                joined[index] = made = Side.apply(joins, outputs[index], *before)
                hooks = bridge.ResultHooks(made, refusal_between(met.runner))
                joins.hooks.append(hooks)
                bridge.result_of(outputs[index]).outer = hooks
                bridge.hook_gradient(made, Once(met.runner, None, []))
        return joined


def _leaf_of(tensor: Any) -> Any:
    """A tensor with the same contents and no history, for whose gradient nobody asks."""
    leaf = tensor.detach()
    leaf.stop_gradient = False
    bridge.expect_dense_gradient(leaf)
    return leaf


class Histories:
    """The tensors of a program that some results are computed from, and others are not.

    Args:
        runner: the program.
    """

    def __init__(self, runner: Trainable) -> None:
        self._runner = runner
        captured = runner.captured
        tensors, values = captured.parameters
        outputs = [value for value in captured.outputs if not value.stop_gradient]
        inputs = [*captured.inputs, *values]
        leaves = [False] * len(captured.inputs)
        leaves += [isinstance(tensor, bridge.EagerParamBase) for tensor in tensors]
        reached = bridge.reached_inputs(captured.program, inputs, outputs)
        self._some: dict[int, frozenset[int]] = {}
        for place, (value, is_leaf) in enumerate(zip(inputs, leaves, strict=True)):
            results = frozenset(at for at, places in enumerate(reached) if place in places)
            if not (is_leaf or value.stop_gradient) and len(results) < len(outputs):
                self._some[place] = results

    def apart(self, tensors: list[Any], read: list[Any]) -> Apart | None:
        """The call with such tensors; ``None`` where it has none."""
        wanted = self._runner.wanted
        count, found = len(tensors), {}
        for place, results in self._some.items():
            tensor = tensors[place] if place < count else read[place - count]
            if tensor.stop_gradient or tensor.is_leaf:
                continue
            if not (wanted.is_known and any(wanted.now[at] for at in results)):
                found[place] = results
        return Apart(self._runner, tensors, read, found) if found else None
