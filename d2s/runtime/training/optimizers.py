"""``optimizer.step()``: what the optimizer itself emits, with values in place of gradients.

It writes into parameters and accumulators where it stands in the program, so what an exception of
the run leaves behind is what dygraph would leave.  The learning rate is asked for on each run::

    opt.step()                          rate = the run's opt.get_lr();  sgd_(w, rate, w.grad)
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import paddle
from paddle.optimizer import Optimizer
from paddle.optimizer.lr import LRScheduler

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.variables import State
from d2s.runtime.control_flow.cond import decide
from d2s.runtime.trace import error_here
from d2s.runtime.training.gradients import Gradients, constant
from d2s.runtime.training.leaves import Leaves
from d2s.runtime.training.optimizer_facts import Facts, ahead, facts_of, is_foreseen
from d2s.runtime.training.parameters import Parameters
from d2s.runtime.training.record import BLOCKS, Lasting, Record
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.objects import owner_of
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, cast_plain, mark_number

Pairs = list[tuple[paddle.Tensor, bridge.Value]]
"""Parameters with their gradients."""

_GET_LR: Final = Optimizer.get_lr
"""Paddle's own, whatever is being captured."""


@dataclass(eq=False)
class Later:
    """A call that a run makes at its end.

    Attributes:
        function: what is called.
        given: its arguments, by position and by keyword; ``None`` on runs that do not call it.
    """

    function: Callable[..., Any]
    given: Any = None


@dataclass
class _Given(Lasting):
    """Whether a branch has had a call be made later, and with what."""

    subject: Later

    def get(self) -> Any:
        return self.subject.given

    def set(self, value: Any) -> None:
        self.subject.given = value


@dataclass
class _Rate(Lasting):
    """The learning rate of an optimizer, as state of a branch.

    Attributes:
        rates: the rates, by the ids of optimizers.
        subject: the optimizer.
    """

    rates: dict[object, bridge.Value]
    subject: Optimizer

    def get(self) -> bridge.Value:
        return self.rates[id(self.subject)]

    def set(self, value: bridge.Value) -> None:
        self.rates[id(self.subject)] = value


