"""Whole training steps in one program: ``loss.backward()``, ``opt.step()``, ``opt.clear_grad()``.

While a program is captured, ``backward()`` adds the gradients to it and keeps them as the ``.grad``
of each leaf: a parameter, an argument, or a tensor of the function's own with
``stop_gradient=False``.  What was in ``.grad`` before the call is read by each run.  An optimizer's
step is what the optimizer itself emits, with values in place of gradients; it writes into
parameters and accumulators where it stands in the program, so what an exception of the run leaves
behind is what dygraph would leave.  The learning rate is asked for on each run.

    before                              in the program
    loss.backward()                     g = gradient of loss; w.grad = old w.grad + g
    opt.step()                          sgd_(w, rate, w.grad)
    opt.clear_grad()                    each run: w.clear_gradient()

:class:`Steps` holds the state of one capture; ``program.steps`` says what each run does with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import paddle
from paddle.optimizer.lr import LRScheduler

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location, here
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.inplace import bind_anew, method
from d2s.runtime.aliasing.storage import with_contents
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.training.trained import Contents, Gradient, join_branches
from d2s.runtime.values.empties import enter_blocks
from d2s.runtime.values.objects import owner_of
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    cast_plain,
    is_tensor,
    mark_number,
    number_kind,
    root_of,
)

SCALARS: Final = (bool, int, float, str, type(None))


class _Mark:
    """What a gradient is where it is no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNTOUCHED: Final = _Mark("as before the call")
CLEARED: Final = _Mark("zero if there was one")
DROPPED: Final = _Mark("none")
ZEROS: Final = _Mark("zero")


@dataclass(eq=False)
class Leaf:
    """A tensor at which gradients arrive.

    Attributes:
        tensor: the dygraph tensor; ``None`` for an argument, or a tensor of the function's own.
        index: the argument's; ``None`` for any other.
        like: a value with its dtype and shape.
        grad: its gradient at this point of the capture, or a mark.
        found: whether it had a gradient when the call began; ``None`` while nobody has asked.
        content: the value of that gradient.
        stored: the dygraph tensor that stands for it.
        nothing: a tensor without elements, to take its place between the runs.
        alone: the argument's gradient does not add to that of before the call.
        shown: the user's code has got the gradient, and may have kept it.
        stops: what the gradient says of itself: ``stop_gradient``.
        place: where the user's code has asked for the gradient of an argument.
    """

    tensor: Any
    index: int | None
    like: Any
    grad: Any = UNTOUCHED
    found: bool | None = None
    content: Any = None
    stored: Any = None
    nothing: Any = None
    alone: bool = False
    shown: bool = False
    stops: bool = False
    place: Location | None = None

    @property
    def changed(self) -> bool:
        """Whether the call leaves another gradient than it has found."""
        return self.grad is not UNTOUCHED and self.grad is not self.content

    @property
    def added(self) -> bool:
        """Whether the gradient of before the call is read, zero if there is none."""
        return self.stored is not None and self.found is None


@dataclass
class Facts:
    """What a captured step relies on of its optimizer."""

    optimizer: Any
    keys: tuple[str, ...]
    scalars: tuple[Any, ...]
    parts: tuple[tuple[Any, dict[str, Any]], ...]
    parameters: tuple[tuple[Any, bool], ...]
    accumulators: tuple[tuple[dict[str, Any], str, Any], ...]

    def hold(self) -> bool:
        """Whether it is all as it was."""
        # Plain loops: this is part of every call.
        fields = vars(self.optimizer)
        if tuple(map(fields.get, self.keys)) != self.scalars:
            return False
        parts = _parts(self.optimizer)
        if len(parts) != len(self.parts):
            return False
        for now, (part, before) in zip(parts, self.parts, strict=True):
            if now is not part or _plain_fields(part) != before:
                return False
        parameters = _parameters(self.optimizer)
        if len(parameters) != len(self.parameters):
            return False
        for now, (tensor, flag) in zip(parameters, self.parameters, strict=True):
            if now is not tensor or tensor.stop_gradient != flag:
                return False
        for table, name, kept in self.accumulators:  # noqa: SIM110 - a generator costs more
            if table.get(name) is not kept:
                return False
        return True


_CHANGING: Final = frozenset(("_learning_rate", "_need_refuse", "_fuse_buffer_version"))
"""Fields of an optimizer that steps change, or that each run asks for."""


def _facts(optimizer: Any, before: dict[int, Any]) -> Facts:
    """The facts of ``optimizer``; ``before`` are the accumulators by their identity."""
    fields = {
        key: value
        for key, value in vars(optimizer).items()
        if isinstance(value, SCALARS) and key not in _CHANGING
    }
    return Facts(
        optimizer,
        tuple(fields),
        tuple(fields.values()),
        tuple((part, _plain_fields(part)) for part in _parts(optimizer)),
        tuple((tensor, tensor.stop_gradient) for tensor in _parameters(optimizer)),
        tuple(
            (table, name, tensor)
            for table in optimizer._accumulators.values()
            for name, tensor in table.items()
            if id(tensor) in before
        ),
    )


def _parts(optimizer: Any) -> list[Any]:
    """The objects that say how ``optimizer`` clips and decays, and its groups."""
    found = [optimizer._grad_clip, optimizer.regularization]
    groups = optimizer._param_groups
    for group in groups if isinstance(groups[0], dict) else ():
        found += [group, group.get("grad_clip"), group.get("weight_decay")]
    return [part for part in found if part is not None and not isinstance(part, SCALARS)]


def _plain_fields(part: Any) -> dict[str, Any]:
    fields = part if isinstance(part, dict) else vars(part)
    return {key: value for key, value in fields.items() if isinstance(value, SCALARS)}


