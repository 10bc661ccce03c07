"""What calls of a captured program have met, and what it is made ready by: see ``backward``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.errors import D2SError, LoopGradientError
from d2s.program.capture.captured import Captured
from d2s.runtime.host.generators import put_back, set_state, state_of

Which = tuple[bool, ...]
"""For each result that may get a gradient, whether it does."""


class Wanted:
    """The results that get gradients, as far as past calls tell.

    Args:
        outputs: values of the program.
        first: gives those for which the first call is built.

    Attributes:
        is_open: there are several that may get one, so it may be any of them.
        whole: sets of results that Paddle cannot go back through without the others.
    """

    def __init__(self, outputs: list[Any], first: Callable[[], Which]) -> None:
        self.is_open = sum(not value.stop_gradient for value in outputs) > 1
        self.whole: set[Which] = set()
        self._first = first
        self._kept: int | None = None

    @functools.cached_property
    def now(self) -> Which:
        """Those for which the next call is built."""
        return self._first()

    def need_all(self) -> None:
        """Paddle cannot go back through those of now without the others."""
        self.whole.add(self.now)
        self.now = (True,) * len(self.now)

    @property
    def is_known(self) -> bool:
        """Whether calls have told."""
        return self._kept is not None

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
        written: indexes of parameters that a run writes, and its backward reads as they are then.
        reads_overwritten: it computes with what it writes into.
        twice: told of a second backward through one call, and of others that it has no gradient of.
    """

    def __init__(self, captured: Captured) -> None:
        self.twice: Callable[[D2SError], object] = id
        self.captured = captured
        self.program = self.ready()
        self.wanted = Wanted(captured.outputs, self._first_wanted)
        values = captured.parameters[1]
        unnoticed = [at for at in captured.rewritten if bridge.is_read_in_memory(values[at])]
        self.written = sorted({*captured.overwritten, *unnoticed})
        self.reads_overwritten = not all(bridge.is_only_written(values[at]) for at in self.written)

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

    @property
    def may_keep(self) -> bool:
        """Whether a run with loops may keep what its gradients read."""
        return not (config.get().recompute or self.reads_overwritten)

    @functools.cached_property
    def computed_from(self) -> list[frozenset[int]]:
        """For each result that may get a gradient the others that it was computed from."""
        outputs = [value for value in self.captured.outputs if not value.stop_gradient]
        copies = [value.get_defining_op() for value in outputs]
        values = [
            copy.operand_source(0) if copy.name() == "pd_op.assign" else value
            for copy, value in zip(copies, outputs, strict=True)
        ]
        reached = bridge.reached_inputs(self.captured.program, values, values)
        return [others - {at} for at, others in enumerate(reached)]

    def _first_wanted(self) -> Which:
        """The results that get gradients, before any call has told.

        A backward begins at a loss, a result of one element, and not at what it was computed from,
        nor at what is kept for a later call::

            return loss, logits         the loss
            return logits, penalty      both
            self.last = y; return z     z
        """
        captured = self.captured
        places = [at for at, value in enumerate(captured.outputs) if not value.stop_gradient]
        which = [at < captured.returned for at in places]
        if not any(which):
            return (True,) * len(which)
        single = [all(size == 1 for size in captured.outputs[at].shape) for at in places]
        if sum(which) > 1 and any(single):
            for one, others, returned in zip(single, self.computed_from, tuple(which), strict=True):
                for at in others if one and returned else ():
                    which[at] = False
        return tuple(which)

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

    __slots__ = ("_then", "kept", "kinds", "random", "read", "runner", "tensors")

    def __init__(self, runner: Trainable, tensors: list[Any], read: list[Any]) -> None:
        self.runner = runner
        self.tensors = tensors
        self.read = list(read)  # a later call reads other tensors in these places
        self.random = random_now(runner.captured)
        self._then: tuple[list[Any], list[Any]] | None = None
        if runner.reads_overwritten and read:
            self._then = tensors, _with_copies(read, runner.written)
        self.kinds: list[tuple[list[int], Any]] = []
        self.kept: bridge.Kept | None = None

    def run(self, tensors: list[Any], read: list[Any]) -> list[Any]:
        """Run the forward, which keeps what its gradients read if that pays."""
        runner = self.runner
        if runner.may_keep:
            found = runner.program.run_keeping(tensors, read, runner.wanted.now)
            if found is not None:
                outputs, self.kept = found
                if runner.wanted.is_open and not runner.wanted.is_known:
                    self.remember(tensors, read)
                return outputs
        self.remember(tensors, read)
        return runner.program.run(tensors)

    def remember(self, tensors: list[Any], read: list[Any]) -> None:
        """Note the contents of the tensors, which may be written before the backward."""
        self._then = _with_copies(tensors), _with_copies(read)

    def end(self) -> None:
        """Let go of what the call has read."""
        self.tensors = self.read = []
        self._then = None

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
        kept, self.kept = self.kept, None
        if kept is not None and kept.wanted == which and any(which):
            seeds = [gradient for gradient in given if gradient is not None]
            return program.gradients_of_kept(self.tensors, seeds, self.read, kept)
        with random_state(self.random):
            if which not in self.runner.wanted.whole:
                try:
                    return self._again(given)
                except LoopGradientError:
                    if all(which):
                        raise
                    self.runner.wanted.whole.add(which)
            return self._of_all(given)

    def _again(self, given: list[Any]) -> list[Any]:
        """The gradients, by a program that computes the forward once more.

        That writes into what the forward has written into, so it gets copies of these.
        """
        runner, now = self.runner, list(self.read)
        tensors, then = self._then or (self.tensors, now)  # kept, for other results
        if not runner.reads_overwritten:
            then = _with_copies(then, runner.captured.overwritten)
        for at in runner.captured.overwritten:
            now[at] = then[at]
        return runner.program.gradients(self.tensors, given, now, then=(tensors, then))

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
            found = self._again(seeds)
            if all(each is None or bool(paddle.isfinite(each).all()) for each in found):
                return found
        raise LoopGradientError(
            "gradients arrive at some results of a loop only, which Paddle cannot differentiate "
            "alone, and zeros for the others give no finite gradients",
            cure="return the result that is differentiated from a function of its own",
        )


