"""Programs that run: in the order of their text, with Paddle's split of forward and backward."""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.paddle_bridge.capture import no_collection
from d2s.paddle_bridge.gate import GATE, keep_mode, static_lock
from d2s.paddle_bridge.memory import Room
from d2s.paddle_bridge.names import PartialProgramLayer, core, switch_to_static_graph
from d2s.paddle_bridge.passes import (
    copy_into_loops,
    keep_read_inside,
    refuse_untried,
    repaired_build,
    save_sources,
)
from d2s.paddle_bridge.repairs import coded_gradients, differentiate, mark_inner_loops
from d2s.paddle_bridge.walks import erase_unread

_run_program: Final = paddle._C_ops.run_program


class _Flag:
    """Sets a flag of Paddle's while any thread is inside, where the user has left it as it was.

    Args:
        name: which flag.
        replaces: whether a value that it has is replaced; another one is the user's and stays.
        value: what it is while a thread is inside.
    """

    def __init__(self, name: str, replaces: Callable[[Any], bool], value: Any) -> None:
        self._flags = core.globals()
        self._name, self._replaces, self._value = name, replaces, value
        self._lock = threading.Lock()
        self._inside = 0
        self._changed = False
        self._before: Any = None

    def enter(self) -> None:
        """Set it; a second thread finds it set."""
        self._lock.acquire()  # half the time of a ``with``, on the way of every call
        try:
            self._inside += 1
            if self._inside == 1:
                self._before = self._flags[self._name]
                if self._replaces(self._before):
                    self._flags[self._name] = self._value
                    self._changed = True
        finally:
            self._lock.release()

    def leave(self) -> None:
        """Let the last thread restore what there was."""
        self._lock.acquire()
        try:
            self._inside -= 1
            if not self._inside and self._changed:
                self._flags[self._name] = self._before
                self._changed = False
        finally:
            self._lock.release()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *raised: object) -> None:
        self.leave()


_TRACE: Final = "FLAGS_enable_pir_in_executor_trace_run"
_DELETE: Final = "FLAGS_eager_delete_tensor_gb"
_INPLACE: Final = "FLAGS_pir_apply_inplace_pass"

_ORDER: Final = _Flag(_TRACE, operator.not_, True)


class _Deletion:
    """When programs that are prepared give their values back; one flag for all threads.

    Two threads may want two things at a time.  To give values back is always right, so that wins.
    """

    def __init__(self) -> None:
        self._flags = core.globals()
        self._lock = threading.Lock()
        self._inside = {True: 0, False: 0}
        self._users = 0.0

    def change(self, keeps: bool, by: int) -> None:
        """One more, or less, that keeps its values or gives them back."""
        with self._lock:
            if not any(self._inside.values()):
                self._users = self._flags[_DELETE]
            self._inside[keeps] += by
            value = self._users
            if self._inside[False]:
                value = max(value, 0.0)
            elif self._inside[True] and value == 0.0:
                value = -1.0
            self._flags[_DELETE] = value


class _Wish:
    """What one program wants of :class:`_Deletion`."""

    def __init__(self, deletion: _Deletion, *, keeps: bool) -> None:
        self._deletion, self._keeps = deletion, keeps

    def enter(self) -> None:
        self._deletion.change(self._keeps, 1)

    def leave(self) -> None:
        self._deletion.change(self._keeps, -1)


class _Way:
    """How a program is prepared: what becomes of its values while it runs.

    Args:
        flags: set meanwhile.
    """

    def __init__(self, *flags: _Flag | _Wish) -> None:
        self._flags = flags

    def __enter__(self) -> None:
        for flag in self._flags:
            flag.enter()

    def __exit__(self, *raised: object) -> None:
        for flag in reversed(self._flags):
            flag.leave()


_DELETION: Final = _Deletion()
_KEEP: Final = _Wish(_DELETION, keeps=True)

_AS_SET: Final = _Way()
"""As the user's flags say."""

_KEEPING: Final = _Way(_KEEP)
"""Values stay until the run ends; see ``memory``."""

_KEEPING_BLOCKS: Final = _Way(_KEEP, _Flag(_INPLACE, bool, False))
"""The same, and no operation writes into its operand; see ``handover``."""

_RETURNING: Final = _Way(_Wish(_DELETION, keeps=False))
"""Values are given back, whatever the user has set: blocks would write over what they share."""


