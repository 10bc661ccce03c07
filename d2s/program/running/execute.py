"""Run a captured program on tensors: for inference, for training, or jointly with its gradients.

A program trains by Paddle's forward/backward split, unless gradients go through a ``while`` of it.
Then the split loses the loop's saved values (paddle-facts 2), so d2s keeps them itself, or computes
them once more (``backward``).
"""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.leaving import is_untouched, mark_untouched
from d2s.diagnostics.tracebacks import raise_with
from d2s.errors import D2SError, InplaceError, LoopGradientError
from d2s.program.capture.captured import Captured, Output, Run
from d2s.program.capture.steps import check_asked
from d2s.program.running.backward import Passage, joint_outputs
from d2s.program.running.failures import Again, point_out
from d2s.program.running.histories import Histories
from d2s.program.running.met import Trainable, copy_of, random_now, random_state
from d2s.program.running.once import Once, creates_graph_around, explained
from d2s.program.running.turns import turn
from d2s.program.state.guard_checks import Check, Checks, in_place, same_kinds
from d2s.program.state.places import Place
from d2s.program.state.shared_arguments import check_tensors
from d2s.runtime.values.callbacks import has_acted, has_said, running, take_failure

_KIND: Final = operator.attrgetter("dtype", "stop_gradient")

_OFTEN: Final = 2
"""How often a tensor may turn out to have been replaced before its places are always asked."""

Homes = list[tuple[int, Place]]
"""Tensors by their numbers, and where they are kept."""


def _check_straight(captured: Captured, tensors: list[Any]) -> None:
    """Refuse arguments of which ``reshape`` is a view in dygraph on some calls, on others not."""
    for index, known in captured.straight.items():
        if tensors[index].is_contiguous() != known:
            path = captured.leaves[index].path
            raise InplaceError(
                f"a view of the argument {path!r} is changed in place, and its elements "
                + ("do not lie" if known else "lie")
                + " beside each other in memory, as they "
                + ("did" if known else "did not")
                + " when the program was captured",
                cure=f"pass {path}.contiguous() on every call",
            )


def _set_flags(captured: Captured, tensors: list[Any], stops: bool) -> None:
    """Let arguments and other tensors say of themselves what the function has set.

    Args:
        captured: of the function.
        tensors: of the call.
        stops: those that are to stop gradients, when the program has run, or else the others.
    """
    for index, flag in captured.flags.items():
        if flag is stops:
            tensors[index].stop_gradient = flag
    for tensor, flag in captured.outer_flags:
        if flag is stops:
            tensor.stop_gradient = flag


