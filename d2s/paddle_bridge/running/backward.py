"""Backwards that come to our programs: who waits for whom meanwhile, what errors they raise.

Paddle runs a backward outside of the GIL.  For each program that it comes to ::

    a hook of ours                                        takes the program's lock
    Paddle runs the program's gradients
    a hook of the next program, or the end of backward    gives it back

Without it, another thread's run took the scope: Paddle calls it reusable first and clears it then.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.flags import ORDER, Way
from d2s.paddle_bridge.gate import GATE, static_lock
from d2s.paddle_bridge.names import core, hook_gradient
from d2s.paddle_bridge.preparing.constants import Constants
from d2s.paddle_bridge.running.hooks import Refusal, asked_for


class Asked:
    """What one ``paddle.grad`` is asked for the gradients of.

    Args:
        inputs: the tensors.
        left_out: those that no gradient goes through.
    """

    def __init__(self, inputs: list[Any], left_out: list[Any]) -> None:
        self._leads = {tensor.grad_fn: True for tensor in inputs}
        self._leads.update({tensor.grad_fn: False for tensor in left_out})

    def leads(self, tensor: Any) -> bool:
        """Whether the gradient of ``tensor`` leads to one of the inputs."""
        first = tensor.grad_fn
        if first is None:
            return True
        known, waiting = self._leads, [first]
        while waiting:
            node = waiting[-1]
            if node in known:
                waiting.pop()
                continue
            behind = [each for each in node.next_functions if each is not None]
            unknown = [each for each in behind if each not in known]
            if not unknown:
                known[node] = any(known[each] for each in behind)
            waiting += unknown
        return known[first]


class _Backward(threading.local):
    error: tuple[BaseException, Any] | None = None
    within: RunScope | None = None
    reached: list[list[Any]] | None = None
    absent: dict[int, bool] | None = None
    asked: Asked | None = None
    retains = False
    passed: list[Callable[[Any], None]] | None = None
    number = 0
    revived: list[RunScope] | None = None


BACKWARD: Final = _Backward()
"""Of this thread's backward: the error that it is about to raise, the scope that it has come to,
the tensors that the programs on its way have read, for some of these, by their ids, whether no
program has given them a gradient, what a ``paddle.grad`` is asked for, whether another backward may
come (``retain_graph``), where the gradients may be gone back through (``create_graph``), what the
programs on its way say of that, and the scopes in which a program has run again for it."""

_backward_shown = False


class RunScope:
    """A scope of Paddle's that runs of one program have one after the other.

    Args:
        lock: held while the program runs.
        way: how Paddle prepares its backward, or the program when it runs for that again.
        constants: of the program, which the scope finds around it.

    Attributes:
        scope: Paddle's.
        is_prepared: Paddle has prepared the backward for it.
        results: those of a second run for the same backward, until that is over.
    """

    __slots__ = (
        "__weakref__",
        "_alone",
        "_around",
        "_depth",
        "_lock",
        "_owner",
        "_way",
        "is_prepared",
        "results",
        "scope",
    )

    def __init__(self, lock: Any, way: Way, constants: Constants | None = None) -> None:
        self._around: Any = None
        self.scope: Any = None
        if constants:
            self._around, self.scope = constants.scopes()
        else:
            self.scope = core.Scope()
        self._lock = lock
        self._way = way
        self.is_prepared = False
        self._alone: contextlib.AbstractContextManager[None] | None = None
        self._depth = 0
        self._owner: weakref.ref[Any] | None = None
        self.results: Any = None

    def reserve(self, owner: Any) -> None:
        """Let no run take it while ``owner`` lives, whose backward may come again."""
        self._owner = weakref.ref(owner)

    @property
    def is_reserved(self) -> bool:
        """Whether it is kept for a second backward."""
        return self._owner is not None and self._owner() is not None

    def run_again(self, run: Callable[[Any], Any]) -> None:
        """Let a program run again in it, for a backward that has come to it.

        Args:
            run: runs it in Paddle's scope; what it gives lives until the backward is over, as
                Paddle empties the scope with it.
        """
        before = BACKWARD.within
        if before is not None:
            before.leave(prepared=True)
        with alone_with(self._lock, self._way), paddle.enable_grad():
            self.results = run(self.scope)
        if BACKWARD.revived is not None:
            BACKWARD.revived.append(self)

    @property
    def is_free(self) -> bool:
        """Whether no backward reads it any more."""
        return bool(self.scope._can_reused)

    def enter_backward(self) -> None:
        """To be called when a backward is about to run the program's gradients in it.

        For the first time, Paddle adds to its table of what is prepared: alone.
        """
        before = BACKWARD.within
        if before is not None:
            before.leave(prepared=True)
        if self.is_prepared:
            self._depth = GATE.enter()
            if not self._lock.acquire(False):  # nearly always free: one call less
                GATE.acquire(self._lock)
        else:
            self._alone = alone_with(self._lock, self._way)
            self._alone.__enter__()
        BACKWARD.within = self

    def leave(self, *, prepared: bool) -> None:
        """Paddle has gone on.

        Args:
            prepared: it has got through.
        """
        BACKWARD.within = None
        if self._alone is None:
            self._lock.release()
            GATE.leave(self._depth)
        else:
            self._alone.__exit__(None, None, None)
            self._alone = None
            self.is_prepared = prepared


@contextlib.contextmanager
def alone_with(lock: Any, way: Way) -> Iterator[None]:
    """While Paddle prepares a program for a scope.

    Args:
        lock: of the program; its holder may want to be alone, for what its host calls.
        way: how it is prepared.
    """
    while True:
        with GATE.alone():
            if lock.acquire(blocking=False):
                try:
                    with way:
                        yield
                finally:
                    lock.release()
                return
        GATE.acquire(lock)
        lock.release()


def suspend_backward() -> RunScope | None:
    """Let go of what this thread's backward holds; give back whose :meth:`enter_backward` it wants.

    What is called in a backward, by a hook or a ``PyLayer``, may want all to itself.
    """
    within = BACKWARD.within
    if within is not None:
        within.leave(prepared=False)
    return within


def keep_backward_error(error: BaseException, trace: Any = None) -> None:
    """Note what a backward function of ours is about to raise in this thread.

    Args:
        error: the exception.
        trace: the traceback that it is to have.
    """
    BACKWARD.error = error, trace


Explain = Callable[[Exception], "BaseException | None"]
RaiseWith = Callable[[BaseException, Any], None]


def show_backward_errors(explain: Explain, raise_with: RaiseWith) -> None:
    """From now on ``backward`` and ``paddle.grad`` raise :func:`keep_backward_error`'s errors.

    Paddle turns whatever a ``PyLayer`` raises into an ``OSError`` with a traceback as its text.
    Programs that they run are run in the order of their text.

    Args:
        explain: gives what to raise in the place of any other error; ``None`` leaves it.
        raise_with: gives an exception that is being handled the traceback to be raised with.
    """
    global _backward_shown
    with static_lock:
        if _backward_shown:
            return
        _backward_shown = True
        for name, at in _RETAIN.items():
            setattr(core.eager, name, _showing(getattr(core.eager, name), at, explain, raise_with))


def backward_retains() -> bool:
    """Whether this thread's backward may be followed by another one of the same graph."""
    return BACKWARD.retains