def program_order() -> contextlib.AbstractContextManager[None]:
    """Run programs in the interpreter's trace mode; the user's flag is restored at the end.

    Trace mode runs the operations one by one in the order of the program, so host operators keep
    theirs (serial mode does not: an operation runs as soon as its operands are there), and it is
    several times cheaper for small programs than the multi-thread mode.
    """
    return _ORDER


class _Backward(threading.local):
    error: tuple[BaseException, Any] | None = None
    way: _Way | None = None


_backward = _Backward()
_backward_shown = False


def keep_backward_error(error: BaseException, trace: Any = None) -> None:
    """Note what a backward function of ours is about to raise in this thread.

    Args:
        error: the exception.
        trace: the traceback that it is to have.
    """
    _backward.error = error, trace


def _prepare_in_backward(way: _Way | None) -> None:
    """How programs are prepared that this thread's ``backward`` comes to from here on."""
    before, _backward.way = _backward.way, way
    if before is not None:
        before.__exit__()
    if way is not None:
        way.__enter__()


Explain = Callable[[Exception], "BaseException | None"]
RaiseWith = Callable[[BaseException, Any], None]


def show_backward_errors(explain: Explain, raise_with: RaiseWith) -> None:
    """From now on ``backward`` and ``paddle.grad`` raise :func:`keep_backward_error`'s errors.

    Paddle turns whatever a ``PyLayer`` raises into an ``OSError`` with a traceback as its text.
    Programs that they run are run as :func:`program_order` says.

    Args:
        explain: gives what to raise in the place of any other error; ``None`` leaves it.
        raise_with: gives an exception that is being handled the traceback to be raised with.
    """
    global _backward_shown
    with static_lock:
        if _backward_shown:
            return
        _backward_shown = True
        for name in ("run_backward", "run_partial_grad"):
            setattr(core.eager, name, _showing(getattr(core.eager, name), explain, raise_with))


def _kept_backward_error() -> tuple[BaseException, Any] | None:
    error, _backward.error = _backward.error, None
    return error


def _showing(
    original: Callable[..., Any], explain: Explain, raise_with: RaiseWith
) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*arguments: Any, **options: Any) -> Any:
        _backward.error = None
        try:
            with program_order():
                return original(*arguments, **options)
        except Exception as raised:
            kept = _kept_backward_error()
            if kept is None:
                error = explain(raised)
                if error is None:
                    raise
                kept = error, error.__traceback__
        finally:
            if _backward.way is not None:
                _prepare_in_backward(None)
        try:
            raise kept[0]
        except BaseException as error:
            raise_with(error, kept[1])
            raise

    return run


class _Scopes:
    """The scopes that one program runs in."""

    def __init__(self) -> None:
        self.free: list[Any] = []
        self.held: list[Any] = []

    def take(self) -> Any:
        """One that no run uses; ``None`` if there is none."""
        if self.free:
            return self.free.pop()
        for index, scope in enumerate(self.held):
            if scope._can_reused:
                return self.held.pop(index)
        return None

    def put(self, scope: Any) -> None:
        """Take it back from a run."""
        (self.free if scope._can_reused else self.held).append(scope)