class Runner(Trainable):
    """A captured program, made ready to run.

    Attributes:
        runs: how often it has run.
        repeats: a call that fails is repeated in dygraph, if that leaves all as dygraph does.
    """

    def __init__(self, captured: Captured) -> None:
        super().__init__(captured)
        self.runs = 0
        self.repeats = False
        self._checks = Checks(captured.guards)
        self._stateless = not (captured.parameters[0] or captured.homes)
        self._always = self._stateless and not captured.guards
        self._kinds = list(map(_KIND, captured.parameters[0]))
        self._same_kinds = same_kinds(captured.parameters[0])
        self._in_place: Check | None = None
        self._moves: collections.Counter[int] = collections.Counter()
        self._moving: Homes = []
        self._changing = bool(captured.updates or captured.rewritten)
        self._bare = not (
            self._changing
            or captured.steps
            or captured.lifted
            or captured.draws
            or captured.writes
            or captured.hosts
            or captured.apart.arguments
            or captured.apart.records
            or captured.straight
            or captured.flags
            or captured.outer_flags
            or captured.stops
            or captured.asked
        )
        build = captured.build
        self._only = build.position if isinstance(build, Output) else None
        self._differentiable = any(not value.stop_gradient for value in captured.outputs)
        bridge.show_backward_errors(explained, raise_with)

    def fresh(self) -> bool:
        """Whether the program still fits what it reads besides its arguments.

        A tensor that was replaced by another one of the same kind is read from now on.
        """
        if self._always:
            return True
        if not self._checks.hold():
            return False
        if self._stateless:
            return True
        captured = self.captured
        if self._kinds and not self._same_kinds():
            return False
        if not captured.homes:
            return True
        if self._in_place is not None and self._in_place():
            return not self._moving or self._moved(self._moving)
        if not self._moved(captured.homes):
            return False
        self._remember()
        return True

    def is_fresh(self, name: Callable[[Any], str]) -> str:
        """The same as a text (``warm``): that nothing has changed is seen by that alone."""
        if self._always:
            return "True"
        fresh = f"{name(self.fresh)}()"
        if not self._stateless:
            return fresh
        return f"({self._checks.text(name)} or {fresh})"

    def _remember(self) -> None:
        """Expect tensors where they are now; those that come and go are looked for each time."""
        captured, moves = self.captured, self._moves
        tensors = captured.parameters[0]
        self._moving = [home for home in captured.homes if moves[home[0]] > _OFTEN]
        self._in_place = in_place(
            [(place, tensors[at]) for at, place in captured.homes if moves[at] <= _OFTEN]
        )

    def _moved(self, homes: Homes) -> bool:
        """Read the tensors that are in their places now; whether the program goes with them.

        Args:
            homes: the places, all of each tensor.
        """
        tensors = self.captured.parameters[0]
        replaced: dict[int, Any] = {}
        for index, place in homes:
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
                or now.is_contiguous() != before.is_contiguous()  # reshape may be a view, or not
            ):
                return False
            replaced[index] = now
        if replaced:
            for index, place in homes:
                if index in replaced and place.get() is not replaced[index]:
                    return False  # what was one tensor is two now
            self._moves.update(replaced.keys())
            for index, now in replaced.items():
                tensors[index] = now
                if not now.stop_gradient and now.grad is None:
                    bridge.expect_dense_gradient(now)  # only those of the capture were told
        return True

    def broken(self) -> str | None:
        """What has changed so that the program does not fit any more, in words."""
        for guard in self.captured.guards:
            if not guard.holds():
                return guard.place.path
        for tensor, kind in zip(self.captured.parameters[0], self._kinds, strict=True):
            if _KIND(tensor) != kind:
                return f"dtype or stop_gradient of the tensor {tensor.name}"
        for index, place in self.captured.homes:
            if place.get() is not self.captured.parameters[0][index]:
                return place.path
        return None

    @property
    def training(self) -> bool:
        """Whether what it gives now can be differentiated."""
        return (
            self.captured.steps is None and bool(paddle.is_grad_enabled()) and self._differentiable
        )

    def prepare(self, tensors: list[Any]) -> None:
        """Build all that a call in the present mode needs.

        Args:
            tensors: of a call.

        Raises:
            LoopGradientError: (D2S307) Paddle cannot differentiate it.
        """
        if not self.training:
            self.program.prepare(training=False)
            return
        try:
            self._prepare_training(tensors)
        except LoopGradientError:
            if all(self.wanted.now):
                raise
            self.wanted.need_all()
            self._prepare_training(tensors)

    def _prepare_training(self, tensors: list[Any]) -> None:
        program, wanted = self.program, self.wanted.now
        if not self.captured.has_loop:
            program.prepare(training=True, wanted=wanted)
        elif not (self.may_keep and program.prepare_keeping(tensors, wanted)):
            program.prepare(training=False)
            program.prepare_gradients(wanted)

    @property
    def goes_back_once(self) -> bool:
        """Whether a second backward through a call of now is refused, ``retain_graph`` or not."""
        once = self.captured.has_loop or self.wanted.is_open or creates_graph_around()
        return self.training and once and not self.captured.only_static

    @property
    def draws(self) -> bool:
        """Whether a run draws random numbers of Paddle, or does what dygraph does not."""
        return self.captured.has_random or self.captured.only_static

    @property
    def repeatable(self) -> bool:
        """Whether a run that has failed in Paddle has left nothing changed behind."""
        captured = self.captured
        return captured.steps is None and not (
            captured.hosts or captured.overwritten or captured.draws or captured.has_random
        )

    def _left_nothing(self, error: BaseException, *, raised: bool) -> bool:
        """Whether a run that ``error`` has ended might as well not have been begun.

        Args:
            error: the exception.
            raised: Python has raised it, which leaves what the function has changed until there.
        """
        captured = self.captured
        if isinstance(error, D2SError):
            if error.untouched:
                return True
        elif raised or not self.repeats:
            return self.repeatable
        done = has_acted() or captured.overwritten or captured.has_random
        return captured.steps is None and not done

    def __call__(self, tensors: list[Any], containers: list[Any]) -> Any:
        """The result of one call.

        Args:
            tensors: the tensors of the call, in the order of the captured inputs.
            containers: the caller's lists, dicts and so on among the arguments.

        Raises:
            Exception: what the user's ``assert`` and ``raise`` raise on this run.
        """
        if self._bare:
            outputs = self._outputs(tensors)
            self.runs += 1
            if self._only is not None:
                return outputs[self._only]
            return self.captured.build(Run(outputs, tensors, containers))
        steps, fresh = self.captured.steps, self.fresh if self.captured.takes else None
        if steps is None and fresh is None:
            return self._run(tensors, containers)
        # Gradients of before the call are handed in through one list.
        with turn(fresh, None if steps is None else steps.lock):
            return self._run(tensors, containers)

    def _check(self, tensors: list[Any], containers: list[Any]) -> None:
        """Refuse a call that the program is not right for.

        Raises:
            D2SError: it says that nothing has happened yet.
        """
        captured = self.captured
        try:
            captured.apart.check(containers)
            _check_straight(captured, tensors)
            if self._changing:
                positions = [index for index, _ in captured.updates]
                check_tensors(tensors, positions, captured.parameters[0], captured.rewritten)
            if captured.steps is not None:
                captured.steps.check(tensors)
            if captured.asked:
                check_asked(tensors, captured.asked)
        except D2SError as error:
            error.untouched = True
            raise

    def _run(self, tensors: list[Any], containers: list[Any]) -> Any:
        captured = self.captured
        if captured.lifted:
            tensors = [*tensors, *(each.given() for each in captured.lifted)]
        self._check(tensors, containers)
        states: list[Any] = []
        for draw in captured.draws:
            states.append(draw.state)
            tensors = [*tensors, draw.tensor()]
        present = Run([], tensors, containers)
        _set_flags(captured, tensors, False)
        if captured.steps is not None:
            captured.steps.begin(captured.parameters[0])
        try:
            with running(present):
                outputs = self._outputs(tensors)
        except BaseException as error:
            if captured.steps is not None:
                self.program = self.ready()  # its stacks hold what a run saved that did not end
            drawn = 0 if is_untouched(error) else present.drawn
            if drawn is not None:  # the exception comes before the other draws
                undone = list(zip(captured.draws, states, strict=True))[drawn:]
                for draw, state in reversed(undone):
                    draw.restore(state)
            raise
        finally:
            if captured.steps is not None:
                captured.steps.release(captured.parameters[0])
        self.runs += 1
        stopped = {position for position, stops in captured.stops if bool(outputs[stops])}
        for position in stopped:
            if not outputs[position].stop_gradient:
                outputs[position] = outputs[position].detach()
        run = Run(outputs, tensors, containers)
        result = captured.build(run)
        values = [(write, build(run)) for write, build in captured.writes]
        for write, value in values:
            write(run, value)
        for index, position in captured.updates:
            with paddle.no_grad():
                paddle.assign(outputs[position], tensors[index])
        if captured.steps is not None:
            captured.steps.end(outputs, captured.outputs, stopped)
        _set_flags(captured, tensors, True)
        return result

    def _apart(self, tensors: list[Any]) -> tuple[list[Any], list[Any]]:
        """Inputs and parameters for a run that the backward reads again.

        Those that change in place after the run are copies, which keep their contents; but where
        dygraph does not notice the change, and its gradients read the new contents.
        """
        captured = self.captured
        read = captured.parameters[0]
        if captured.updates:
            tensors = list(tensors)
            for index, _ in captured.updates:
                if not bridge.is_read_in_memory(captured.inputs[index]):
                    tensors[index] = copy_of(tensors[index])
        if captured.rewritten:
            read, values = list(read), captured.parameters[1]
            for index in captured.rewritten:
                if not bridge.is_read_in_memory(values[index]):
                    read[index] = copy_of(read[index])
        return tensors, read

    def in_short(self, name: Callable[[Any], str], another: str | None) -> list[str]:
        """All of a call without containers in the present mode, as a text (``warm``).

        Args:
            name: gives things names in the text.
            another: what is returned where Paddle fails, if the error is not raised.
        """
        raised = f"return {another}" if another else f"raise {name(self._failure)}(broken, tensors)"
        training = self.training
        if not self._bare or (training and (self.captured.has_loop or self.wanted.is_open)):
            call = f"return {name(self)}(tensors, [])"
            return (
                ["try:", f"    {call}", "except Exception:", f"    {raised}"] if another else [call]
            )
        run = self.program.runs(training=training)
        result = f"{name(self.captured.build)}({name(Run)}(outputs, tensors, []))"
        if self._only is not None:
            result = f"outputs[{self._only}]"
        draws = training and self.captured.has_random
        state = f"{name(random_now)}({name(self.captured)})" if draws else "None"
        once = f"{name(Once)}({name(self)}, scope, tensors, state)"
        hooks = [
            "    for output in outputs:",
            "        if not output.stop_gradient:",
            f"            {name(bridge.hook_gradient)}(output, {once})",
            "            break",
        ]
        return [
            *([f"state = {state}"] if training else []),
            "try:",
            f"    outputs, scope = {name(run)}(tensors, {name(self.captured.parameters[0])})",
            "except Exception as error:",
            "    broken = error",
            "else:",
            *(hooks if training else []),
            f"    {name(self)}.runs += 1",
            f"    return {result}",
            raised,
        ]

    def _outputs(self, tensors: list[Any]) -> list[Any]:
        captured = self.captured
        try:
            if not (self._differentiable and self.training):
                if captured.steps is None:
                    return self.program.run(tensors)
                with paddle.no_grad():
                    return self.program.run(tensors)
            read = captured.parameters[0]
            if self._changing:
                tensors, read = self._apart(tensors)
            apart = self._histories.apart(tensors, read)
            if apart is None:
                return self._trained(tensors, read)
            return apart.joined(self._trained(apart.tensors, apart.read))
        except Exception as error:
            broken = error
        raise self._failure(broken, tensors)

    def _trained(self, tensors: list[Any], read: list[Any]) -> list[Any]:
        """The outputs of a run that can be differentiated."""
        captured = self.captured
        scope = None
        state = random_now(captured)
        if captured.has_loop:
            outputs = joint_outputs(self, [*tensors, *read])
        elif self.wanted.is_open and not all(each.stop_gradient for each in (*tensors, *read)):
            if not self.wanted.is_known:
                self.prepare(tensors)
            return Passage(self, tensors, read).outputs()
        else:
            outputs, scope = self.program.run_for_training(tensors, read)
        for output in outputs:
            if not output.stop_gradient:
                bridge.hook_gradient(output, Once(self, scope, tensors, state))
                break
        return outputs

    @functools.cached_property
    def _histories(self) -> Histories:
        return Histories(self)

    def _failure(self, broken: Exception, tensors: list[Any]) -> BaseException:
        """What a run that Paddle has broken off raises.

        That is what the user's code has raised on the host, or what dygraph raises, at the user's
        line.
        """
        failure = take_failure()
        raised, said = failure is not None, list(has_said())
        if failure is None:
            failure = point_out(broken, self.captured.program, self._again(tensors))
            if config.get().full_traceback and failure is not broken:
                failure.__cause__ = broken
        if self._left_nothing(failure, raised=raised):
            mark_untouched(failure, said)
        return failure

    def _again(self, tensors: list[Any]) -> Again | None:
        """Runs a copy of the program, changing nothing outside; ``None`` if it cannot."""
        captured = self.captured
        if captured.steps is not None:
            return None

        def again(copy: Any, find: Callable[[Any], Any]) -> None:
            read, values = captured.parameters
            given = [
                copy_of(tensor) if i in captured.overwritten else tensor
                for i, tensor in enumerate(read)
            ]
            inputs, outputs = [[*map(find, each)] for each in (captured.inputs, captured.outputs)]
            program = bridge.Program(copy, inputs, outputs, (given, [*map(find, values)]))
            with random_state(random_now(captured)), paddle.no_grad():
                program.run(tensors)

        return again