def _parameters(optimizer: Any) -> list[Any]:
    groups: list[Any] = optimizer._param_groups
    if not isinstance(groups[0], dict):
        return groups
    return [tensor for group in groups for tensor in group["params"]]


class Steps:
    """The training that one capture has met.

    Attributes:
        capture: the capture.
        leaves: every leaf, by the identity of its tensor, the argument's index, or the value.
        made: ids of operations that are there for gradients, and have none themselves.
        shown: ids of all operations that are there for gradients.
        used: a gradient was made, or a gradient or parameter changed.
        optimizers: those that have stepped.
        after: what each run does at its end: functions with arguments of the program.
        originals: for tensors that the program writes into, what stood for them first.
        flags: tensors whose ``stop_gradient`` the function has set, with what it was before, and
            what it is in the end.
    """

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.leaves: dict[Any, Leaf] = {}
        self.made: set[int] = set()
        self.shown: set[int] = set()
        self.used = False
        self.optimizers: dict[int, Any] = {}
        self.after: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self.originals: dict[int, tuple[Any, Any]] = {}
        self.flags: dict[int, tuple[Any, bool, bool]] = {}
        self._stopped: dict[int, Any] = {}
        self._values: dict[int, tuple[Any, Leaf]] = {}
        self._rates: dict[int, Any] = {}
        self._touched: dict[int, Any] = {}
        self._contents: dict[int, Any] = {}
        self._stepping: set[int] = set()
        self._retained: set[Leaf] = set()
        self._unwritten: set[int] = set()

    # -- leaves ----------------------------------------------------------------------------------

    def of_tensor(self, tensor: Any) -> Leaf:
        """The leaf that a dygraph tensor is."""
        leaf = self.leaves.get(id(tensor))
        if leaf is None:
            value = bridge.as_value(tensor)
            if not tensor.is_leaf:
                raise error_here(
                    UnsupportedInGraphError,
                    "backward() inside of the function would go on into a computation outside of "
                    "it, which has made a tensor that the function reads",
                    "compute it inside of the function, or read a .detach() of it",
                )
            if bridge.has_hooks(tensor):
                raise error_here(
                    UnsupportedInGraphError,
                    f"the gradient of {tensor.name!r} is changed by a hook that was set outside of "
                    "the function, where backward() is part of the program",
                    "call backward() outside of the function, or change .grad inside of it",
                )
            leaf = self.leaves[id(tensor)] = Leaf(tensor, None, value)
            self._values[value.id] = value, leaf
        return leaf

    def of_value(self, value: Any) -> Leaf | None:
        """The leaf whose contents ``value`` is, or ``None``."""
        known = self._values.get(value.id)
        if known is not None:
            return known[1]
        index = root_of(value)
        if index is not None and index >= 0:
            return self._new(value, ("argument", index), index)
        if value.stop_gradient:
            return None
        tensor = bridge.tensor_of(value)
        if tensor is not None:
            return self.of_tensor(tensor)
        if self._is_own_leaf(value):
            return self._new(value, ("value", value.id), None)
        return None

    def _is_own_leaf(self, value: Any) -> bool:
        """Whether ``value`` has no history, and was given a gradient."""
        maker = value.get_defining_op()
        if maker is not None and bridge.is_cut(maker):
            return True
        return value.id in self.capture.detached or bridge.is_made_of_constants(value)

    def _new(self, value: Any, key: Any, index: int | None) -> Leaf:
        leaf = self.leaves.get(key)
        if leaf is None:
            leaf = self.leaves[key] = Leaf(None, index, value)
            if index is None:
                leaf.found = False
        self._values[value.id] = value, leaf
        return leaf

    def is_leaf(self, value: Any) -> bool:
        """Whether ``value`` is a leaf, not one whose gradient is kept as well."""
        leaf = self.of_value(value)
        return leaf is not None and leaf not in self._retained

    def begins_at(self, value: Any) -> bool:
        """Whether ``value`` is a leaf that the function has made, its gradient among them."""
        known = self._values.get(value.id)
        if known is not None:
            return known[1] not in self._retained
        return not value.stop_gradient and self._is_own_leaf(value)

    def retain(self, value: Any) -> None:
        """``value.retain_grads()``: gradients of it are kept as well."""
        if self.of_value(value) is None and not value.stop_gradient:
            self._retained.add(self._new(value, ("value", value.id), None))

    def _reached(self, outputs: list[Any]) -> list[tuple[Any, Leaf]]:
        """The leaves that ``outputs`` depend on, each with the value that they have read."""
        found: dict[int, tuple[Any, Leaf]] = {}
        seen: set[int] = set()
        queue = list(outputs)
        while queue:
            value = queue.pop()
            if value.id in seen or value.stop_gradient:
                continue
            seen.add(value.id)
            leaf = self.of_value(value)
            if leaf is not None:
                found[value.id] = value, leaf
                if leaf.tensor is None and leaf.index is None and leaf not in self._retained:
                    self._stepping.add(bridge.id_of_maker(value))  # it may go on in Paddle's eyes
            if leaf is None or leaf in self._retained:
                queue.extend(bridge.sources(value))
        return list(found.values())

    # -- gradients -------------------------------------------------------------------------------

    def backward(self, outputs: list[Any], seeds: list[Any] | None) -> None:
        """Add the gradients of ``outputs`` to those of all leaves."""
        self.check("backward()")
        with paddle.no_grad():
            pairs = [
                (output, bridge.filled_like(output, 1.0) if seed is None else as_value(seed))
                for output, seed in zip(outputs, seeds or [None] * len(outputs), strict=True)
                if not output.stop_gradient
            ]
        reached = self._reached([output for output, _ in pairs])
        if not reached:
            return
        if bridge.makes_sparse_gradients():
            raise error_here(
                UnsupportedInGraphError,
                "backward() goes through an embedding with sparse=True, whose gradient is dense in "
                "a program; optimizers treat the two differently",
                "make the embedding with sparse=False, or call backward() and step() outside of "
                "the converted function",
            )
        self.used = True
        with paddle.no_grad():
            made = self.gradients(
                [output for output, _ in pairs],
                [value for value, _ in reached],
                [seed for _, seed in pairs],
            )
            for (_, leaf), gradient in zip(reached, made, strict=True):
                if gradient is not None:
                    self._add(leaf, _constant(gradient))

    def gradients(
        self, outputs: list[Any], inputs: list[Any], seeds: list[Any] | None, kept: bool = False
    ) -> list[Any]:
        """Gradients as values of the program; with ``kept`` they have gradients themselves."""
        enter_blocks(paddle.static.default_main_program())
        left_out = self.made | self._stepping
        made, gone, operations = bridge.gradients_here(outputs, inputs, seeds, left_out, again=kept)
        self.capture.forget(gone)
        self.shown |= operations
        if not kept:
            self.made |= operations
        return made

    def _add(self, leaf: Leaf, gradient: Any) -> None:
        if isinstance(leaf.grad, _Mark):
            if leaf.grad is UNTOUCHED and leaf.found is not False and leaf.tensor is not None:
                gradient = self._content(leaf) + gradient
        else:
            gradient = leaf.grad + gradient
        self._become(leaf, _constant(gradient), "backward()")

    def _become(self, leaf: Leaf, gradient: Any, what: str) -> None:
        """Give ``leaf`` another gradient; in dygraph it is the same tensor with other contents."""
        old = leaf.grad
        if leaf.shown and not isinstance(old, _Mark):
            if gradient is ZEROS:
                with paddle.no_grad():
                    gradient = _constant(bridge.filled_like(leaf.like, 0.0))
            if not isinstance(gradient, _Mark):
                bind_anew(old, self._as_leaf(leaf, gradient), what)
        leaf.grad = gradient

    def _as_leaf(self, leaf: Leaf, gradient: Any) -> Any:
        """``gradient`` of ``leaf`` as user code meets it: in dygraph it is a leaf itself."""
        gradient.stop_gradient = leaf.stops
        if not leaf.stops and gradient.id not in self._values:
            own = self.leaves["gradient", gradient.id] = Leaf(None, None, gradient, found=False)
            self._values[gradient.id] = gradient, own
        return gradient

    def _content(self, leaf: Leaf) -> Any:
        """The gradient that the leaf has when the call begins; zero if it may have none."""
        if leaf.content is None:
            with bridge.in_dygraph(), paddle.no_grad():
                leaf.stored = paddle.empty_like(leaf.tensor)
                leaf.nothing = paddle.empty([0], leaf.tensor.dtype)
                leaf.stored.name = f"d2s_gradient_of_{leaf.tensor.name}"
            leaf.content = bridge.as_value(leaf.stored)
            leaf.content.stop_gradient = True
            found = real_gradient(leaf.tensor)
            leaf.stops = found is not None and bool(found.stop_gradient)
        return leaf.content

    def stands_for(self, tensor: Any) -> bool:
        """Whether ``tensor`` is where runs put a gradient: no tensor of the user's state."""
        return any(leaf.stored is tensor for leaf in self.leaves.values())

    def _ask(self, leaf: Leaf) -> bool:
        """Whether the leaf has a gradient when the call begins; the program relies on it."""
        if leaf.found is None:
            leaf.found = leaf.tensor is not None and real_gradient(leaf.tensor) is not None
            leaf.place = here()
        return leaf.found

    def read(self, leaf: Leaf) -> Any:
        """``leaf.grad`` as a value, or ``None``."""
        if leaf.grad is UNTOUCHED:
            leaf.grad = self._content(leaf) if self._ask(leaf) else UNTOUCHED
        elif leaf.grad is CLEARED:
            leaf.grad = ZEROS if self._ask(leaf) else DROPPED
        elif leaf.index is not None:
            self._ask(leaf)
        if leaf.grad is ZEROS:
            leaf.alone = True
            if self.capture.blocks and leaf.tensor is not None:  # the code around reads it, too
                with bridge.in_dygraph(), paddle.no_grad():
                    nothing = paddle.zeros_like(leaf.tensor)
                leaf.grad = _constant(bridge.as_value(nothing))
                return leaf.grad
            with paddle.no_grad():
                leaf.grad = _constant(bridge.filled_like(leaf.like, 0.0))
        return None if isinstance(leaf.grad, _Mark) else leaf.grad

    def show(self, leaf: Leaf) -> Any:
        """:meth:`read` for the user's code, which may keep what it gets."""
        leaf.shown = True
        gradient = self.read(leaf)
        return None if gradient is None else self._as_leaf(leaf, gradient)

    def clear(self, leaf: Leaf, zero: bool) -> None:
        """``leaf.clear_gradient(zero)``."""
        if self.capture.blocks:
            if self._in_branch(leaf, "clear_gradient()", keeps=zero):
                with paddle.no_grad():
                    nothing = _constant(bridge.filled_like(leaf.like, 0.0))
                self._become(leaf, nothing, "clear_gradient()")
            return
        self.check("clear_gradient()")
        self.used = True
        leaf.alone = True
        if not zero:
            leaf.grad = DROPPED
        elif leaf.grad is UNTOUCHED:
            leaf.grad = CLEARED
        elif not isinstance(leaf.grad, _Mark):
            self._become(leaf, ZEROS, "clear_gradient()")

    def assign(self, leaf: Leaf, gradient: Any) -> None:
        """``leaf.grad = gradient``."""
        what = "an assignment to .grad"
        if self.capture.blocks:
            if not self._in_branch(leaf, what, keeps=gradient is not None):
                self.check(what)
        else:
            self.check(what)
        self.used = True
        leaf.alone = True
        if gradient is None:
            leaf.grad = DROPPED
        else:
            if leaf.grad is UNTOUCHED:
                leaf.stops = leaf.tensor is None or real_gradient(leaf.tensor) is None
            with paddle.no_grad():
                copy = _constant(paddle.assign(as_value(gradient)))
            self._become(leaf, copy, "an assignment to .grad")

    def _in_branch(self, leaf: Leaf, what: str, *, keeps: bool) -> bool:
        """Whether a branch has the gradient of ``leaf``, which it is about to change.

        Args:
            leaf: the leaf.
            what: the change, for messages.
            keeps: the leaf has a gradient after it, too.
        """
        self.check(what, branches=True)
        there = self.read(leaf) is not None
        if there and not keeps:
            self.check(what)  # whether there is one would depend on the run
        if there:
            self.used = True
            leaf.alone = True
            join_branches(self.capture, f"gradient of {leaf.like.name}", Gradient(self, leaf))
        return there

    def put_gradient(self, leaf: Leaf, gradient: Any) -> None:
        """Let ``gradient`` be that of ``leaf``, as a branch leaves it."""
        leaf.grad = gradient if isinstance(gradient, _Mark) else self._as_leaf(leaf, gradient)

    def _leaf_with(self, gradient: Any) -> Leaf | None:
        """The leaf whose gradient the value ``gradient`` is."""
        for leaf in self.leaves.values():
            if bridge.is_value(leaf.grad) and leaf.grad.id == gradient.id:
                return leaf
        return None

    def is_gradient(self, value: Any) -> bool:
        """Whether ``value`` is the gradient of a leaf."""
        return self._leaf_with(value) is not None

    def renewed(self, old: Any, fresh: Any) -> Any:
        """``fresh``, the contents of ``old`` after a change in place, as the right leaf."""
        leaf = self._leaf_with(old)
        if leaf is not None:
            what = "a change of a gradient in place"
            if self.capture.blocks:
                self._in_branch(leaf, what, keeps=True)
            else:
                self.check(what)
            self.used = True
            leaf.grad = self._as_leaf(leaf, fresh)
            return fresh
        known = self._values.get(old.id)
        if known is None and not old.stop_gradient and not paddle.is_grad_enabled():
            leaf_of_old = self.of_value(old)
            known = None if leaf_of_old is None else (old, leaf_of_old)
        if known is None or paddle.is_grad_enabled():
            return fresh
        fresh.stop_gradient = True
        copy = paddle.assign(fresh)
        copy.stop_gradient = known[0].stop_gradient
        self._values[copy.id] = copy, known[1]
        return copy

    # -- parameters ------------------------------------------------------------------------------

    @staticmethod
    def keeps(thing: Any) -> bool:
        """Whether ``thing`` is a tensor that a change in place leaves the same object."""
        return bridge.is_eager(thing) and not thing.stop_gradient

    def overwrite(self, tensor: Any, fresh: Any) -> None:
        """Give a dygraph tensor other contents, which every later use of it reads."""
        what = "a change of a parameter"
        self.check(what, branches=True)
        branched = bool(self.capture.blocks)
        old = bridge.as_value(tensor) if branched else self._written(tensor)
        fresh = cast_plain(fresh, old.dtype)
        if list(fresh.shape) != list(old.shape):
            fresh = paddle.expand(fresh, old.shape)
        if branched:
            self._join(tensor)
            with paddle.enable_grad():
                self.bind(tensor, with_contents(old, fresh), changed=True)
            return
        start = bridge.length()
        with paddle.no_grad():
            fresh = bridge.write_into(old, fresh)
        old.stop_gradient = tensor.stop_gradient  # which it takes from the contents
        bridge.cut(fresh)
        self._moved(tensor, old, fresh)
        if not self.used and self.capture.gradients:
            self._read_with_history(tensor, fresh)
        self._stepping |= bridge.ids_from(start)

    def _join(self, tensor: Any) -> None:
        """Let the branches around hand on the contents of ``tensor``."""
        slot = Contents(self, tensor, bridge.as_value(tensor))
        join_branches(self.capture, tensor.name, slot)

    def bind(self, tensor: Any, value: Any, *, changed: bool) -> None:
        """Let ``value`` stand for ``tensor``; ``changed``: the memory has other contents."""
        (self._unwritten.add if changed else self._unwritten.discard)(id(tensor))
        bridge.renew(tensor, value)

    def _read_with_history(self, tensor: Any, fresh: Any) -> None:
        """Let later uses of a parameter that has new contents give it gradients.

        The program itself may be differentiated, where a gradient arrives at its first value.
        """
        self._contents[id(tensor)] = fresh
        with paddle.enable_grad():
            read = with_contents(self.originals[id(tensor)][1], fresh)
        bridge.renew(tensor, read)
        self._values[read.id] = read, self.leaves[id(tensor)]

    def _written(self, tensor: Any) -> Any:
        """The value whose memory is that of ``tensor``."""
        written = self._contents.pop(id(tensor), None)
        if written is not None:
            bridge.renew(tensor, written)
        return bridge.as_value(tensor)

    def _moved(self, tensor: Any, old: Any, fresh: Any) -> None:
        self.originals.setdefault(id(tensor), (tensor, old))
        fresh.stop_gradient = tensor.stop_gradient
        fresh.persistable = True  # its memory is the tensor's: no last use may write into it
        bridge.renew(tensor, fresh)
        self._touched[id(tensor)] = tensor
        leaf = self.leaves.get(id(tensor))
        if leaf is None:
            leaf = self.leaves[id(tensor)] = Leaf(tensor, None, old)
            self._values[old.id] = old, leaf
        self._values[fresh.id] = fresh, leaf

    def set_flag(self, tensor: Any, stops: bool) -> None:
        """``tensor.stop_gradient = stops`` of a dygraph tensor, for what comes behind it."""
        self.check("a change of stop_gradient")
        known = self.flags.get(id(tensor))
        before = bool(tensor.stop_gradient) if known is None else known[1]
        self.flags[id(tensor)] = tensor, before, stops
        value = bridge.known_tensors().get(id(tensor))
        _FLAG.__set__(tensor, stops)
        if value is None:
            return
        if not stops:
            value = self._stopped.pop(id(tensor), value)
            value.stop_gradient = False
            bridge.renew(tensor, value)
        elif value.use_empty():
            value.stop_gradient = True
        else:  # what was computed before keeps its gradient
            self._stopped[id(tensor)] = value
            self.originals.setdefault(id(tensor), (tensor, value))
            bridge.renew(tensor, _constant(paddle.assign(value)))

    def restore(self) -> None:
        """Let the first values stand for the tensors again, as the inputs of the program."""
        for tensor, value in self.originals.values():
            bridge.renew(tensor, value)
        for tensor, before, _ in self.flags.values():
            _FLAG.__set__(tensor, before)

    # -- optimizers ------------------------------------------------------------------------------

    def step(self, optimizer: Any) -> list[tuple[Any, Any]]:
        """``optimizer.step()``; the parameters with their gradients."""
        self.check(f"{type(optimizer).__name__}.step()", branches=True)
        _refuse_unknown(optimizer)
        if any(owner_of(function) is optimizer._learning_rate for function, _, _ in self.after):
            raise _late(optimizer)
        self.used = True
        self.optimizers[id(optimizer)] = optimizer
        done: list[tuple[Any, Any]] = []
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

    def _pairs(self, parameters: list[Any]) -> list[tuple[Any, Any]]:
        pairs = []
        for tensor in parameters:
            if not tensor.stop_gradient:
                gradient = self.read(self.of_tensor(tensor))
                if gradient is not None:
                    pairs.append((tensor, gradient))
        return pairs

    def _update(
        self,
        optimizer: Any,
        pairs: list[tuple[Any, Any]],
        clip: Any,
        options: dict[str, Any] | None,
    ) -> list[tuple[Any, Any]]:
        if not pairs:
            return []
        block = paddle.static.default_main_program().global_block()
        parameters = [tensor for tensor, _ in pairs]
        with bridge.in_dygraph(), paddle.no_grad():
            optimizer._create_accumulators(
                block, parameters if options is None else {"params": parameters, **options}
            )
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
        self._stepping |= bridge.ids_from(start)
        for number, fresh in bridge.overwriting(start):
            tensor = known.pop(number, None)
            if tensor is not None:
                old = bridge.as_value(tensor)
                known[fresh.id] = tensor
                if self.capture.blocks:
                    self.bind(tensor, _with_flag(fresh, tensor), changed=True)
                else:
                    self._moved(tensor, old, fresh)
        return pairs

    def _clipped(self, clip: Any, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """Clip the gradients; in dygraph the clip by the global norm changes them in place."""
        clipped = _clipped(clip, pairs)
        if type(clip) is paddle.nn.ClipGradByGlobalNorm:
            for (tensor, before), (_, after) in zip(pairs, clipped, strict=True):
                if after is not before and after.shape:
                    leaf = self.of_tensor(tensor)
                    if self.capture.blocks:
                        self._in_branch(leaf, "step()", keeps=True)
                    self._become(leaf, _constant(after), "step()")
        return clipped

    def _known(self, optimizer: Any, parameters: list[Any]) -> dict[int, Any]:
        """The tensors that a step may write into, by the value that stands for them."""
        names = {tensor.name for tensor in parameters}
        tensors = list(parameters)
        masters = getattr(optimizer, "_master_weights", {})
        for name in list(names):
            if name in masters:
                tensors.append(masters[name])
                names.add(masters[name].name)
        for table in optimizer._accumulators.values():
            tensors.extend(tensor for name, tensor in table.items() if name in names)
        self._touched.update((id(tensor), tensor) for tensor in tensors)
        if self.capture.blocks:
            return {self._copied(tensor).id: tensor for tensor in tensors}
        return {self._written(tensor).id: tensor for tensor in tensors}

    def _copied(self, tensor: Any) -> Any:
        """A value that an optimizer may write into in a branch."""
        self._join(tensor)
        copy = paddle.assign(bridge.as_value(tensor))
        self.bind(tensor, _with_flag(copy, tensor), changed=True)
        return copy

    @contextlib.contextmanager
    def _with_rate(self, optimizer: Any) -> Iterator[None]:
        """Let the learning rate of ``optimizer`` be a number that each run asks for."""
        program = paddle.static.default_main_program()
        dtype = optimizer._dtype or paddle.get_default_dtype()
        low = any(name in str(dtype) for name in ("float16", "bfloat16"))
        rate = cast_plain(self.rate(optimizer), "float32" if low else dtype)
        table = optimizer._learning_rate_map
        table[program] = _constant(rate)
        try:
            yield
        finally:
            del table[program]

    def rate(self, optimizer: Any) -> Any:
        """``optimizer.get_lr()``, which each run asks for."""
        if any(owner_of(function) is optimizer._learning_rate for function, _, _ in self.after):
            raise _late(optimizer)
        rate = self._rates.get(id(optimizer))
        if rate is None:
            asked = self.capture.ask
            assert asked is not None
            get = _ORIGINALS[paddle.optimizer.Optimizer, "get_lr"]
            rate = asked(f"lr_{len(self._rates)}", lambda: float(get(optimizer)))
            self._rates[id(optimizer)] = rate
        return mark_number(rate, float)

    def set_rate(self, optimizer: Any, rate: Any, keep: Callable[[Any], None]) -> None:
        """``optimizer.set_lr(rate)``, which each run calls with ``keep`` at its end."""
        self.later(keep, rate)
        self._rates[id(optimizer)] = paddle.cast(as_value(rate), NUMBER_DTYPES[float])

    def later(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        """Let each run call ``function`` when the program has run."""
        self.check("a change of the learning rate")
        self.used = True
        self.after.append((function, arguments, options))

    # -- what the program relies on --------------------------------------------------------------

    def facts(self) -> list[Facts]:
        """What it relies on of its optimizers, as they are now."""
        return [_facts(optimizer, self._touched) for optimizer in self.optimizers.values()]

    def check_raise(self) -> None:
        """Refuse an exception of the run behind a change that is not written yet."""
        if self._unwritten:
            self.check("a change of a parameter before an exception")

    def check(self, what: str, *, branches: bool = False) -> None:
        """Refuse training where a program cannot have it.

        Args:
            what: the training.
            branches: it may be in branches.

        Raises:
            UnsupportedInGraphError: (D2S205) in a branch or static loop, or in a saved program.
        """
        if self.capture.export:
            raise error_here(
                UnsupportedInGraphError,
                f"{what} is part of a function that is to be saved; a file holds no training",
                "save the layer, or the function that computes the result",
            )
        if self.capture.blocks:
            kinds = [block.kind for block in self.capture.blocks if block.state is not None]
            if branches and kinds == ["branch"] * len(self.capture.blocks):
                return
            kind = self.capture.blocks[-1].kind
            raise error_here(
                UnsupportedInGraphError,
                f"{what} stands in a {kind} that a tensor decides, behind which nobody knows what "
                "the gradients and parameters are",
                "put it behind the branch or loop and let the loss depend on it, give the loop "
                "Python bounds, or convert only the function that computes the loss",
            )


class _Named:
    """A parameter as Paddle's gradient clips see it in a program."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.need_clip = getattr(tensor, "need_clip", True)

    def is_dist_dense_tensor_type(self) -> bool:
        """No program of ours is distributed."""
        return False


def _clipped(clip: Any, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    if isinstance(clip, paddle.nn.ClipGradByValue):
        return list(clip._dygraph_clip(pairs))
    clipped = clip._pir_clip([(_Named(tensor), gradient) for tensor, gradient in pairs])
    return [(named.tensor, gradient) for named, gradient in clipped]


def _with_flag(value: Any, tensor: Any) -> Any:
    value.stop_gradient = tensor.stop_gradient
    return value


def _constant(value: Any) -> Any:
    value.stop_gradient = True
    return value


def _late(optimizer: Any) -> Exception:
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


def _refuse_unknown(optimizer: Any) -> None:
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


# -- what user code calls ------------------------------------------------------------------------


def steps() -> Steps | None:
    """The training of the capture under way in this thread."""
    capture = current()
    return None if capture is None else capture.steps


_GRADIENT: Final[Any] = vars(bridge.EagerTensor)["grad"]


def real_gradient(tensor: Any) -> Any:
    """``tensor.grad`` of a dygraph tensor, whatever is being captured."""
    return _GRADIENT.__get__(tensor)


def _get_gradient(self: Any) -> Any:
    state = steps()
    if state is None or paddle.in_dynamic_mode():
        return real_gradient(self)
    if bridge.is_eager(self):
        asked = id(self) in state.leaves  # the function may have set the gradient of a frozen one
        if not asked and (self.stop_gradient or not self.is_leaf):
            return real_gradient(self)
        return state.show(state.of_tensor(self))
    leaf = state.of_value(self)
    return None if leaf is None else state.show(leaf)


def _set_gradient(self: Any, gradient: Any) -> None:
    state = steps()
    if state is None or paddle.in_dynamic_mode():
        _GRADIENT.__set__(self, gradient)
        return
    leaf = state.of_tensor(self) if bridge.is_eager(self) else state.of_value(self)
    if leaf is None and gradient is None:
        return  # it has none
    if leaf is None:
        raise error_here(
            UnsupportedInGraphError,
            "the gradient of a tensor is set that the function has computed itself",
            "keep it in a variable of its own",
        )
    state.assign(leaf, gradient)


_FLAG: Final[Any] = vars(bridge.EagerTensor)["stop_gradient"]


def _set_flag(self: Any, stops: bool) -> None:
    state = steps()
    if state is None or paddle.in_dynamic_mode() or self.stop_gradient == stops:
        _FLAG.__set__(self, stops)
    else:
        state.set_flag(self, bool(stops))


_REAL_CLEAR: Final = bridge.EagerTensor.clear_gradient


def _clear_gradient(self: Any, set_to_zero: bool = True) -> None:
    state = steps()
    if state is None or paddle.in_dynamic_mode():
        _REAL_CLEAR(self, set_to_zero)
        return
    leaf = state.of_tensor(self) if bridge.is_eager(self) else state.of_value(self)
    if leaf is not None:
        state.clear(leaf, set_to_zero)


def _backward(self: Any, grad_tensor: Any = None, retain_graph: bool = False, **_: Any) -> None:
    state = steps()
    assert state is not None
    state.backward([self], [grad_tensor])


def _is_leaf(self: Any) -> bool:
    state = steps()
    return bool(self.stop_gradient) or (state is not None and state.is_leaf(self))


def _retain(self: Any) -> None:
    state = steps()
    assert state is not None
    state.retain(self)


def backward_of(tensors: Any, grad_tensors: Any = None, retain_graph: bool = False) -> None:
    """``paddle.autograd.backward``."""
    state = steps()
    if state is None:
        paddle.autograd.backward(tensors, grad_tensors, retain_graph)
        return
    seeds = None if grad_tensors is None else _listed(grad_tensors)
    state.backward([as_value(output) for output in _listed(tensors)], seeds)


def grad_(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> Any:
    """``paddle.grad`` while a program is captured, with our gradients of branches and loops."""
    state = steps()
    assert state is not None
    given = [as_value(each) for each in _listed(outputs)]
    wanted = [as_value(each) for each in _listed(inputs)]
    seeds = None
    if grad_outputs is not None:
        seeds = [
            bridge.filled_like(output, 1.0) if seed is None else as_value(seed)
            for output, seed in zip(given, _listed(grad_outputs), strict=True)
        ]
    if no_grad_vars is not None:
        fixed = [as_value(each) for each in _listed(no_grad_vars)]
        made = list(paddle.grad(given, wanted, seeds, None, create_graph, True, True, fixed))
    elif state.capture.blocks:
        made = bridge.gradients_in_block(given, wanted, seeds, again=create_graph)
    else:
        made = state.gradients(given, wanted, seeds, kept=create_graph)
    state.capture.asked.update(each.id for each in wanted)
    if any(each is None for each in made) and state.capture.continues:
        raise error_here(
            UnsupportedInGraphError,
            "paddle.grad() asks for a gradient that may go through how an argument was computed",
            "compute it inside of the function, or pass a .detach() of it",
        )
    if not allow_unused and any(each is None for each in made):
        missing = next(at for at, each in enumerate(made) if each is None)
        raise ValueError(
            f"(InvalidArgument) The {missing}-th input does not appear in the backward graph. "
            "Please check the input tensor or set allow_unused=True to get None result.\n"
            "  [Hint: Expected allow_unused == true, but received allow_unused:0 != true:1.] "
            "(at /paddle/paddle/fluid/eager/general_grad.h:474)\n"
        )
    if not create_graph:
        made = [None if each is None else _constant(each) for each in made]
    return made


def _listed(things: Any) -> list[Any]:
    return list(things) if isinstance(things, list | tuple) else [things]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """``paddle.nn.utils.clip_grad_norm_``, with Paddle's own arithmetic."""
    state = steps()
    if state is None:
        return paddle.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)
    if error_if_nonfinite:
        raise error_here(
            UnsupportedInGraphError,
            "clip_grad_norm_ with error_if_nonfinite asks for the norm while the program is being "
            "captured",
            "leave it off and assert that the norm that it returns is finite",
        )
    leaves = _leaves_of(state, parameters)
    with paddle.no_grad():
        found = [(leaf, state.read(leaf)) for leaf in leaves]
        pairs = [(leaf, gradient) for leaf, gradient in found if gradient is not None]
        if not pairs:
            return paddle.full([], 0.0)
        if norm_type == float("inf"):
            norms = [gradient.abs().max() for _, gradient in pairs]
            total = norms[0] if len(norms) == 1 else paddle.max(paddle.stack(norms))
        else:
            each = [paddle.linalg.norm(gradient, norm_type) for _, gradient in pairs]
            total = paddle.linalg.norm(paddle.stack(each), norm_type)
        factor = paddle.clip(float(max_norm) / (total + 1e-6), max=1.0)
        for leaf, gradient in pairs:
            state.assign(leaf, gradient * factor)
    return total


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """``paddle.nn.utils.clip_grad_value_``."""
    state = steps()
    if state is None:
        paddle.nn.utils.clip_grad_value_(parameters, clip_value)
        return
    with paddle.no_grad():
        for leaf in _leaves_of(state, parameters):
            gradient = state.read(leaf)
            if gradient is not None:
                bound = float(clip_value)
                state.assign(leaf, paddle.clip(gradient, min=-bound, max=bound))


def _leaves_of(state: Steps, parameters: Any) -> list[Leaf]:
    things = [parameters] if is_tensor(parameters) else list(parameters)
    found = [
        state.of_tensor(thing) if bridge.is_eager(thing) else state.of_value(thing)
        for thing in things
    ]
    return [leaf for leaf in found if leaf is not None]


def writes(output: Any) -> bool:
    """Whether ``paddle.assign`` to ``output`` writes into a parameter of the program."""
    state = steps()
    return state is not None and state.keeps(output)


def write(x: Any, output: Any) -> Any:
    """``paddle.assign(x, output)`` into a parameter."""
    state = steps()
    assert state is not None
    state.overwrite(output, as_value(x) if is_tensor(x) else paddle.assign(x))
    return output


# -- while a program is captured -----------------------------------------------------------------

Method = Callable[..., Any]


def _refused(what: str, cure: str) -> Callable[[Method], Method]:
    def made(original: Method) -> Method:
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            state = steps()
            if state is None or paddle.in_dynamic_mode():
                return original(self, *arguments, **options)
            raise error_here(UnsupportedInGraphError, what, cure)

        return method

    return made


def _during(action: Callable[..., Any]) -> Callable[[Method], Method]:
    """A method that does ``action(steps, self, ...)`` while a program is captured."""

    def made(original: Method) -> Method:
        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            state = steps()
            if state is None or paddle.in_dynamic_mode():
                return original(self, *arguments, **options)
            return action(state, self, *arguments, **options)

        return method

    return made


def _scheduled(original: Method) -> Method:
    """A scheduler's ``step``: each run calls it at its end."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        state = steps()
        if state is None or paddle.in_dynamic_mode():
            return original(self, *arguments, **options)
        return state.later(original.__get__(self), *arguments, **options)

    return method


def _scaled(original: Method) -> Method:
    """A method of a ``GradScaler``, which scales nothing on a CPU."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        if steps() is not None and not paddle.in_dynamic_mode() and self._enable:
            raise error_here(
                UnsupportedInGraphError,
                "a GradScaler leaves out the step, and changes its scale, when a gradient is not "
                "finite, which only the run knows",
                "convert the function that computes the loss, and scale, step and update outside",
            )
        return original(self, *arguments, **options)

    return method


def _set_value(original: Method) -> Method:
    """``parameter.set_value`` as Paddle's own code calls it: of a layer's ``set_state_dict``."""

    def set_value(self: Any, value: Any) -> None:
        if steps() is None or paddle.in_dynamic_mode():
            original(self, value)
        else:
            method(self, "set_value")(value)

    return set_value


def _load(original: Method) -> Method:
    """A layer's ``set_state_dict``, which in a program writes into the scope of an executor."""

    def load(self: Any, *arguments: Any, **options: Any) -> Any:
        if steps() is None or paddle.in_dynamic_mode():
            return original(self, *arguments, **options)
        with bridge.layers_as_in_dygraph():
            return original(self, *arguments, **options)

    return load


def _step(state: Steps, optimizer: Any, *_: Any, **__: Any) -> None:
    state.step(optimizer)


def _setting_rate(original: Method) -> Method:
    """``optimizer.set_lr``: steps behind it take the new rate, and each run leaves it behind."""

    def set_lr(self: Any, value: Any) -> None:
        state = steps()
        if state is None or paddle.in_dynamic_mode():
            original(self, value)
            return
        if isinstance(value, int | float):  # of NumPy, too
            value = float(value)
        if number_kind(value) is None or isinstance(self._learning_rate, LRScheduler):
            with bridge.in_dygraph():  # it says what is wrong
                original(self, value)
            return
        state.set_rate(self, value, original.__get__(self))

    return set_lr


_OUTSIDE: Final = "do it outside of the converted function"

_OF_OPTIMIZERS: Final[dict[str, Callable[[Method], Method]]] = {
    "step": _during(_step),
    "minimize": _during(lambda state, self, *_, **__: ([], state.step(self))),
    "get_lr": _during(lambda state, self: state.rate(self)),
    "set_lr": _setting_rate,
    "set_lr_scheduler": _refused(
        "the scheduler is set while the program is being captured", _OUTSIDE
    ),
    "apply_gradients": _refused(
        "apply_gradients() is called inside of a converted function", "use step()"
    ),
    "state_dict": _refused(
        "the state of an optimizer is asked for while the program is being captured", _OUTSIDE
    ),
    "set_state_dict": _refused(
        "the state of an optimizer is set while the program is being captured", _OUTSIDE
    ),
}

_OF_SCALERS: Final = ("scale", "step", "update", "minimize", "unscale_")


def _decaying(original: Method) -> Method:
    """The call of a regularizer, which takes values alone in a program."""

    def method(self: Any, param: Any, *others: Any) -> Any:
        return original(self, param if steps() is None else as_value(param), *others)

    return method


def _classes(module: Any, base: type) -> list[type]:
    found = [thing for thing in vars(module).values() if isinstance(thing, type)]
    return [base, *(kind for kind in found if issubclass(kind, base) and kind is not base)]


def _replacements() -> Iterator[tuple[tuple[Any, str], Method]]:
    for kind in _classes(paddle.optimizer, paddle.optimizer.Optimizer):
        for name, make in _OF_OPTIMIZERS.items():
            if name in vars(kind):
                yield (kind, name), make(vars(kind)[name])
    for kind in _classes(paddle.optimizer.lr, LRScheduler):
        if "step" in vars(kind):
            yield (kind, "step"), _scheduled(vars(kind)["step"])
    for kind in paddle.amp.GradScaler.__mro__:
        for name in _OF_SCALERS:
            if name in vars(kind):
                yield (kind, name), _scaled(vars(kind)[name])
    for kind in (paddle.regularizer.L1Decay, paddle.regularizer.L2Decay):
        yield (kind, "__call__"), _decaying(vars(kind)["__call__"])
    for name in ("set_state_dict", "set_dict", "load_dict"):
        yield (paddle.nn.Layer, name), _load(vars(paddle.nn.Layer)[name])
    yield (bridge.EagerTensor, "stop_gradient"), property(_FLAG.__get__, _set_flag)  # type: ignore[misc]
    yield (bridge.EagerTensor, "set_value"), _set_value(bridge.EagerTensor.set_value)
    for name in ("grad", "grad_"):
        yield (bridge.EagerTensor, name), property(_get_gradient, _set_gradient)  # type: ignore[misc]
    for name in ("clear_gradient", "clear_grad"):
        yield (bridge.EagerTensor, name), _clear_gradient


_ORIGINALS: Final[dict[tuple[Any, str], Any]] = {
    (kind, name): vars(kind)[name]
    for kind in _classes(paddle.optimizer, paddle.optimizer.Optimizer)
    for name in _OF_OPTIMIZERS
    if name in vars(kind)
}

VALUE_METHODS: Final[dict[str, Any]] = {
    "backward": _backward,
    "grad": property(_get_gradient, _set_gradient),
    "grad_": property(_get_gradient, _set_gradient),
    "clear_gradient": _clear_gradient,
    "clear_grad": _clear_gradient,
    "retain_grads": _retain,
    "is_leaf": property(_is_leaf),
}
"""What a value of a program has for training, as a dygraph tensor has."""


@contextlib.contextmanager
def training_into(capture: Capture) -> Iterator[Steps]:
    """While a program is captured, let gradients and optimizers be part of it."""
    capture.steps = state = Steps(capture)
    with bridge.methods_replaced(dict(_replacements())):
        try:
            yield state
        finally:
            state.restore()