class _Runnable:
    """A program that is built, and the scopes that it runs in.

    A scope holds the values of a run; after the forward of a training program it holds them
    until the backward.  Paddle remembers by a scope's address what it has prepared for it, so a
    scope is never given up while the program lives.  One program runs in one thread at a time,
    different ones side by side: with a scope for each thread and no lock, Paddle 3.3.1 mixed up
    values of two runs of one program ("Variable Id 503511712 is not registered").

    Args:
        attributes: what ``run_program`` needs besides tensors.
        lock: held while it runs; its program's other forms have the same.
        room: which runs keep their values until they end.
        joint: forward and gradients are in it.

    Attributes:
        blocks: there are branches or loops in the program.
        unprepared: how the scope of a run was prepared whose backward is not.
    """

    def __init__(self, attributes: Any, lock: Any, room: Room, *, joint: bool) -> None:
        self._attributes = attributes
        self._joint = joint
        self._room = room
        self.blocks = room.blocks
        self._kept, self._returned = _Scopes(), _Scopes()
        self._scopes = {True: self._kept, False: self._returned, None: None}[room.always]
        self._broken: list[Any] = []
        self._lock = lock
        self.unprepared: _Way | None = None

    def run(self, tensors: list[Any], parameters: list[Any]) -> list[Any]:
        """Run it."""
        scopes = self._scopes
        if scopes is None:
            scopes = self._kept if self._room.suffices(tensors) else self._returned
        _ORDER.enter()
        try:
            depth = GATE.enter()  # before the lock: who has closed the gate may want it
            try:
                with self._lock:
                    scope = scopes.take()
                    if scope is not None:
                        return self._run_in(scope, scopes, tensors, parameters)
            finally:
                GATE.leave(depth)
            # Paddle prepares a program for each scope: nothing else runs then.
            with GATE.alone(), self._lock, self._way(scopes is self._kept):
                return self._run_in(core.Scope(), scopes, tensors, parameters)
        finally:
            _ORDER.leave()

    def _way(self, keeps: bool) -> _Way:
        """How a scope is prepared; that of a ``backward`` that goes on does not count for it."""
        if _backward.way is not None:
            _prepare_in_backward(None)
        if self._room.blocks:
            way = _KEEPING_BLOCKS if keeps else _RETURNING
        else:
            way = _KEEPING if keeps else _AS_SET
        self.unprepared = way
        return way

    def _run_in(
        self, scope: Any, scopes: _Scopes, tensors: list[Any], parameters: list[Any]
    ) -> list[Any]:
        try:
            # Without a tensor Paddle wants None, not an empty list.
            results: list[Any] = _run_program(
                tensors or None, parameters or None, [scope], *self._attributes
            )
        except BaseException:
            # The stacks of a joint program hold what a run saved that did not end.
            if self._joint and scope._can_reused:
                self._broken.append(scope)
            else:
                scopes.put(scope)
            raise
        scopes.put(scope)
        return results