class Optimizers:
    """The optimizers and schedulers that one capture has met.

    Args:
        record: what training has added to the program.
        leaves: the leaves.
        gradients: their gradients.
        parameters: what the program writes into.

    Attributes:
        stepped: those that have stepped, by their ids.
        after: the calls that each run makes at its end.
    """

    def __init__(
        self, record: Record, leaves: Leaves, gradients: Gradients, parameters: Parameters
    ) -> None:
        self.stepped: dict[int, Optimizer] = {}
        self.after: list[Later] = []
        self._record = record
        self._leaves = leaves
        self._gradients = gradients
        self._parameters = parameters
        self._rates: dict[object, bridge.Value] = {}
        self._set: dict[int, tuple[Optimizer, Callable[[object], None]]] = {}

    def step(self, optimizer: Optimizer) -> Pairs:
        """``optimizer.step()``; the parameters with their gradients."""
        self._record.check(f"{type(optimizer).__name__}.step()", *BLOCKS)
        _refuse_unknown(optimizer)
        self._record.use()
        self.stepped[id(optimizer)] = optimizer
        several = self._several(optimizer)
        if several is not None:  # on each run with the gradients that it has
            step = functools.partial(self.step, optimizer)
            decide(several.flag, step, step, State(()))
            return []
        done: Pairs = []
        with paddle.no_grad(), self._with_rate(optimizer):
            groups = optimizer._param_groups
            if isinstance(groups[0], dict):
                for group in groups:
                    pairs = self._pairs(group["params"])
                    options = {key: value for key, value in group.items() if key != "params"}
                    done += self._update(optimizer, pairs, group["grad_clip"], options)
            else:
                done += self._update(optimizer, self._pairs(groups), optimizer._grad_clip, None)
        return done

    def _several(self, optimizer: Optimizer) -> Choice | None:
        """A gradient of ``optimizer``'s that only some runs have."""
        for group in optimizer._param_groups:
            for tensor in group["params"] if isinstance(group, dict) else [group]:
                if not tensor.stop_gradient:
                    gradient = self._gradients.read(self._leaves.of_tensor(tensor))
                    if isinstance(gradient, Choice):
                        return gradient
        return None

    def _pairs(self, parameters: list[paddle.Tensor]) -> Pairs:
        pairs = []
        for tensor in parameters:
            if not tensor.stop_gradient:
                gradient = self._gradients.read(self._leaves.of_tensor(tensor))
                if gradient is not None:
                    pairs.append((tensor, gradient))
        return pairs

    def _update(
        self,
        optimizer: Optimizer,
        pairs: Pairs,
        clip: paddle.nn.clip.ClipGradBase | None,
        options: dict[str, Any] | None,
    ) -> Pairs:
        if not pairs:
            return []
        block = paddle.static.default_main_program().global_block()
        parameters = [tensor for tensor, _ in pairs]
        with bridge.in_dygraph(), paddle.no_grad():
            optimizer._create_accumulators(
                block, parameters if options is None else {"params": parameters, **options}
            )
            if getattr(optimizer, "_sign", False):  # constants that Rprop makes in its first step
                optimizer._to_tensor(block, parameters[0].dtype)
                optimizer._sign = False
        known = self._known(optimizer, parameters)
        start = bridge.length()
        if clip is not None:
            pairs = self._clipped(clip, pairs)
        pairs = optimizer.append_regularization_ops(pairs, optimizer.regularization)
        for pair in pairs:
            optimizer._append_optimize_op(
                block, pair if options is None else {"params": pair, **options}
            )
        ending: Any = pairs if options is None else {"params": pairs, **options}
        optimizer._finish_update(block, ending)
        bridge.share_constants(start)
        self._record.stepping |= bridge.ids_from(start)
        for number, fresh in bridge.overwriting(start):
            tensor = known.pop(number, None)
            if tensor is not None:
                old = bridge.as_value(tensor)
                known[fresh.id] = tensor
                if self._record.in_block:
                    self._parameters.bind(tensor, _with_flag(fresh, tensor), changed=True)
                else:
                    self._parameters.moved(tensor, old, fresh)
        return pairs

    def _clipped(self, clip: paddle.nn.clip.ClipGradBase, pairs: Pairs) -> Pairs:
        """Clip the gradients; in dygraph the clip by the global norm changes them in place."""
        found = clipped(clip, pairs)
        if type(clip) is paddle.nn.ClipGradByGlobalNorm:
            for (tensor, before), (_, after) in zip(pairs, found, strict=True):
                if after is not before and after.shape:
                    leaf = self._leaves.of_tensor(tensor)
                    if self._record.in_block:
                        self._gradients.in_branch(leaf, "step()")
                    self._gradients.become(leaf, constant(after), "step()")
        return found

    def _known(
        self, optimizer: Optimizer, parameters: list[paddle.Tensor]
    ) -> dict[int, paddle.Tensor]:
        """The tensors that a step may write into, by the value that stands for them."""
        names = dict.fromkeys(tensor.name for tensor in parameters)
        tensors = list(parameters)
        masters = getattr(optimizer, "_master_weights", {})
        for name in list(names):
            if name in masters:
                tensors.append(masters[name])
                names[masters[name].name] = None
        for table in optimizer._accumulators.values():
            tensors.extend(tensor for name, tensor in table.items() if name in names)
        self._parameters.touched.update((id(tensor), tensor) for tensor in tensors)
        if self._record.in_block:
            return {self._copied(tensor).id: tensor for tensor in tensors}
        return {self._parameters.written(tensor).id: tensor for tensor in tensors}

    def _copied(self, tensor: paddle.Tensor) -> bridge.Value:
        """A value that an optimizer may write into in a branch."""
        self._parameters.join(tensor)
        copied = paddle.assign(bridge.as_value(tensor))
        self._parameters.bind(tensor, _with_flag(copied, tensor), changed=True)
        return copied

    @contextlib.contextmanager
    def _with_rate(self, optimizer: Optimizer) -> Iterator[None]:
        """Let the learning rate of ``optimizer`` be a number that each run asks for."""
        program = paddle.static.default_main_program()
        dtype = optimizer._dtype or paddle.get_default_dtype()
        low = any(name in str(dtype) for name in ("float16", "bfloat16"))
        rate = cast_plain(self.rate(optimizer), "float32" if low else dtype)
        table = optimizer._learning_rate_map
        table[program] = constant(rate)
        try:
            yield
        finally:
            del table[program]

    def rate(self, optimizer: Optimizer) -> bridge.Value:
        """``optimizer.get_lr()``, which each run asks for."""
        scheduler = optimizer._learning_rate
        if self.moved(scheduler):
            rate = self.behind(scheduler, "__call__", lambda which: float(which()))
            if rate is None:
                raise _late(optimizer)
            return rate
        return mark_number(self.asked(id(optimizer), lambda: float(_GET_LR(optimizer))), float)

    def moved(self, scheduler: object) -> bool:
        """Whether a step of ``scheduler`` is what each run makes at its end."""
        return any(owner_of(call.function) is scheduler for call in self.after)

    def behind(
        self, scheduler: LRScheduler, key: object, number: Callable[[LRScheduler], Any]
    ) -> bridge.Value | None:
        """``number(scheduler)`` behind steps of ``scheduler``, which the run makes later.

        Args:
            scheduler: it has stepped.
            key: what is read.
            number: gives it.

        Returns:
            ``None`` where a copy of the scheduler does not tell it.
        """
        mine = [call for call in self.after if owner_of(call.function) is scheduler]
        given = [possible(call.given) for call in mine]
        leaves = [part for each in given for part in _leaves(each)]
        if not is_foreseen(scheduler) or any(part not in (None, ((), {})) for part in leaves):
            return None
        counts = range(len(mine) + 1)
        found = [functools.partial(ahead, scheduler, count, number) for count in counts]
        (kind, *others) = {type(each()) for each in found}
        if others or kind not in NUMBER_DTYPES:
            return None
        numbers = [self.asked((id(scheduler), key, at), each) for at, each in enumerate(found)]
        if not any(isinstance(each, Choice) for each in given):
            return mark_number(numbers[sum(each is not None for each in given)], kind)
        with paddle.no_grad():
            count_ = functools.reduce(operator.add, map(_times, given))
            chosen = paddle.gather(paddle.stack(numbers), count_.reshape([1])).reshape([])
        return mark_number(constant(chosen), kind)

    def asked(self, key: object, number: Callable[[], Any]) -> bridge.Value:
        """``number()``, which each run asks for once, under ``key``, when it begins.

        The runs keep ``number``, and so the optimizer or scheduler whose ``id`` is in ``key``.
        """
        found = self._rates.get(key)
        if found is None:
            ask = self._record.capture.ask
            assert ask is not None
            found = self._rates[key] = ask(f"lr_{len(self._rates)}", number)
        return found

    def set_rate(self, optimizer: Optimizer, rate: object, keep: Callable[[object], None]) -> None:
        """``optimizer.set_lr(rate)``; each run calls ``keep`` with the last rate at its end."""
        self._record.check("a change of the learning rate", *BLOCKS)
        self.rate(optimizer)  # what it is on the other runs
        self._record.use()
        self._record.join_branches("a learning rate", _Rate(self._rates, optimizer))
        fresh = paddle.cast(as_value(rate), NUMBER_DTYPES[float])
        self._rates[id(optimizer)] = mark_number(fresh, float)
        self._set[id(optimizer)] = optimizer, keep

    def rates_set(self) -> Iterator[tuple[Optimizer, Callable[[object], None], bridge.Value]]:
        """The optimizers whose rate was set: what keeps a rate, and that at this point."""
        for optimizer, keep in self._set.values():
            yield optimizer, keep, self._rates[id(optimizer)]

    def later(self, function: Callable[..., Any], *arguments: object, **options: object) -> None:
        """Let each run call ``function`` when the program has run."""
        if any(block.kind == "loop" for block in self._record.capture.blocks):
            raise error_here(
                UnsupportedInGraphError,
                "a scheduler steps in a loop that a tensor decides, where a run, which steps it "
                "last, would have to do so once for each trip",
                "step it behind the loop, or let Python bound the loop by at most 64 trips",
            )
        self._record.check("a step of a scheduler", "branch")
        self._record.use()
        call = Later(function)
        self._record.join_branches("a later call", _Given(call))
        call.given = arguments, options
        self.after.append(call)

    def facts(self) -> list[Facts]:
        """What it relies on of its optimizers, as they are now."""
        return [
            facts_of(optimizer, self._parameters.touched) for optimizer in self.stepped.values()
        ]