def refuse_behind(refuse: Callable[[Any], None]) -> None:
    """Let ``refuse`` be called where the gradients of this thread's backward are gone back through.

    Args:
        refuse: raises; a program, whose gradients have no gradient, is on the way.
    """
    if BACKWARD.passed is not None:
        BACKWARD.passed.append(refuse)


def number_of_backward() -> int:
    """Another number for each backward of this thread."""
    return BACKWARD.number


def note_reached(*tensors: list[Any]) -> None:
    """Note what a program has read that a backward of this thread has come to."""
    if BACKWARD.reached is not None:
        BACKWARD.reached += tensors


def note_absent(tensors: list[Any], gradients: tuple[Any, ...]) -> None:
    """Note to which of the ``tensors`` a program gives no gradient."""
    absent = BACKWARD.absent
    if absent is not None:
        for tensor, gradient in zip(tensors, gradients, strict=True):
            absent[id(tensor)] = gradient is None and absent.get(id(tensor), True)


def only_asked(tensors: Iterable[Any], gradients: Iterable[Any]) -> tuple[Any, ...]:
    """What a ``PyLayer`` gives for its inputs: Paddle wants ``None`` where nobody asks for it.

    That is so in a ``paddle.grad`` where the gradient does not lead to one of its inputs.
    """
    asked = BACKWARD.asked
    if asked is None:
        return tuple(gradients)
    return tuple(
        each if each is None or asked.leads(tensor) else None
        for tensor, each in zip(tensors, gradients, strict=True)
    )