class Program:
    """A captured program made ready to run: for inference, for training, or as one joint program.

    Args:
        main: the captured program; not changed after the first run.
        inputs: its input values.
        outputs: its output values, each once.
        parameters: dygraph tensors and the values that stand for them.
        keep: its runs keep their values until they end where those take no more bytes.
    """

    def __init__(
        self,
        main: Any,
        inputs: list[Any],
        outputs: list[Any],
        parameters: tuple[list[Any], ...],
        *,
        keep: int = 0,
    ) -> None:
        self.main = main
        self.inputs = inputs
        self.outputs = outputs
        self.parameters = parameters
        self._keep = keep
        self._layer = PartialProgramLayer(main, inputs, outputs, parameters)
        # Paddle checks each output for a magic number and drops it; we never yield one.
        self._joint: tuple[Any, list[int]] | None = None
        self._ready: dict[tuple[Any, bool], _Runnable] = {}
        self._inference: _Runnable | None = None
        self._training: _Runnable | None = None
        self._lock = threading.RLock()

    def run(
        self, tensors: list[Any], *, training: bool, parameters: list[Any] | None = None
    ) -> list[Any]:
        """Run the program; with ``training`` the outputs can be differentiated.

        Args:
            tensors: the inputs.
            training: whether the outputs can be differentiated.
            parameters: what it reads as its parameters, if other tensors than usual.
        """
        read = self.parameters[0] if parameters is None else parameters
        ready = self._training if training else self._inference
        if ready is None:
            ready = self._prepared(self._layer, training)
            if training:
                self._training = ready
            else:
                self._inference = ready
        return ready.run(tensors, read)

    def enter_backward(self) -> None:
        """To be called when ``backward`` comes to what a training run has given."""
        ready = self._training
        if ready is None:
            return
        if ready.blocks:  # always: this scope's backward may be the first one of several
            _prepare_in_backward(_RETURNING)
        elif ready.unprepared is not None:
            _prepare_in_backward(ready.unprepared)
        ready.unprepared = None

    def prepare(self, *, training: bool) -> None:
        """Build what :meth:`run` needs, so that what cannot be built is known before."""
        self._prepared(self._layer, training)

    def prepare_gradients(self) -> None:
        """Build what :meth:`gradients` runs."""
        if self._joint is not None:
            return
        with static_lock, keep_mode():
            if self._joint is None:
                refuse_untried(self.main)
                with coded_gradients(), no_collection():
                    joint = self._build_joint()
                    self._prepared(joint[0], False)
                self._joint = joint

    def differentiated(self) -> list[Any]:
        """The programs that compute its gradients, those that have been built."""
        built = [layer.train_program.program for layer, training in self._ready if training]
        if self._joint is not None:
            built.append(self._joint[0].infer_program.program)
        return built

    def gradients(
        self, tensors: list[Any], output_gradients: list[Any], parameters: list[Any]
    ) -> list[Any | None]:
        """Run the forward again together with its gradients, as one program.

        Args:
            tensors: the inputs of the forward.
            output_gradients: one tensor for each output with ``stop_gradient=False``.
            parameters: the tensors that the forward has read as its parameters.

        Returns:
            The gradient of each input and then of each parameter; ``None`` where there is none.
        """
        self.prepare_gradients()
        joint = self._joint
        assert joint is not None
        layer, found = joint
        with coded_gradients():
            results = self._prepared(layer, False).run([*tensors, *output_gradients], parameters)
        gradients: list[Any | None] = [None] * (len(self.inputs) + len(self.parameters[0]))
        for position, result in zip(found, results, strict=True):
            gradients[position] = result
        return gradients

    def _prepared(self, layer: Any, training: bool) -> _Runnable:
        """What is run; built on first use, with the repaired gradients."""
        known = self._ready.get((layer, training))
        if known is not None:
            return known
        joint = layer is not self._layer
        lean = not (training or joint)
        with static_lock, keep_mode(), no_collection(), repaired_build(lean=lean) as made:
            known = self._ready.get((layer, training))
            if known is None:
                attributes = self._attributes(layer, training)
                built = layer.train_program if training else layer.infer_program
                room = Room(built.program, self._keep, handed_over=made.handed_over)
                known = _Runnable(attributes, self._lock, room, joint=joint)
                self._ready[layer, training] = known
            return known

    def _attributes(self, layer: Any, training: bool) -> Any:
        layer.training = training
        # Building a training program tells each parameter the type of its gradient, which drops
        # a gradient that it already has.
        gradients = [(tensor, tensor.grad) for tensor in layer._params]
        try:
            if not training:
                return layer._prepare_attributes(in_sot_mode=False)
            refuse_untried(self.main)
            with coded_gradients():
                keep_read_inside(layer.train_program)
                return layer._prepare_attributes(in_sot_mode=False)
        finally:
            for tensor, gradient in gradients:
                if gradient is not None and tensor.grad is None:
                    tensor.grad = gradient

    @switch_to_static_graph  # type: ignore[untyped-decorator]
    def _build_joint(self) -> tuple[Any, list[int]]:
        copied = self._layer.origin_runnable_program.clone()
        inputs, parameters = list(copied.x_values), list(copied.param_values)
        outputs = list(copied.out_values)
        for copy, original in zip(outputs, self.outputs, strict=True):
            copy.stop_gradient = original.stop_gradient
        erase_unread(copied.program, "py_op.d2s_host")
        copy_into_loops(copied.program)
        mark_inner_loops(copied.program)
        with paddle.static.program_guard(copied.program):
            wanted = [value for value in outputs if not value.stop_gradient]
            seeds = []
            for index, value in enumerate(wanted):
                seed = paddle.static.data(f"d2s_gradient_{index}", value.shape, value.dtype)
                seeds.append(seed)
            made = differentiate(wanted, [*inputs, *parameters], seeds)
        save_sources(copied.program)
        found = [index for index, value in enumerate(made) if value is not None]
        with paddle.static.program_guard(copied.program):
            results = [paddle.assign(made[index]) for index in found]
        layer = PartialProgramLayer(
            copied.program, [*inputs, *seeds], results, (self.parameters[0], parameters)
        )
        return layer, found


_NO_AMP: Final = core.AmpLevel.O0.value
_NO_AMP_DTYPE: Final = "float32"
"""What a tracer has that no ``auto_cast`` has set; asking for it is cheaper than for the level."""


def amp_state() -> tuple[Any, ...]:
    """What a program depends on of automatic mixed precision."""
    tracer = paddle.framework._dygraph_tracer()
    if tracer is None or tracer._amp_dtype == _NO_AMP_DTYPE or tracer._amp_level.value == _NO_AMP:
        return ()
    return (str(tracer._amp_level), str(tracer._amp_dtype))