def _leaves(given: Any) -> list[Any]:
    return list(given.leaves()) if isinstance(given, Choice) else [given]


def _times(given: Any) -> bridge.Value:
    """How often a call is made that is given ``given``, or ``None``: 1 or 0."""
    if isinstance(given, Choice):
        return paddle.where(given.flag, _times(given.true), _times(given.false))
    return paddle.full([], given is not None, "int64")


class _Named:
    """A parameter as Paddle's gradient clips see it in a program."""

    def __init__(self, tensor: paddle.Tensor) -> None:
        self.tensor = tensor
        self.need_clip = getattr(tensor, "need_clip", True)

    def is_dist_dense_tensor_type(self) -> bool:
        """No program of ours is distributed."""
        return False


def clipped(clip: paddle.nn.clip.ClipGradBase, pairs: Pairs) -> Pairs:
    """``pairs`` with the gradients that ``clip`` makes."""
    if isinstance(clip, paddle.nn.ClipGradByValue):
        return list(clip._dygraph_clip(pairs))
    found = clip._pir_clip([(_Named(tensor), gradient) for tensor, gradient in pairs])
    return [(named.tensor, gradient) for named, gradient in found]


def _with_flag(value: bridge.Value, tensor: paddle.Tensor) -> bridge.Value:
    value.stop_gradient = tensor.stop_gradient
    return value


