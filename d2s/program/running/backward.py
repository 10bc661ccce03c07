"""What a backward does that comes to a call of a captured program.

Joint: forward by the inference program, backward by one program of forward and gradients (decision
0004).  What the forward has met is put back for it: the random state, so that it sees the same
masks, and what the program writes into, so that running statistics move once.

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

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.diagnostics.tracebacks import user_traceback
from d2s.errors import BackwardTwiceError, LoopGradientError, UnsupportedInGraphError
from d2s.program.capture.captured import Captured
from d2s.program.running.failures import in_dygraphs_words
from d2s.runtime.values.callbacks import take_failure

Which = tuple[bool, ...]
"""For each result that may get a gradient, whether it does."""


class Wanted:
    """The results that get gradients, as far as past calls tell.

    Args:
        outputs: values of the program.

    Attributes:
        is_open: there are several that may get one, so it may be any of them.
        now: those for which the next call is built.
        whole: sets of results that Paddle cannot go back through without the others.
    """

    def __init__(self, outputs: list[Any]) -> None:
        count = sum(not value.stop_gradient for value in outputs)
        self.is_open = count > 1
        self.now: Which = (True,) * count
        self.whole: set[Which] = set()
        self._kept: int | None = None

    def note(self, got: Which) -> None:
        """A call got these gradients: the next ones are built for what comes more often."""
        if got == self.now:
            self._kept = min((self._kept or 0) + 1, _MEMORY)
        elif not self._kept and any(got) and got not in self.whole:
            self.now, self._kept = got, 1
        elif self._kept:
            self._kept -= 1


_MEMORY: Final = 4
"""So many calls in a row that got other gradients are built for the old ones."""


class Trainable:
    """A captured program, and what calls have told of its gradients.

    Args:
        captured: the program and how its result is rebuilt.

    Attributes:
        captured: the same.
        program: it, made ready to run.
        wanted: the results that get gradients, as far as calls have told.
        reads_overwritten: it computes with what it writes into.
    """

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
        self.program = self.ready()
        self.wanted = Wanted(captured.outputs)
        values = [captured.parameters[1][index] for index in captured.overwritten]
        self.reads_overwritten = not all(map(bridge.is_only_written, values))

    def ready(self) -> bridge.Program:
        """The program with no stacks of a run."""
        captured = self.captured
        program, inputs, outputs = captured.program, captured.inputs, captured.outputs
        tensors, values = captured.parameters
        watch = bridge.present_stopwatch()
        if watch is not None:
            program, find = watch.watched(program)
            inputs, outputs, values = ([*map(find, each)] for each in (inputs, outputs, values))
        options = config.get()
        return bridge.Program(
            program,
            inputs,
            outputs,
            (tensors, values),
            keep=options.keep_memory_mb << 20,
            copies=options.program_copies if self._only_computes else 0,
        )

    @property
    def _only_computes(self) -> bool:
        """Whether a run changes nothing but its results, so that two may go on at a time."""
        known = self.captured
        changes = known.writes, known.updates, known.overwritten, known.rewritten
        return known.steps is None and not (
            any(changes) or known.hosts or known.has_random or known.draws or known.lifted
        )

    def overwritten(self) -> list[bridge.EagerTensor]:
        """The tensors that the program writes into."""
        return [self.captured.parameters[0][index] for index in self.captured.overwritten]


class Met:
    """What the forward of one call has met, for a program that computes it once more.

    Args:
        runner: the program.
        tensors: its inputs.
        read: what it reads as its parameters.
    """

    __slots__ = ("kinds", "overwritten", "random", "read", "runner", "tensors")

    def __init__(self, runner: Trainable, tensors: list[Any], read: list[Any]) -> None:
        self.runner = runner
        self.tensors = tensors
        self.read = read
        self.random = paddle.get_rng_state() if runner.captured.has_random else None
        changed = runner.overwritten() if runner.reads_overwritten else ()
        self.overwritten = _copies(changed)
        self.kinds: list[tuple[list[int], Any]] = []

    def note(self, outputs: list[Any]) -> None:
        """Note the shapes and dtypes of the results that may get gradients."""
        values = self.runner.captured.outputs
        self.kinds = [
            (output.shape, output.dtype)
            for output, value in zip(outputs, values, strict=True)
            if not value.stop_gradient
        ]

    def gradients(self, given: list[Any]) -> list[Any]:
        """The gradients of all inputs and parameters; ``None`` where there is none.

        Args:
            given: the gradient of each result that may have one, ``None`` for those without.
        """
        program, which = self.runner.program, tuple(each is not None for each in given)
        with random_state(self.random), _contents(self.overwritten, self.runner.overwritten()):
            if which not in self.runner.wanted.whole:
                try:
                    return program.gradients(self.tensors, given, self.read)
                except LoopGradientError:
                    if all(which):
                        raise
                    self.runner.wanted.whole.add(which)
            return self._of_all(given)

    def _of_all(self, given: list[Any]) -> list[Any]:
        """The gradients with zeros for the results that get none, where Paddle needs them all.

        Raises:
            LoopGradientError: (D2S307) one is not finite, perhaps because of such a zero.
        """
        with paddle.no_grad():
            seeds = [
                paddle.zeros(shape, dtype) if gradient is None else gradient
                for gradient, (shape, dtype) in zip(given, self.kinds, strict=True)
            ]
            found = self.runner.program.gradients(self.tensors, seeds, self.read)
            if all(each is None or bool(paddle.isfinite(each).all()) for each in found):
                return found
        raise LoopGradientError(
            "gradients arrive at some results of a loop only, which Paddle cannot differentiate "
            "alone, and zeros for the others give no finite gradients",
            cure="return the result that is differentiated from a function of its own",
        )


class Joint(paddle.autograd.PyLayer):  # type: ignore[misc]
    """Forward by the inference program, backward by the joint program."""

    @staticmethod
    def forward(ctx: Any, runner: Trainable, *tensors: Any) -> Any:
        count = len(runner.captured.inputs)
        ctx.met = Met(runner, [], [])
        ctx.goes_on = [not (tensor.stop_gradient or tensor.is_leaf) for tensor in tensors]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        outputs = runner.program.run(list(tensors[:count]))
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
        captured = met.runner.captured
        try:
            tensors = list(ctx.saved_tensor())
            count = len(captured.inputs)
            met.tensors, met.read = tensors[:count], tensors[count:]
            found = met.gradients(
                [
                    gradient
                    for gradient, value in zip(gradients, captured.outputs, strict=True)
                    if not value.stop_gradient
                ]
            )
            found = [
                paddle.zeros_like(tensor) if gradient is None and goes_on else gradient
                for tensor, gradient, goes_on in zip(tensors, found, ctx.goes_on, strict=True)
            ]
        except Exception as error:
            failure = explained(error) or error
            bridge.keep_backward_error(failure, user_traceback(failure.__traceback__))
            raise
        finally:
            met.tensors = met.read = []
        return tuple(found)


def copy_of(tensor: Any) -> Any:
    """A tensor with the same contents and the same gradient."""
    if not tensor.stop_gradient:
        return paddle.assign(tensor)
    with paddle.no_grad():
        return paddle.assign(tensor)


def _copies(tensors: Sequence[Any]) -> Sequence[tuple[Any, Any]]:
    """The tensors, each with a copy of its contents."""
    if not tensors:
        return ()
    with paddle.no_grad():
        return [(tensor, paddle.assign(tensor)) for tensor in tensors]


@contextlib.contextmanager
def _contents(copies: Sequence[tuple[Any, Any]], changed: list[Any]) -> Iterator[None]:
    """Let tensors have earlier contents for a while; afterwards all that change are as they are."""
    now = _copies(changed)
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
def random_state(state: Any) -> Iterator[None]:
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


def _twice() -> BackwardTwiceError:
    where = here()
    return BackwardTwiceError(
        "a second backward goes through one call of a converted function",
        cure="add the losses up and call backward once, or call the function again",
        file=None if where is None else where.file,
        line=None if where is None else where.line,
    )


class _Entered(threading.local):
    program: bridge.Program | None = None


_entered: Final = _Entered()
"""The program that a backward of this thread has come to last."""


def explained(raised: Exception) -> BaseException | None:
    """What stands for an exception of Paddle's in a backward; ``None``: nothing else."""
    if any(f"TensorWrappers of {node} " in str(raised) for node in bridge.PROGRAM_NODES):
        return _twice()
    program, _entered.program = _entered.program, None
    built = [] if program is None else program.differentiated()
    return take_failure() or in_dygraphs_words(raised, built)