def copy_of(tensor: Any) -> Any:
    """A tensor with the same contents and the same gradient."""
    if not tensor.stop_gradient:
        return paddle.assign(tensor)
    with paddle.no_grad():
        return paddle.assign(tensor)


def _with_copies(tensors: list[Any], which: Iterable[int] | None = None) -> list[Any]:
    """The tensors, with others that have the same contents in the place of some, or all."""
    made = list(tensors)
    with paddle.no_grad():
        for at in range(len(made)) if which is None else which:
            if bridge.has_contents(made[at]):
                made[at] = paddle.assign(made[at])
    return made


def copies_of(tensors: Sequence[Any]) -> Sequence[tuple[Any, Any]]:
    """The tensors, each with a copy of its contents."""
    if not tensors:
        return ()
    with paddle.no_grad():
        return [(each, paddle.assign(each)) for each in tensors if bridge.has_contents(each)]


@contextlib.contextmanager
def contents_of(copies: Sequence[tuple[Any, Any]], changed: list[Any]) -> Iterator[None]:
    """Let tensors have earlier contents for a while; afterwards all that change are as they are."""
    now = copies_of(changed)
    try:
        with paddle.no_grad():
            for tensor, copy in copies:
                paddle.assign(copy, tensor)
        yield
    finally:
        with paddle.no_grad():
            for tensor, copy in now:
                paddle.assign(copy, tensor)


Random = tuple[Any, list[tuple[Any, Any]]]
"""The state of Paddle's generator, and generators of Python and NumPy with theirs."""


def random_now(captured: Captured) -> Random | None:
    """The states of the generators that a program draws from; ``None`` if it draws nothing."""
    if not captured.has_random:
        return None
    return paddle.get_rng_state(), [(each, state_of(each)) for each in captured.drawn]


@contextlib.contextmanager
def random_state(states: Random | None) -> Iterator[None]:
    """Let generators be in earlier states for a while; ``None`` leaves them alone."""
    if states is None:
        yield
        return
    state, generators = states
    now = paddle.get_rng_state()
    with contextlib.ExitStack() as stack:
        for generator, before in generators:
            stack.enter_context(put_back(generator))
            set_state(generator, before)
        paddle.set_rng_state(state)
        try:
            yield
        finally:
            paddle.set_rng_state(now)