def _late(optimizer: Optimizer) -> Exception:
    return error_here(
        UnsupportedInGraphError,
        f"the learning rate of {type(optimizer).__name__} is used after a step of its scheduler "
        "in one call",
        "step the scheduler at the end of the function, or outside of it",
    )


KNOWN: Final = tuple(
    getattr(paddle.optimizer, name)
    for name in (
        "SGD", "Momentum", "Adam", "AdamW", "RMSProp", "Adagrad", "Adadelta", "Adamax", "Lamb",
        "NAdam", "RAdam", "Rprop",
    )
    if hasattr(paddle.optimizer, name)
)  # fmt: skip
"""Optimizers whose step was tried inside of a program."""


def _refuse_unknown(optimizer: Optimizer) -> None:
    clips = (
        type(None),
        paddle.nn.ClipGradByValue,
        paddle.nn.ClipGradByNorm,
        paddle.nn.ClipGradByGlobalNorm,
    )
    used = [optimizer._grad_clip]
    used += [group.get("grad_clip") for group in optimizer._param_groups if isinstance(group, dict)]
    name = type(optimizer).__name__
    if type(optimizer) not in KNOWN:
        why = f"{name}.step() is not one that a program can express"
    elif getattr(optimizer, "_use_multi_tensor", False) or optimizer._use_fusion_storage:
        why = f"{name} updates many parameters in one operation, which a program cannot express"
    elif getattr(optimizer, "_lazy_mode", False):
        why = f"{name} with lazy_mode leaves out rows of sparse gradients, which a program has not"
    elif any(type(clip) not in clips for clip in used):
        why = f"{name} clips gradients in a way of its own"
    elif optimizer._get_auxiliary_var("found_inf") is not None:
        why = f"{name} is driven by a GradScaler"
    else:
        return
    raise error_here(
        UnsupportedInGraphError,
        why,
        "call backward(), step() and clear_grad() outside of the converted function",
    )