class Once:
    """A hook on a result of a training call: its program can be gone back through once.

    Paddle frees what the program has saved, whatever ``retain_graph`` says, and lets the next call
    write there; a ``PyLayer`` dies at the second time.
    """

    __slots__ = ("leaves", "program", "scope", "used")

    def __init__(
        self, program: bridge.Program, scope: bridge.RunScope | None, tensors: list[Any]
    ) -> None:
        self.used = False
        self.program = program
        self.scope = scope
        self.leaves = [tensor for tensor in tensors if not tensor.stop_gradient]

    def __call__(self, gradient: Any) -> None:
        _entered.program = self.program
        if self.used:
            error = _twice()
            bridge.keep_backward_error(error)
            raise error
        self.used = self.program.reached = True
        bridge.note_reached(self.leaves, self.program.parameters[0])
        if self.scope is not None:
            self.scope.enter_backward()


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
        found = gradients if passage.found is None else tuple(passage.found)
        if any(gradient is None for gradient in found):
            given = passage.given()
            bridge.note_absent(given, found)
            found = tuple(map(_there, given, found))
        return found


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
        shaped: the user's code has set a hook on a result, which may change its gradient.
    """

    __slots__ = ("_got", "_met", "_once", "_places", "_wanted", "found", "shaped")

    def __init__(self, runner: Trainable, tensors: list[Any], read: list[Any]) -> None:
        self._met = Met(runner, tensors, read)
        self._wanted = runner.wanted.now
        self._got: list[Any] = []
        self._places: list[int] = []
        self._once: Once | None = None
        self.found: list[Any] | None = None
        self.shaped = False

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
        self._once = Once(program, scope, met.tensors)
        for output in outputs:
            if not output.stop_gradient:
                bridge.hook_gradient(output, self)
                bridge.tell_of_hooks(output, self)
        return outputs

    def __call__(self, gradient: Any) -> None:
        """The gradient of the next result, or ``None``; after the last one, the node runs."""
        assert self._once is not None
        if not self._once.used:
            self._got.append(gradient)
            if len(self._got) < len(self._wanted):
                return
            self._decide()
        self._once(gradient)

    def _decide(self) -> None:
        got, self._got = self._got, []
        which = tuple(gradient is not None for gradient in got)
        wanted = self._met.runner.wanted
        if which == self._wanted:
            wanted.note(which)
            return
        try:
            if self.shaped:
                raise _shaped()
            with paddle.no_grad():
                found = self._met.gradients(got)
        except Exception as error:
            failure = explained(error) or error
            bridge.keep_backward_error(failure, user_traceback(failure.__traceback__))
            raise
        self.found = [found[at] for at in self._places]
        wanted.note(which)


def _shaped() -> UnsupportedInGraphError:
    where = here()
    return UnsupportedInGraphError(
        "a hook is set on a result of a converted function, and gradients arrive at other results "
        "than in the calls before",
        cure="set the hook on what is computed from the result outside of the function",
        file=None if where is None else where.file,
        line=None if where is None else where.line,
    )
