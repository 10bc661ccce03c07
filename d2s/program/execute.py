"""Run a captured program on tensors: for inference, for training, or jointly with its gradients.

A program without ``while`` trains by Paddle's forward/backward split.  With one, the split loses
the loop's saved values (paddle-facts 2), so the forward runs as the inference program behind a
``PyLayer`` whose backward runs forward and gradients as one program (decision 0004).  What the
forward has met is put back for it: the random state, so that it sees the same masks, and what the
program writes into, so that running statistics move once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import D2SError
from d2s.operators.hosts import running, take_failure
from d2s.operators.values import NUMBER_DTYPES
from d2s.program.capture import Captured, Run
from d2s.program.failures import point_out


class _Joint(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Forward by the inference program, backward by the joint program."""

    @staticmethod
    def forward(ctx: Any, runner: Runner, *tensors: Any) -> Any:
        count = len(runner.captured.inputs)
        ctx.runner = runner
        ctx.random = paddle.get_rng_state() if runner.captured.has_random else None
        ctx.overwritten = _copies(runner.overwritten())
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
        try:
            tensors = list(ctx.saved_tensor())
            count = len(runner.captured.inputs)
            wanted = [
                gradient
                for gradient, value in zip(gradients, runner.captured.outputs, strict=True)
                if not value.stop_gradient
            ]
            with bridge.program_order(), _random(ctx.random), _contents(ctx.overwritten):
                found = runner.program.gradients(tensors[:count], wanted, tensors[count:])
        except D2SError as error:
            bridge.keep_backward_error(error)
            raise
        return tuple(found)


def _copies(tensors: list[Any]) -> list[tuple[Any, Any]]:
    """The tensors, each with a copy of its contents."""
    with paddle.no_grad():
        return [(tensor, paddle.assign(tensor)) for tensor in tensors]


@contextlib.contextmanager
def _contents(copies: list[tuple[Any, Any]]) -> Iterator[None]:
    """Let tensors have earlier contents for a while."""
    now = _copies([tensor for tensor, _ in copies])
    try:
        with paddle.no_grad():
            for tensor, copy in copies:
                paddle.assign(copy, tensor)
        yield
    finally:
        with paddle.no_grad():
            for tensor, copy in now:
                paddle.assign(copy, tensor)


@contextlib.contextmanager
def _random(state: Any) -> Iterator[None]:
    """Let the random state be an earlier one for a while; ``None`` leaves it alone."""
    if state is None:
        yield
        return
    now = paddle.get_rng_state()
    paddle.set_rng_state(state)
    try:
        yield
    finally:
        paddle.set_rng_state(now)


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
        if captured.has_loop:
            bridge.show_backward_errors()

    def fresh(self) -> bool:
        """Whether the program still fits what it reads besides its arguments.

        A tensor that was replaced by another one of the same kind is read from now on.
        """
        captured = self.captured
        for guard in captured.guards:
            if not guard.holds():
                return False
        tensors = captured.parameters[0]
        replaced: dict[int, Any] = {}
        for index, place in captured.homes:
            now = place.get()
            before = tensors[index]
            if now is replaced.get(index, before):
                continue
            if (
                index in replaced
                or not bridge.is_eager(now)
                or now.dtype != before.dtype
                or now.shape != before.shape
                or now.stop_gradient != before.stop_gradient
            ):
                return False
            replaced[index] = now
        if replaced:
            for index, place in captured.homes:
                if index in replaced and place.get() is not replaced[index]:
                    return False  # what was one tensor is two now
            for index, now in replaced.items():
                tensors[index] = now
        return True

    def broken(self) -> str | None:
        """What has changed so that the program does not fit any more, in words."""
        for guard in self.captured.guards:
            if not guard.holds():
                return guard.place.path
        return None

    def overwritten(self) -> list[Any]:
        """The tensors that the program writes into."""
        return [self.captured.parameters[0][index] for index in self.captured.overwritten]

    def __call__(self, tensors: list[Any], containers: list[Any]) -> Any:
        """The result of one call.

        Args:
            tensors: the tensors of the call, in the order of the captured inputs.
            containers: the caller's lists, dicts and so on among the arguments.

        Raises:
            Exception: what the user's ``assert`` and ``raise`` raise on this run.
        """
        captured = self.captured
        for place in captured.lifted:
            number = place.get()
            tensors = [*tensors, paddle.to_tensor(number, NUMBER_DTYPES[type(number)])]
        states: list[Any] = []
        for draw in captured.draws:
            states.append(draw.state)
            tensors = [*tensors, paddle.to_tensor(draw(), NUMBER_DTYPES[draw.kind])]
        present = Run([], tensors, containers)
        try:
            with running(present):
                outputs = self._outputs(tensors)
        except BaseException:
            if present.drawn is not None:  # the exception comes before the other draws
                undone = list(zip(captured.draws, states, strict=True))[present.drawn :]
                for draw, state in reversed(undone):
                    draw.restore(state)
            raise
        self.runs += 1
        run = Run(outputs, tensors, containers)
        result = captured.build(run)
        values = [(write, build(run)) for write, build in captured.writes]
        for write, value in values:
            write(run, value)
        for index, position in captured.updates:
            with paddle.no_grad():
                paddle.assign(outputs[position], tensors[index])
        return result

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
        except Exception as error:
            failure = take_failure() or point_out(error, captured.program)
        raise failure  # what the user's code raised on the host, at the user's line
