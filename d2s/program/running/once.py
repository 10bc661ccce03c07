"""Second backwards through one call: refused, made possible, or seen before programs are run."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.errors import BackwardTwiceError, D2SError, LoopGradientError
from d2s.program.running.failures import in_dygraphs_words
from d2s.program.running.met import Trainable, contents_of, copies_of, random_state
from d2s.runtime.values.callbacks import take_failure
from d2s.runtime.values.tree import flatten

Refusal = TypeVar("Refusal", bound=D2SError)


def at_this_line(kind: Callable[..., Refusal], cause: str, cure: str) -> Refusal:
    """An error at the line of the user's that is under way, if there is one."""
    where = here()
    if where is None:
        return kind(cause, cure=cure)
    return kind(cause, cure=cure, file=where.file, line=where.line)


def twice() -> BackwardTwiceError:
    """What is said of a second backward through one call, at the user's present line."""
    return at_this_line(
        BackwardTwiceError,
        "a second backward goes through one call of a converted function",
        "add the losses up and call backward once, or call the function again",
    )


def again() -> BackwardTwiceError:
    """What is said of a backward through the gradients of a call, at the user's present line."""
    return at_this_line(
        BackwardTwiceError,
        "a gradient of a gradient goes through a call of a converted function, of whose gradients "
        "Paddle has none",
        "let the converted function call paddle.grad() itself, or leave it in dygraph",
    )


def between() -> LoopGradientError:
    """What is said of a gradient from one result of a call to another one, at the present line."""
    return at_this_line(
        LoopGradientError,
        "the gradient of a result of a converted function is asked for (by a hook, retain_grads() "
        "or paddle.grad()), and another result was computed from it: a program has none",
        "compute the other one outside of the converted function, or take the gradient in it",
    )


def refuse_between(runner: Trainable, hooks: Sequence[Any], given: Sequence[Any]) -> None:
    """Refuse a backward in which hooks on results would miss gradients of other results.

    Args:
        runner: the program.
        hooks: for each result that may get a gradient what tells whether it is asked for.
        given: the gradients that arrive.

    Raises:
        LoopGradientError: (D2S307).
    """
    asked = {at for at, hook in enumerate(hooks) if hook.is_watched}
    if not asked:
        return
    for at, gradient in enumerate(given):
        if gradient is not None and not asked.isdisjoint(runner.computed_from[at]):
            error = between()
            runner.twice(error)
            raise error


def refusal_between(runner: Trainable) -> Callable[[], Exception]:
    """Says :func:`between`, and lets later calls be no such program's."""

    def refusal() -> Exception:
        error = between()
        runner.twice(error)
        return error

    return refusal


def _refused(runner: Trainable) -> BackwardTwiceError:
    error = again()
    runner.twice(error)
    bridge.keep_backward_error(error)
    return error


def refuse_graph(runner: Trainable) -> None:
    """Refuse gradients that may be gone back through, in the backward of a ``PyLayer``.

    Paddle takes the gradients of its inputs then only if it asked for each.
    """
    if paddle.is_grad_enabled():
        raise _refused(runner)


def creates_graph(code: types.CodeType) -> bool:
    """Whether a function says ``create_graph=...``, of whatever it calls."""
    return any(type(each) is tuple and "create_graph" in each for each in code.co_consts)


def retains_gradients(code: types.CodeType) -> bool:
    """Whether a function says ``.retain_grads``: a program gives such a tensor less than a leaf."""
    return "retain_grads" in code.co_names


def creates_graph_around() -> bool:
    """:func:`creates_graph` of the functions that are under way."""
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return False
        if creates_graph(frame.f_code):
            return True
        frame = frame.f_back
    return False


_MOST_FRAMES: Final = 100


