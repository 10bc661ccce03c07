"""The two peers that run a program written by hand: an Executor, and the floor.

Both take the program from one description, :class:`ByHand`; values of parameters are those of the
dygraph layer, so results can be compared.  Touches names of Paddle that are not public: the floor
is the call that Paddle's own converters, and d2s, end in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import paddle
from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer

from d2s.bench.rounds import Calls, seconds
from d2s.bench.values import Array, arrays
from d2s.bench.work import Work

core = paddle.base.core

_USUAL: Final[dict[str, Any]] = {
    "FLAGS_new_executor_serial_run": False,
    "FLAGS_enable_pir_in_executor_trace_run": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
}

MODES: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "serial": {"FLAGS_new_executor_serial_run": True},
    "trace": {"FLAGS_enable_pir_in_executor_trace_run": True},
}
"""The ways in which Paddle's interpreter runs a program, and the flags that choose them."""

_KEEPING: Final[dict[str, Any]] = {"FLAGS_eager_delete_tensor_gb": -1.0}
"""Values stay until the run ends: not with branches or loops, which would write over them."""

_TRIALS: Final = 5
_TRIAL_S: Final = 0.2
"""How often a mode is tried; less often if that takes long."""


@dataclass(frozen=True)
class ByHand:
    """A program as an expert would write it.

    Attributes:
        build: given the layer, if there is one, and the inputs, the result.
        layer: makes the layer, anew in the program.
        optimizer: given the layer's parameters, what ``minimize`` is called on.
    """

    build: Callable[..., Any]
    layer: Callable[[], paddle.nn.Layer] | None = None
    optimizer: Callable[[Any], Any] | None = None


class Written:
    """The program of a :class:`ByHand` for some work, its parameters filled.

    Args:
        plan: the description.
        make: the work whose arguments and parameters it takes.
    """

    def __init__(self, plan: ByHand, make: Callable[[], Work]) -> None:
        paddle.seed(0)
        work = make()
        self.tensors: list[Any] = list(work.arguments)
        state = _layer_of(work)
        paddle.enable_static()
        self.main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(self.main, startup):
            layers = [] if plan.layer is None else [plan.layer()]
            self.inputs = [
                paddle.static.data(f"x{index}", each.shape, each.dtype)
                for index, each in enumerate(self.tensors)
            ]
            for value, tensor in zip(self.inputs, self.tensors, strict=True):
                value.stop_gradient = tensor.stop_gradient
            result = plan.build(*layers, *self.inputs)
            self.outputs = list(result) if isinstance(result, list | tuple) else [result]
            leaves = [value for value in self.inputs if not value.stop_gradient]
            for layer in layers:
                leaves += [value for value in layer.parameters() if not value.stop_gradient]
            if plan.optimizer is not None:
                plan.optimizer(layers[0].parameters()).minimize(self.outputs[0])
            elif work.kind == "gradient":
                self.outputs += paddle.static.gradients(self.outputs, leaves)
        self.executor = paddle.static.Executor()
        self.executor.run(startup)
        self.watched = [] if plan.optimizer is None else [each.name for each in leaves]
        if layers and state is not None:
            own = layers[0].state_dict()
            for key, tensor in state.state_dict().items():
                self.variable(own[key].name).set(np.array(tensor), paddle.CPUPlace())

    def variable(self, name: str) -> Any:
        """A variable of the Executor, by name."""
        return paddle.static.global_scope().var(name).get_tensor()

    def parameters(self) -> tuple[dict[str, Any], list[Any]]:
        """What the program holds: dygraph tensors by name, and the values that stand for them."""
        values: dict[str, Any] = {}
        for operation in self.main.global_block().ops:
            attributes = operation.attrs()
            if operation.name() == "builtin.parameter":
                values[attributes["parameter_name"]] = operation.result(0)
            elif operation.name() == "pd_op.data" and attributes.get("persistable") == [True]:
                values[attributes["name"]] = operation.result(0)  # the learning rate
        paddle.disable_static()
        tensors = {name: paddle.to_tensor(np.array(self.variable(name))) for name in values}
        for name, tensor in tensors.items():
            tensor.name = name
        return tensors, list(values.values())


def _layer_of(work: Work) -> paddle.nn.Layer | None:
    """The layer whose parameters the work has."""
    if isinstance(work.function, paddle.nn.Layer):
        return work.function
    cells = getattr(work.function, "__closure__", None) or ()
    found = [cell.cell_contents for cell in cells]
    layers = [each for each in found if isinstance(each, paddle.nn.Layer)]
    return layers[0] if layers else None


class _ByExecutor:
    def __init__(self, written: Written) -> None:
        self._written = written
        self._feed = {f"x{index}": np.array(each) for index, each in enumerate(written.tensors)}
        self._last: list[Any] = []

    def __call__(self) -> None:
        written = self._written
        self._last = written.executor.run(
            written.main, feed=self._feed, fetch_list=written.outputs, return_numpy=False
        )

    def values(self) -> list[Array | None]:
        watched = [np.array(self._written.variable(name)) for name in self._written.watched]
        return [*arrays(self._last), *watched]


class _ByRunProgram:
    def __init__(self, written: Written) -> None:
        self._named, values = written.parameters()
        self._watched = written.watched
        self._given = PartialProgramLayer._valid_vars(written.tensors)
        self._held = PartialProgramLayer._valid_vars(list(self._named.values()))
        layer = PartialProgramLayer(
            written.main, written.inputs, written.outputs, (list(self._named.values()), values)
        )
        layer.training = False
        self._attributes = layer._prepare_attributes(in_sot_mode=False)
        self._scopes = [core.Scope()]
        self._last: Any = None
        names = {operation.name() for operation in written.main.global_block().ops}
        self._modes = dict(MODES)
        if not names & {"pd_op.if", "pd_op.while"}:
            self._modes |= {f"{mode}, keeping": MODES[mode] | _KEEPING for mode in MODES}

    def __call__(self) -> None:
        self._last = paddle._C_ops.run_program(
            self._given, self._held, self._scopes, *self._attributes
        )

    def values(self) -> list[Array | None]:
        return arrays([list(self._last), [self._named[name] for name in self._watched]])

    def choose(self) -> str:
        """Run in the fastest mode from now on; its name."""
        taken = {mode: self._trial(flags) for mode, flags in self._modes.items()}
        best = min(taken, key=lambda mode: taken[mode])
        self._enter(self._modes[best])
        return best

    def _trial(self, flags: dict[str, Any]) -> float:
        self._enter(flags)
        self()
        times: list[float] = []
        while len(times) < _TRIALS and sum(times) < _TRIAL_S:
            times.append(seconds(self, 2))
        return min(times)

    def _enter(self, flags: dict[str, Any]) -> None:
        paddle.set_flags(_USUAL | flags)
        self._scopes = [core.Scope()]  # what was prepared for a scope keeps its mode


def by_executor(plan: ByHand, make: Callable[[], Work]) -> Calls:
    """The task of the peer ``by-hand``."""
    return Calls(_ByExecutor(Written(plan, make)))


def by_run_program(plan: ByHand, make: Callable[[], Work]) -> Calls:
    """The task of the peer ``floor``."""
    with paddle.no_grad():
        trial = _ByRunProgram(Written(plan, make))
        mode = trial.choose()
    # The trial has changed what the program writes into.
    call = _ByRunProgram(Written(plan, make))
    return Calls(call, paddle.no_grad, note=f"{mode} interpreter")
