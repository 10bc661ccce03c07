"""Run a captured program on tensors: for inference, for training, or jointly with its gradients.

A program without ``while`` trains by Paddle's forward/backward split.  With one, the split loses
the loop's saved values (paddle-facts 2), so the forward runs as the inference program behind a
``PyLayer`` whose backward runs forward and gradients as one program (decision 0004); the random
state of the forward is put back for it, so that it sees the same masks.
"""

from __future__ import annotations

from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import LoopGradientError
from d2s.operators.hosts import take_failure
from d2s.program.capture import Captured


class _Joint(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Forward by the inference program, backward by the joint program."""

    @staticmethod
    def forward(ctx: Any, runner: Runner, *tensors: Any) -> Any:
        count = len(runner.captured.inputs)
        ctx.runner = runner
        ctx.random = paddle.get_rng_state() if runner.captured.has_random else None
        ctx.save_for_backward(*tensors)
        outputs = runner.program.run(list(tensors[:count]), training=False)
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
        runner: Runner = ctx.runner
        runner.check_gradients()
        tensors = list(ctx.saved_tensor())
        count = len(runner.captured.inputs)
        wanted = [
            gradient
            for gradient, value in zip(gradients, runner.captured.outputs, strict=True)
            if not value.stop_gradient
        ]
        now = None
        if ctx.random is not None:
            now = paddle.get_rng_state()
            paddle.set_rng_state(ctx.random)
        try:
            with bridge.program_order():
                found = runner.program.gradients(tensors[:count], wanted)
        finally:
            if now is not None:
                paddle.set_rng_state(now)
        return tuple(found)


class Runner:
    """A captured program, made ready to run.

    Attributes:
        captured: the program and how its result is rebuilt.
        runs: how often it has run.
    """

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.program = bridge.Program(
            captured.program, captured.inputs, captured.outputs, captured.parameters
        )
        self.runs = 0

    def fresh(self) -> bool:
        """Whether the program still fits the tensors that it reads besides its arguments.

        A tensor that was replaced by another one of the same kind is read from now on.
        """
        tensors = self.captured.parameters[0]
        for index, place in self.captured.homes:
            now = place.get()
            before = tensors[index]
            if now is before:
                continue
            if (
                not bridge.is_eager(now)
                or now.dtype != before.dtype
                or now.shape != before.shape
                or now.stop_gradient != before.stop_gradient
            ):
                return False
            tensors[index] = now
        return True

    def __call__(self, tensors: list[Any]) -> Any:
        """The result of one call.

        Args:
            tensors: the tensors of the call, in the order of the captured inputs.

        Raises:
            Exception: what the user's ``assert`` and ``raise`` raise on this run.
        """
        captured = self.captured
        outputs = self._outputs(tensors)
        self.runs += 1
        result = captured.rebuild([*outputs, *tensors])
        for place, position in captured.writes:
            place.set(outputs[position])
        for index, position in captured.updates:
            with paddle.no_grad():
                paddle.assign(outputs[position], tensors[index])
        return result

    def check_gradients(self) -> None:
        """Refuse gradients that Paddle would get wrong.

        Raises:
            LoopGradientError: (D2S307) a static loop stands inside another one.
        """
        inner = bridge.nested_loop(self.captured.program)
        if inner is None:
            return
        file, line = user_line(bridge.callstack(inner))
        raise LoopGradientError(
            "gradients are asked for through a static loop inside another static loop, which "
            "Paddle 3.3 computes wrongly",
            cure="give the inner loop Python bounds, so that it is unrolled, or call the function "
            "in dygraph for training",
            file=file,
            line=line,
        )

    def _outputs(self, tensors: list[Any]) -> list[Any]:
        captured = self.captured
        training = paddle.is_grad_enabled() and any(
            not value.stop_gradient for value in captured.outputs
        )
        try:
            with bridge.program_order():
                if training and captured.has_loop:
                    return list(_Joint.apply(self, *tensors, *captured.parameters[0]))
                return self.program.run(tensors, training=training)
        except Exception:
            failure = take_failure()
            if failure is None:
                raise
        raise failure  # what the user's code raised on the host, at the user's line