class Watch:
    """A hook on the results of a call that has run in dygraph, to see how backwards come to it.

    Args:
        told: is told of a second backward, or of a first one that leaves room for it.
        settled: is called when a first one has left none.
        runner: the program.
    """

    def __init__(
        self,
        told: Callable[[D2SError], object],
        settled: Callable[[], object],
        runner: Trainable,
    ) -> None:
        self._told, self._settled = told, settled
        self._between = any(runner.computed_from)
        self._first: int | None = None

    def set_on(self, result: Any) -> None:
        """Watch the tensors in ``result``."""
        for each in flatten(result)[0]:
            if isinstance(each, paddle.Tensor) and not each.stop_gradient and not each.is_leaf:
                bridge.hook_gradient(each, self)
                if self._between:
                    bridge.WatchedResult(each, lambda: self._told(between()))

    def __call__(self, gradient: Any) -> None:
        number = bridge.number_of_backward()
        if bridge.backward_retains() or self._first not in (None, number):
            self._told(twice())
        elif self._first is None:
            self._settled()
        self._first = number


class _Entered(threading.local):
    program: bridge.Program | None = None


_entered: Final = _Entered()
"""The program that a backward of this thread has come to last."""


def explained(raised: Exception) -> BaseException | None:
    """What stands for an exception of Paddle's in a backward; ``None``: nothing else."""
    if any(f"TensorWrappers of {node} " in str(raised) for node in bridge.PROGRAM_NODES):
        return twice()
    program, _entered.program = _entered.program, None
    built = [] if program is None else program.differentiated()
    return take_failure() or in_dygraphs_words(raised, built)


class Once:
    """A hook on a result of a training call, whose program can be gone back through once.

    Paddle frees what the program has saved, whatever ``retain_graph`` says, and lets the next call
    write there; a ``PyLayer`` dies at the second time.  Where the first backward retains the graph,
    the program runs again for the next one, if it has no effects: with the inputs, parameters and
    random state that the call has had.

    Args:
        runner: the program.
        scope: it has run in; ``None`` of a ``PyLayer``.
        tensors: the inputs.
        random: the random state before, of a program that draws.
        again: nothing but the program is in the way of a second backward.
    """

    __slots__ = (
        "__weakref__",
        "_again",
        "_read",
        "_versions",
        "leaves",
        "program",
        "random",
        "read",
        "runner",
        "scope",
        "tensors",
        "used",
    )

    def __init__(
        self,
        runner: Trainable,
        scope: bridge.RunScope | None,
        tensors: list[Any],
        random: Any = None,
        *,
        again: bool = True,
    ) -> None:
        self.used = False
        self._again = again and scope is not None
        self.runner = runner
        self.program = runner.program
        self.scope = scope
        self.tensors = tensors
        self.read = list(runner.captured.parameters[0])  # another may stand there in later calls
        self.leaves = [tensor for tensor in tensors if not tensor.stop_gradient]
        self.random = random
        self._read: Sequence[tuple[Any, Any]] | None = None

    def __call__(self, gradient: Any) -> None:
        _entered.program = self.program
        if self.used and not self._runs_again():
            error = twice()
            self.runner.twice(error)
            bridge.keep_backward_error(error)
            raise error
        bridge.refuse_behind(self._refuse)
        if not self.used:
            self.used = self.program.reached = True
            if bridge.backward_retains():
                self._keep()
        bridge.note_reached(self.leaves, self.read)
        if self.scope is not None:
            self.scope.enter_backward()

    def _refuse(self, gradient: Any) -> None:
        raise _refused(self.runner)

    def _keep(self) -> None:
        """Note what the call has met, for a second backward."""
        captured = self.runner.captured
        changes = captured.updates or captured.rewritten or self.runner.reads_overwritten
        if self.scope is None or not self._again or captured.hosts or changes:
            return
        self.scope.reserve(self)
        self._read = copies_of(self.read)
        self._versions = [tensor.inplace_version for tensor in self.tensors]

    def _runs_again(self) -> bool:
        """Let the program run again as in the call; whether it can."""
        if self._read is None or self.scope is None:
            return False
        if self._versions != [tensor.inplace_version for tensor in self.tensors]:
            return False
        with paddle.no_grad():
            other = [(now, then) for now, then in self._read if not bool((now == then).all())]
        changed = [*(now for now, _ in other), *self.runner.overwritten()]
        with random_state(self.random), contents_of(other, changed):
            self.program.run_again(self.tensors, self.read, self.scope)
        return True