def _without_absent(inputs: list[Any], made: list[Any], absent: dict[int, bool]) -> list[Any]:
    """What ``paddle.grad`` gives: Paddle makes zeros of a gradient that a program does not give."""
    return [
        None if absent.get(id(tensor)) and each is not None and not each.any() else each
        for tensor, each in zip(inputs, made, strict=True)
    ]


def _let_gradients_be_leaves(reached: list[list[Any]]) -> None:
    """Let new gradients say ``stop_gradient=False``, as those of dygraph's operations do."""
    for tensors in reached:
        for tensor in tensors:
            if tensor.is_leaf:  # Paddle sets no gradient of others, which retain_grads() has kept
                let_gradient_stop(tensor, False)


def let_gradient_stop(tensor: Any, stops: bool) -> None:
    """Let the gradient that a dygraph tensor has say ``stop_gradient=stops``."""
    gradient = tensor.grad
    if gradient is not None and gradient.stop_gradient != stops:
        gradient.stop_gradient = stops
        tensor.grad_ = gradient  # .grad gives a tensor of its own, of the same contents


_CREATE_GRAPH: Final = 4
"""Where ``run_partial_grad`` takes whether the gradients may be gone back through."""

_ALLOW_UNUSED: Final = 6
"""Where ``run_partial_grad`` takes whether an input may have no gradient."""

_ONE_NODE: Final = "GradTensorHolder::add()"
"""What ``run_partial_grad`` raises from one result of a node to another one."""

_NO_GRAD: Final = 7
"""Where ``run_partial_grad`` takes the tensors that no gradient goes through."""

_RETAIN: Final = {"run_backward": 2, "run_partial_grad": 3}
"""Where Paddle's functions take ``retain_graph``."""


_NOBODY: Final = contextlib.nullcontext()
"""Nobody asks for gradients of certain tensors."""


def _kept_backward_error() -> tuple[BaseException, Any] | None:
    error, BACKWARD.error = BACKWARD.error, None
    return error


def _of_one_node(raised: Exception, refusal: Refusal | None) -> Exception | None:
    """What is said of a gradient from one result of a program to another one."""
    return None if refusal is None or _ONE_NODE not in str(raised) else refusal()


def _showing(
    original: Callable[..., Any], retain: int, explain: Explain, raise_with: RaiseWith
) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*arguments: Any, **options: Any) -> Any:
        BACKWARD.error = None
        outer = suspend_backward()
        before, BACKWARD.reached = BACKWARD.reached, []
        unfound, BACKWARD.absent = BACKWARD.absent, {}
        asked, BACKWARD.asked = BACKWARD.asked, None
        inputs = arguments[1] if len(arguments) > _NO_GRAD else ()
        if inputs:
            BACKWARD.asked = Asked(arguments[1], arguments[_NO_GRAD] or [])
        retained, BACKWARD.retains = BACKWARD.retains, bool(arguments[retain])
        revived, BACKWARD.revived = BACKWARD.revived, []
        creates = len(arguments) > _ALLOW_UNUSED and arguments[_CREATE_GRAPH]
        outside, BACKWARD.passed = BACKWARD.passed, [] if creates else None
        BACKWARD.number += 1
        done = False
        try:
            ORDER.enter()
            try:
                with asked_for(inputs) if inputs else _NOBODY as refusal:
                    result = original(*arguments, **options)
            finally:
                ORDER.leave()
            done = True
            for refuse in BACKWARD.passed or ():
                for made in result:
                    if made is not None and not made.stop_gradient:
                        hook_gradient(made, refuse)
            if result is None:
                _let_gradients_be_leaves(BACKWARD.reached)
            elif BACKWARD.absent and arguments[_ALLOW_UNUSED]:
                result = _without_absent(arguments[1], result, BACKWARD.absent)
            return result
        except Exception as raised:
            kept = _kept_backward_error()
            if kept is None:
                error = explain(raised) or _of_one_node(raised, refusal)
                if error is None:
                    raise
                kept = error, error.__traceback__
        finally:
            BACKWARD.reached, BACKWARD.absent, BACKWARD.retains = before, unfound, retained
            BACKWARD.passed, BACKWARD.asked = outside, asked
            for scope in BACKWARD.revived:
                scope.results = None
            BACKWARD.revived = revived
            within = BACKWARD.within
            if within is not None:
                within.leave(prepared=done)
            if outer is not None:
                outer.enter_backward()
        try:
            raise kept[0]
        except BaseException as error:
            raise_with(error, kept[1])
            raise

    return run
