"""Programs that run: in the order of their text, with Paddle's split of forward and backward."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

from d2s.errors import LoopGradientError
from d2s.paddle_bridge.capturing.capture import no_collection
from d2s.paddle_bridge.capturing.stacks import unnoted
from d2s.paddle_bridge.flags import ORDER, log_alone
from d2s.paddle_bridge.gate import GATE, keep_mode, static_lock
from d2s.paddle_bridge.gradients.codes import coded_gradients
from d2s.paddle_bridge.gradients.halves import lists_of_run
from d2s.paddle_bridge.names import has_grad
from d2s.paddle_bridge.preparing.constants import Constants
from d2s.paddle_bridge.preparing.memory import Room
from d2s.paddle_bridge.preparing.passes import (
    keep_read_inside,
    refuse_untried,
    repaired_build,
)
from d2s.paddle_bridge.running import joints
from d2s.paddle_bridge.running.backward import BACKWARD, RunScope, alone_with
from d2s.paddle_bridge.running.copies import Copies
from d2s.paddle_bridge.running.joints import Layer
from d2s.paddle_bridge.running.keeping import Kept, Trips
from d2s.paddle_bridge.running.prepared import Scopes, end_unused, run_program, without_gradient
from d2s.paddle_bridge.versions import CALLS_PYTHON

_TRACE: Final = ORDER.flag
_acquire, _release = ORDER.acquire, ORDER.release


class _Runnable:
    """A program that is built, and the scopes that it runs in.

    One program runs in one thread at a time, different ones side by side: with a scope for each
    thread and no lock, Paddle 3.3.1 mixed up values of two runs of one program ("Variable Id
    503511712 is not registered").

    Args:
        attributes: what ``run_program`` needs besides tensors.
        lock: held while it runs; its program's other forms have the same.
        room: which runs keep their values until they end.
        constants: what it finds in the scope around its own.
        joint: forward and gradients are in it.
        training: a backward comes to it.
        absent: inputs, and parameters counted on, that its backward has no gradient for.
        leaves: results without a gradient, which Paddle gives the history of the others.

    Attributes:
        copies: what other threads run meanwhile; ``None``: they wait.
    """

    def __init__(  # noqa: PLR0913  all that a run needs is at hand, not one attribute further away
        self,
        attributes: Any,
        lock: Any,
        room: Room,
        constants: Constants,
        *,
        joint: bool,
        training: bool,
        absent: list[int],
        leaves: list[int],
    ) -> None:
        self.start = self._run_without if absent else self.run
        self._absent = absent
        self._leaves = leaves
        self._constants = constants
        self._training = training
        self._attributes = attributes
        self._joint = joint
        self._room = room
        self._kept, self._returned = Scopes(), Scopes()
        self._scopes = {True: self._kept, False: self._returned, None: None}[room.always]
        self._lock = lock
        self.copies: Copies | None = None

    def run(self, tensors: list[Any], parameters: list[Any]) -> tuple[list[Any], RunScope]:
        """Run it; the results, and the scope that their backward goes through.

        What ``ORDER`` and ``GATE`` do stands here once more, and what :meth:`_run_in` does: all of
        a warm call is one frame, for each more costs as much as what is in it.
        """
        scopes = self._scopes or self._scopes_for(tensors)
        outer = BACKWARD.within
        if outer is not None:
            outer.leave(prepared=False)  # no thread has the locks of two programs
        lock, busy, me = self._lock, GATE.busy, get_ident()
        _acquire()
        try:
            if not ORDER.inside and not _TRACE.value:
                ORDER.before, _TRACE.value, ORDER.changed = False, True, True
            ORDER.inside += 1
        finally:
            _release()
        try:
            depth = busy.get(me, 0)
            busy[me] = depth + 1
            try:
                if GATE.closed_by is not None and not depth:
                    GATE.pass_by(me)  # before the lock: who has closed the gate may want it
                if not lock.acquire(False):  # nearly always free: one call less
                    copy = None if self.copies is None else self.copies.take()
                    if copy is not None:
                        return self._run_copy(copy, tensors, parameters)
                    GATE.acquire(lock)
                try:
                    free = scopes.free
                    scope = free.pop() if free else scopes.take()
                    if scope is not None:
                        inputs, read = tensors or None, parameters or None
                        try:
                            results = run_program(inputs, read, [scope.scope], *self._attributes)
                        except BaseException:
                            self._failed(scope, scopes)
                            raise
                        kept = self._training or (has_grad() and not scope.scope._can_reused)
                        (scopes.held if kept else free).append(scope)
                        for at in self._leaves:
                            results[at] = results[at].detach()
                        return results, scope
                finally:
                    lock.release()
            finally:
                if depth:
                    busy[me] = depth
                else:
                    busy.pop(me, None)
                if GATE.closed_by is not None:
                    GATE.tell()
            return self._run_in_another(scopes, tensors, parameters, alone=outer is None)
        finally:
            _acquire()
            try:
                ORDER.inside -= 1
                if ORDER.changed and not ORDER.inside:
                    _TRACE.value = ORDER.changed = False
            finally:
                _release()
            if outer is not None:
                outer.enter_backward()

    def _scopes_for(self, tensors: list[Any]) -> Scopes:
        """Where it runs if that is a matter of how much the tensors leave of the memory."""
        return self._kept if self._room.suffices(tensors) else self._returned

    def _run_copy(
        self, copy: _Runnable, tensors: list[Any], parameters: list[Any]
    ) -> tuple[list[Any], RunScope]:
        assert self.copies is not None
        try:
            return copy.run(tensors, parameters)
        finally:
            self.copies.put(copy)

    def _run_without(self, tensors: list[Any], parameters: list[Any]) -> tuple[list[Any], RunScope]:
        """:meth:`run`; Paddle makes zeros of a gradient that there is not, unless told of it."""
        return self.run(*self._given(tensors, parameters))

    def _given(self, tensors: list[Any], parameters: list[Any]) -> tuple[list[Any], list[Any]]:
        given = [*tensors, *parameters]
        for at in self._absent:
            given[at] = given[at].detach()
        return given[: len(tensors)], given[len(tensors) :]

    def run_again(self, tensors: list[Any], parameters: list[Any], scope: RunScope) -> None:
        """Run it in the scope of an earlier run, for a backward that needs what that has saved."""
        given = [each or None for each in self._given(tensors, parameters)]
        scope.run_again(lambda inner: run_program(*given, [inner], *self._attributes))

    def _run_in_another(
        self, scopes: Scopes, tensors: list[Any], parameters: list[Any], *, alone: bool
    ) -> tuple[list[Any], RunScope]:
        """Run it in a scope that is made for this run."""
        if alone:
            end_unused()
        keeps = scopes is self._kept
        with alone_with(self._lock, self._room.way(keeps)):
            scope = RunScope(self._lock, self._room.way_of_backward(keeps), self._constants)
            scopes.made(scope)
            return self._run_in(scope, scopes, tensors, parameters), scope

    def _run_in(
        self, scope: RunScope, scopes: Scopes, tensors: list[Any], parameters: list[Any]
    ) -> list[Any]:
        try:
            # Without a tensor Paddle wants None, not an empty list.
            results: list[Any] = run_program(
                tensors or None, parameters or None, [scope.scope], *self._attributes
            )
        except BaseException:
            self._failed(scope, scopes)
            raise
        scopes.put(scope)
        for at in self._leaves:
            results[at] = results[at].detach()
        return results

    def _failed(self, scope: RunScope, scopes: Scopes) -> None:
        # The stacks of a joint program hold what a run saved that did not end.
        if self._joint and scope.is_free:
            scopes.broken.append(scope)
        else:
            scopes.put(scope)


class Program:
    """A captured program made ready to run: for inference, for training, or as one joint program.

    Args:
        main: the captured program; not changed after the first run.
        inputs: its input values.
        outputs: its output values, each once.
        parameters: dygraph tensors and the values that stand for them.
        keep: its runs keep their values until they end where those take no more bytes.
        copies: so many copies may run beside it, where it only computes and is not trained.

    Attributes:
        reached: a backward has come to one of its runs.
    """

    def __init__(
        self,
        main: Any,
        inputs: list[Any],
        outputs: list[Any],
        parameters: tuple[list[Any], ...],
        *,
        keep: int = 0,
        copies: int = 0,
    ) -> None:
        self.main = main
        self.inputs = inputs
        self.outputs = outputs
        self.parameters = parameters
        self.reached = False
        self._keep = keep
        self._copies = copies
        self._layer = Layer(main, inputs, outputs, parameters)
        # Paddle checks each output for a magic number and drops it; we never yield one.
        self._joints: dict[tuple[bool, ...], joints.Again] = {}
        self._twos: dict[tuple[bool, ...], joints.Two | None] = {}
        self._trips: Trips | None = None
        self._layers: dict[tuple[bool, ...] | None, Any] = {None: self._layer}
        self._ready: dict[tuple[Any, bool], _Runnable] = {}
        self._inference: _Runnable | None = None
        self._training: dict[tuple[bool, ...] | None, _Runnable] = {}
        self._lock = threading.RLock()

    def run(self, tensors: list[Any]) -> list[Any]:
        """Run the program on these inputs; nothing can be differentiated."""
        ready = self._inference
        if ready is None:
            ready = self._inference = self._prepared(self._layer, False)
        return ready.run(tensors, self.parameters[0])[0]

    def run_for_training(
        self, tensors: list[Any], parameters: list[Any], wanted: tuple[bool, ...] | None = None
    ) -> tuple[list[Any], RunScope]:
        """Run the program so that its outputs can be differentiated.

        Args:
            tensors: the inputs.
            parameters: what it reads as its parameters.
            wanted: for each output with ``stop_gradient=False`` whether its gradient is gone
                through; those of the others are lost.  ``None``: all are.

        Returns:
            The outputs, and the scope whose ``enter_backward`` is to be called when a backward
            comes to them.
        """
        ready = self._training.get(wanted)
        if ready is None:
            ready = self._training[wanted] = self._prepared(self._layer_for(wanted), True)
        return ready.start(tensors, parameters)

    def run_again(self, tensors: list[Any], parameters: list[Any], scope: RunScope) -> None:
        """Run the program in the scope of :meth:`run_for_training`, for a second backward."""
        self._training[None].run_again(tensors, parameters, scope)

    def _layer_for(self, wanted: tuple[bool, ...] | None) -> Any:
        if wanted is not None and all(wanted):
            wanted = None
        with static_lock:
            layer = self._layers.get(wanted)
            if layer is None:
                # What all have, made once: outputs get names.
                _ = self._layer.origin_runnable_program
                layer = self._layers[wanted] = copy.copy(self._layer)
                layer.wanted = wanted
                for name in {"train_program", "_train_program_id"} & set(vars(layer)):
                    delattr(layer, name)
                layer._prog_attrs_map_cache = {}
            return layer

    def runs(self, *, training: bool) -> Callable[[list[Any], list[Any]], Any]:
        """What :meth:`run_for_training` calls, or :meth:`run`, for who calls it over and over."""
        return self._prepared(self._layer, training).start

    def prepare(self, *, training: bool, wanted: tuple[bool, ...] | None = None) -> None:
        """Build what :meth:`run` needs, so that what cannot be built is known before.

        Args:
            training: build what :meth:`run_for_training` needs.
            wanted: see there.
        """
        self._prepared(self._layer_for(wanted) if training else self._layer, training)

    def prepare_gradients(self, wanted: tuple[bool, ...]) -> joints.Again:
        """Build what :meth:`gradients` runs.

        Args:
            wanted: for each output with ``stop_gradient=False`` whether it gets a gradient.
        """
        joint = self._joints.get(wanted)
        if joint is not None:
            return joint
        with static_lock, keep_mode():
            joint = self._joints.get(wanted)
            if joint is None:
                refuse_untried(self.main)
                with coded_gradients(), no_collection(), unnoted():
                    joint = joints.joint(self._layer, self.outputs, self.parameters[0], wanted)
                    self._prepared(joint.layer, False)
                self._joints[wanted] = joint
            return joint

    def differentiated(self) -> list[Any]:
        """The programs that compute its gradients, those that have been built."""
        built = [layer.train_program.program for layer, training in self._ready if training]
        built += [joint.layer.infer_program.program for joint in self._joints.values()]
        return built

    def gradients(
        self,
        tensors: list[Any],
        output_gradients: list[Any | None],
        parameters: list[Any],
        *,
        then: tuple[list[Any], list[Any]],
    ) -> list[Any | None]:
        """Run the forward again together with its gradients, as one program.

        Args:
            tensors: the inputs of the forward, as they are now.
            output_gradients: one for each output with ``stop_gradient=False``, ``None`` for those
                that get none.
            parameters: the tensors that the forward has read as its parameters.
            then: for both of them tensors that have the contents of then; they may be written.

        Returns:
            The gradient of each input and then of each parameter; ``None`` where there is none.
        """
        seeds = [gradient for gradient in output_gradients if gradient is not None]
        if not seeds:
            return self._found([], [])
        made = self.prepare_gradients(tuple(each is not None for each in output_gradients))
        given = [*tensors, *parameters]
        inputs = [*then[0], *seeds, *(given[at] for at in made.now)]
        with coded_gradients():
            results, _ = self._prepared(made.layer, False).run(inputs, then[1])
        return self._found(made.found, results)

    def gradients_of_kept(
        self, tensors: list[Any], seeds: list[Any], parameters: list[Any], kept: Kept
    ) -> list[Any | None]:
        """The same, from what a run has kept, which is used up."""
        made = self._twos[kept.wanted]
        assert made is not None
        with coded_gradients(), lists_of_run(kept.lists):
            results, _ = self._prepared(made.backward, False).run([*tensors, *seeds], parameters)
        return self._found(made.found, results)

    def _found(self, places: list[int], results: list[Any]) -> list[Any | None]:
        gradients: list[Any | None] = [None] * (len(self.inputs) + len(self.parameters[0]))
        for position, result in zip(places, results, strict=True):
            gradients[position] = result
        return gradients

    def run_keeping(
        self, tensors: list[Any], parameters: list[Any], wanted: tuple[bool, ...]
    ) -> tuple[list[Any], Kept] | None:
        """Run a program with loops, keeping what the gradients read.

        Args:
            tensors, parameters: see :meth:`run_for_training`.
            wanted: for each output with ``stop_gradient=False`` whether it is to get a gradient.

        Returns:
            The outputs, and what :meth:`gradients` is to be told; ``None`` where that does not pay
            or cannot be.
        """
        made = self.prepare_keeping(tensors, wanted)
        if made is None:
            return None
        kept = Kept(wanted, [[] for _ in range(made.lists)])
        with lists_of_run(kept.lists):
            results, _ = self._prepared(made.forward, False, kept=True).run(tensors, parameters)
        return results, kept

    def prepare_keeping(self, tensors: list[Any], wanted: tuple[bool, ...]) -> joints.Two | None:
        """What :meth:`run_keeping` runs; ``None`` where that does not pay or cannot be."""
        if self._trips is None:
            self._trips = Trips(self.main)
        if not (CALLS_PYTHON and self._trips.pay(tensors)):
            return None
        if wanted not in self._twos:
            with static_lock, keep_mode():
                if wanted not in self._twos:
                    refuse_untried(self.main)
                    self._twos[wanted] = None
                    # Where Paddle fails, the joint program says so, if it does, too.
                    with contextlib.suppress(LoopGradientError), coded_gradients():
                        with no_collection(), unnoted():
                            tensors = self.parameters[0]
                            made = joints.two(self._layer, self.outputs, tensors, wanted)
                            if made is not None:
                                self._prepared(made.forward, False, kept=True)
                                self._prepared(made.backward, False)
                        self._twos[wanted] = made
        return self._twos[wanted]

    def _prepared(self, layer: Any, training: bool, *, kept: bool = False) -> _Runnable:
        """What is run; built on first use, with the repaired gradients.

        Args:
            layer: Paddle's split of the program.
            training: Paddle's backward comes to it.
            kept: what it computes is kept for a backward of ours.
        """
        known = self._ready.get((layer, training))
        if known is not None:
            return known
        joint = layer not in self._layers.values()
        stopping = [at for at, value in enumerate(self.outputs) if value.stop_gradient]
        with (
            static_lock,
            keep_mode(),
            no_collection(),
            unnoted(),
            repaired_build(backward_to_come=training or kept) as made,
        ):
            known = self._ready.get((layer, training))
            if known is None:
                attributes = self._attributes(layer, training)
                built = layer.train_program if training else layer.infer_program
                runs = built.program if training else built.forward_program
                room = Room(runs, self._keep, keeps_blocks=made.keeps_blocks)
                known = _Runnable(
                    attributes,
                    self._lock,
                    room,
                    made.constants,
                    joint=joint,
                    training=training,
                    absent=without_gradient(built) if training else [],
                    leaves=stopping if training else [],
                )
                self._ready[layer, training] = known
                if training or joint:
                    self._run_alone()
                elif self._copies:
                    known.copies = Copies(self._copy, self._copies)
            return known

    def _copy(self) -> _Runnable:
        """The same, prepared once more, to be run without gradients."""
        copy = Program(self.main, self.inputs, self.outputs, self.parameters, keep=self._keep)
        return copy._prepared(copy._layer, False)

    def _run_alone(self) -> None:
        """Let nothing run beside it: Paddle loses tensors where it is trained meanwhile."""
        self._copies = 0
        for runnable in self._ready.values():
            runnable.copies = None

    def _attributes(self, layer: Any, training: bool) -> Any:
        layer.training = training
        # Building a training program tells each parameter the type of its gradient, which drops
        # a gradient that it already has.
        gradients = [(tensor, tensor.grad) for tensor in layer._params]
        try:
            if not training:
                with log_alone():
                    return layer._prepare_attributes(in_sot_mode=False)
            refuse_untried(self.main)
            with log_alone(), coded_gradients():
                keep_read_inside(layer.train_program)
                return layer._prepare_attributes(in_sot_mode=False)
        finally:
            for tensor, gradient in gradients:
                if gradient is not None and tensor.grad is None:
                    tensor.grad = gradient
