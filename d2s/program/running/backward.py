"""What a backward does that comes to a call of a captured program.

Joint: a program with loops.  Where trips are large, the forward keeps what the gradients read
(decision 0029).  Else it is the inference program, and the backward is one program of forward and
gradients (decision 0004).  What the forward has met is put back for that one: the random state, so
that it sees the same masks, and what the program writes into, so that running statistics move once.

Open: a program with several results that may get gradients.  Dygraph does not go through the
operations of results that get none: their gradients are not zero but absent, and nothing is
computed that zero times infinity makes NaN.  A program goes back as a whole, so it is built for the
results that got gradients last time (``Wanted``), and each call says what it got::

    inputs -> Gate -> Paddle's node of the program -> results, each with the hook of its Passage

Paddle calls the hooks of all results before it runs the node.  Where other results have gradients
than the program was built for, the passage computes them with a joint program for these, and the
gate hands them on instead of what the node has computed.
"""

from __future__ import annotations

import functools
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.tracebacks import user_traceback
from d2s.program.running.met import Met, Trainable
from d2s.program.running.once import (
    Once,
    explained,
    refusal_between,
    refuse_between,
    refuse_graph,
)


class Joint(paddle.autograd.PyLayer):  # type: ignore[misc]
    """A program with loops: the forward keeps, or the backward computes it once more."""

    @staticmethod
    def forward(ctx: Any, runner: Trainable, hooks: list[bridge.ResultHooks], *tensors: Any) -> Any:
        count = len(runner.captured.inputs)
        ctx.met, ctx.hooks = Met(runner, [], []), hooks
        ctx.goes_on = [not (tensor.stop_gradient or tensor.is_leaf) for tensor in tensors]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        outputs = ctx.met.run(list(tensors[:count]), list(tensors[count:]))
        ctx.met.note(outputs)
        ctx.mark_non_differentiable(
            *(
                tensor
                for tensor, value in zip(outputs, runner.captured.outputs, strict=True)
                if value.stop_gradient
            )
        )
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        met: Met = ctx.met
        refuse_graph(met.runner)
        captured = met.runner.captured
        try:
            tensors = list(ctx.saved_tensor())
            count = len(captured.inputs)
            met.tensors, met.read = tensors[:count], tensors[count:]
            every = zip(gradients, ctx.hooks, strict=True)
            pairs = [(gradient, hooks) for gradient, hooks in every if hooks is not None]
            refuse_between(met.runner, [hooks for _, hooks in pairs], [each for each, _ in pairs])
            given = [hooks.applied(gradient) for gradient, hooks in pairs]
            found = met.gradients(given)
            met.runner.wanted.note(tuple(each is not None for each in given))
            found = [
                paddle.zeros_like(tensor) if gradient is None and goes_on else gradient
                for tensor, gradient, goes_on in zip(tensors, found, ctx.goes_on, strict=True)
            ]
            return bridge.only_asked(tensors, found)
        except Exception as error:
            failure = explained(error) or error
            bridge.keep_backward_error(failure, user_traceback(failure.__traceback__))
            raise
        finally:
            met.end()


def joint_outputs(runner: Trainable, tensors: list[Any]) -> list[Any]:
    """The outputs of :class:`Joint`; ``tensors`` are all that the program reads."""
    hooks: list[bridge.ResultHooks | None] = []
    outputs = Joint.apply(runner, hooks, *tensors)
    refusal = refusal_between(runner)
    for at, value in enumerate(runner.captured.outputs):
        hooks.append(None if value.stop_gradient else bridge.ResultHooks(outputs[at], refusal))
    return [output.detach() if output.stop_gradient else output for output in outputs]


class Gate(paddle.autograd.PyLayer):  # type: ignore[misc]
    """What a program reads; going back, it hands on what the passage has found."""

    @staticmethod
    def forward(ctx: Any, passage: Passage, *tensors: Any) -> Any:
        ctx.passage = passage
        ctx.set_materialize_grads(False)
        return tuple(map(bridge.sharing, tensors))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        passage: Passage = ctx.passage
        refuse_graph(passage.runner)
        found = gradients if passage.found is None else tuple(passage.found)
        given = passage.given()
        if any(gradient is None for gradient in found):
            bridge.note_absent(given, found)
            found = tuple(map(_there, given, found))
        return bridge.only_asked(given, found)


def _there(tensor: Any, gradient: Any) -> Any:
    """``gradient`` of ``tensor``: where it goes on to other operations, it has to be there.

    Paddle's operations end the process when the gradient of what they have made is absent.
    """
    if gradient is not None or tensor.stop_gradient or tensor.is_leaf:
        return gradient
    return paddle.zeros_like(tensor)


class Passage:
    """One call of an open program, and the hook on each of its results.

    Args:
        runner: the program.
        tensors: its inputs.
        read: what it reads as its parameters.

    Attributes:
        found: the gradients to hand on instead of what Paddle's node computes.
    """

    __slots__ = ("_got", "_hooks", "_met", "_once", "_places", "_wanted", "found")

    def __init__(self, runner: Trainable, tensors: list[Any], read: list[Any]) -> None:
        self._met = Met(runner, tensors, read)
        self._wanted = runner.wanted.now
        self._got: dict[int, Any] = {}
        self._hooks: list[bridge.LastHook] = []
        self._places: list[int] = []
        self._once: Once | None = None
        self.found: list[Any] | None = None

    @property
    def runner(self) -> Trainable:
        """The program."""
        return self._met.runner

    def given(self) -> list[Any]:
        """The tensors that go through the gate."""
        every = [*self._met.tensors, *self._met.read]
        return [every[at] for at in self._places]

    def outputs(self) -> list[Any]:
        """Run the program."""
        met = self._met
        program, count = met.runner.program, len(met.tensors)
        given = [*met.tensors, *met.read]
        self._places = [at for at, tensor in enumerate(given) if not tensor.stop_gradient]
        gates = Gate.apply(self, *(given[at] for at in self._places))
        for at, gate in zip(self._places, gates, strict=True):
            given[at] = gate
            if at >= count:
                bridge.expect_dense_gradient(gate)
        outputs, scope = program.run_for_training(given[:count], given[count:], self._wanted)
        met.note(outputs)
        self._once = Once(met.runner, scope, met.tensors, again=False)  # its gate goes once
        refusal = refusal_between(met.runner)
        gets = (output for output in outputs if not output.stop_gradient)
        for at, output in enumerate(gets):
            hook = functools.partial(self._arrives, at)
            self._hooks.append(bridge.LastHook(output, hook, refusal))
        return outputs

    def _arrives(self, at: int, gradient: Any) -> None:
        """The gradient of a result, or ``None``; after the last one, the node runs."""
        assert self._once is not None
        if not self._once.used:
            self._got[at] = gradient
            if len(self._got) < len(self._wanted):
                return
            self._decide()
        self._once(gradient)

    def _decide(self) -> None:
        got = [self._got[at] for at in range(len(self._wanted))]
        self._got = {}
        which = tuple(gradient is not None for gradient in got)
        wanted = self._met.runner.wanted
        try:
            refuse_between(self._met.runner, self._hooks, got)
            if which == self._wanted:
                wanted.note(which)
                return
            with paddle.no_grad():
                found = self._met.gradients(got)
        except Exception as error:
            failure = explained(error) or error
            bridge.keep_backward_error(failure, user_traceback(failure.__traceback__))
            raise
        self.found = [found[at] for at in self._places]
        wanted.note(which)
