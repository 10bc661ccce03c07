"""The gradients of leaves: ``loss.backward()``, ``w.grad``, ``w.clear_gradient()``.

What was in ``.grad`` before the call is read by each run, if the program adds to it::

    loss.backward()      g = gradient of loss; w.grad = (old w.grad or 0) + g

In a branch the gradients of leaves are part of what its sides hand on; one that only some runs have
is a choice between a value and ``None``::

    if loss > 1:                   g1 = if(loss > 1) { yield gradient of loss } else { yield 0 }
        loss.backward()            w.grad = g1 where loss > 1, else None
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.errors import LoopGradientError, UnsupportedInGraphError
from d2s.runtime.aliasing.inplace import bind_anew, is_held
from d2s.runtime.aliasing.saved import (
    begun_as,
    check_overwritten,
    contents_now,
    views_of_all,
)
from d2s.runtime.aliasing.sizes.empties import enter_blocks
from d2s.runtime.control_flow.cond import select
from d2s.runtime.control_flow.stops import note_stops
from d2s.runtime.trace import error_here
from d2s.runtime.training.leaves import CLEARED, DROPPED, UNTOUCHED, ZEROS, Leaf, Leaves, Mark
from d2s.runtime.training.record import BLOCKS, Lasting, Record
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.tensors import as_value

Gradient: TypeAlias = "bridge.Value | Choice | Mark"
"""What the gradient of a leaf is; a choice is one between values and ``None``."""

GRADIENT: Final[Any] = vars(bridge.EagerTensor)["grad"]


def real_gradient(tensor: paddle.Tensor) -> paddle.Tensor | None:
    """``tensor.grad`` of a dygraph tensor, whatever is being captured."""
    return GRADIENT.__get__(tensor)


def constant(value: bridge.Value) -> bridge.Value:
    """``value``, through which no gradient goes."""
    value.stop_gradient = True
    return value


class Gradients:
    """The gradients that one capture makes, and those that its leaves have.

    Args:
        record: what training has added to the program.
        leaves: the leaves.
    """

    def __init__(self, record: Record, leaves: Leaves) -> None:
        self._record = record
        self._leaves = leaves

    def backward(
        self, outputs: list[bridge.Value], seeds: list[object] | None, *, retain: bool = False
    ) -> None:
        """Add the gradients of ``outputs`` to those of all leaves.

        Args:
            outputs: what is differentiated.
            seeds: their gradients.
            retain: another ``backward()`` may go the same way.
        """
        self._record.check("backward()", *BLOCKS)
        self._record.place = here()
        with paddle.no_grad():
            pairs = [
                (output, bridge.filled_like(output, 1.0) if seed is None else as_value(seed))
                for output, seed in zip(outputs, seeds or [None] * len(outputs), strict=True)
                if not output.stop_gradient
            ]
        reached = self._leaves.reached([output for output, _ in pairs], frees=not retain)
        self._leaves.check_parted([output for output, _ in pairs], [])
        if not reached:
            return
        check_overwritten([output for output, _ in pairs], self.ends_at)
        if bridge.makes_sparse_gradients():
            raise error_here(
                UnsupportedInGraphError,
                "backward() goes through an embedding with sparse=True, whose gradient is dense in "
                "a program; optimizers treat the two differently",
                "make the embedding with sparse=False, or call backward() and step() outside of "
                "the converted function",
            )
        self._record.use()
        with paddle.no_grad():
            made = self.compute(
                [output for output, _ in pairs],
                [value for value, _ in reached],
                [seed for _, seed in pairs],
            )
            for (_, leaf), gradient in zip(reached, made, strict=True):
                if gradient is not None:
                    self._add(leaf, constant(gradient))

    def ends_at(self, value: bridge.Value) -> bool:
        """Whether no gradient goes on from ``value``: a leaf, or what a step has made."""
        maker = value.get_defining_op().id()
        return maker in self._record.made | self._record.stepping or self._leaves.is_leaf(value)

    def of(
        self,
        outputs: list[bridge.Value],
        wanted: list[bridge.Value],
        seeds: list[bridge.Value] | None,
        kept: bool,
    ) -> list[bridge.Value | None]:
        """:meth:`compute` of tensors, which may have been written since they were used."""
        groups = [self._leaves.used(begun_as(value), outputs) for value in wanted]
        made = iter(self.compute(outputs, [each for g in groups for each in g], seeds, kept))
        found: list[bridge.Value | None] = []
        for group in groups:
            parts = [part for part in itertools.islice(made, len(group)) if part is not None]
            found.append(functools.reduce(operator.add, parts) if parts else None)
        return found

    def compute(
        self,
        outputs: list[bridge.Value],
        inputs: list[bridge.Value],
        seeds: list[bridge.Value] | None,
        kept: bool = False,
    ) -> list[bridge.Value]:
        """Gradients as values of the program; with ``kept`` they have gradients themselves."""
        left_out = self._record.made | self._record.stepping
        capture = self._record.capture
        now = contents_now(capture)
        reading = bridge.reading(now, views_of_all(capture, now))
        if self._record.in_block:
            try:
                with reading:
                    return bridge.gradients_in_block(outputs, inputs, seeds, left_out, again=kept)
            except LoopGradientError as error:
                raise error_here(LoopGradientError, error.cause, error.cure) from error.__cause__
        enter_blocks(paddle.static.default_main_program())
        with reading:
            made, gone, operations = bridge.gradients_here(
                outputs, inputs, seeds, left_out, again=kept
            )
        self._record.capture.notes.forget(gone)
        self._record.shown |= operations
        if not kept:
            self._record.made |= operations
        return made

    def _add(self, leaf: Leaf, gradient: bridge.Value) -> None:
        if self._record.in_block:
            old = self.in_branch(leaf, "backward()")
            if old is not None:
                gradient = _or_zeros(old, gradient) + gradient
        elif not isinstance(leaf.grad, Mark):
            gradient = _or_zeros(leaf.grad, gradient) + gradient
        elif leaf.grad is UNTOUCHED and leaf.found is not False and leaf.tensor is not None:
            gradient = self._content(leaf) + gradient
        self.become(leaf, constant(gradient), "backward()")

    def become(self, leaf: Leaf, gradient: Gradient, what: str) -> None:
        """Give ``leaf`` another gradient; in dygraph it is the same tensor with other contents."""
        old = possible(leaf.grad)
        if leaf.shown and isinstance(old, Choice):
            if any(each is not None and is_held(each) for each in old.leaves()):
                raise _refused_choice(f"{what} changes a gradient", "a name or container holds")
        elif leaf.shown and not isinstance(old, Mark):
            if gradient is ZEROS:
                with paddle.no_grad():
                    gradient = constant(bridge.filled_like(leaf.like, 0.0))
            if not isinstance(gradient, Mark):
                bind_anew(old, self._as_leaf(leaf, gradient), what)
        leaf.grad = gradient

    def _as_leaf(self, leaf: Leaf, gradient: bridge.Value) -> bridge.Value:
        """``gradient`` of ``leaf`` as user code meets it: in dygraph it is a leaf itself."""
        gradient.stop_gradient = leaf.stops
        note_stops(gradient, leaf.stops)
        if not leaf.stops and gradient.id not in self._leaves.contents:
            self._leaves.add(gradient, len(self._leaves.all), None)
        return gradient

    def _content(self, leaf: Leaf) -> bridge.Value:
        """The gradient that the leaf has when the call begins; zero if it may have none."""
        if leaf.content is None:
            tensor = leaf.tensor
            assert tensor is not None
            with bridge.in_dygraph(), paddle.no_grad():
                leaf.stored = paddle.empty_like(tensor)
                leaf.nothing = paddle.empty([0], tensor.dtype)
                leaf.stored.name = f"d2s_gradient_of_{tensor.name}"
            leaf.content = bridge.as_value(leaf.stored)
            leaf.content.stop_gradient = True
            found = real_gradient(tensor)
            leaf.stops = found is not None and bool(found.stop_gradient)
        return leaf.content

    def stands_for(self, tensor: paddle.Tensor) -> bool:
        """Whether ``tensor`` is where runs put a gradient: no tensor of the user's state."""
        return any(leaf.stored is tensor for leaf in self._leaves.all.values())

    def _ask(self, leaf: Leaf) -> bool:
        """Whether the leaf has a gradient when the call begins; the program relies on it."""
        if leaf.found is None:
            leaf.found = leaf.tensor is not None and real_gradient(leaf.tensor) is not None
            leaf.place = here()
        return leaf.found

    def read(self, leaf: Leaf) -> bridge.Value | Choice | None:
        """``leaf.grad`` as a value, ``None``, or a choice between the two."""
        if leaf.grad is UNTOUCHED:
            leaf.grad = self._content(leaf) if self._ask(leaf) else UNTOUCHED
        elif leaf.grad is CLEARED:
            leaf.grad = ZEROS if self._ask(leaf) else DROPPED
        elif leaf.index is not None:
            self._ask(leaf)
        if leaf.grad is ZEROS:
            leaf.alone = True
            if self._record.in_block and leaf.tensor is not None:  # code around reads it, too
                with bridge.in_dygraph(), paddle.no_grad():
                    nothing = paddle.zeros_like(leaf.tensor)
                leaf.grad = constant(bridge.as_value(nothing))
                return leaf.grad
            with paddle.no_grad():
                leaf.grad = constant(bridge.filled_like(leaf.like, 0.0))
        return None if isinstance(leaf.grad, Mark) else possible(leaf.grad)

    def show(self, leaf: Leaf) -> bridge.Value | Choice | None:
        """:meth:`read` for the user's code, which may keep what it gets."""
        leaf.shown = True
        return _mapped(self.read(leaf), lambda gradient: self._as_leaf(leaf, gradient))

    def clear(self, leaf: Leaf, zero: bool) -> None:
        """``leaf.clear_gradient(zero)``."""
        what = "clear_gradient()"
        if self._record.in_block:
            old = self.in_branch(leaf, what)
            if not zero:
                leaf.grad = DROPPED
            elif old is not None:
                self.become(leaf, _mapped(old, _zeros), what)
            return
        self._record.check(what)
        self._record.use()
        leaf.alone = True
        if not zero:
            leaf.grad = DROPPED
        elif leaf.grad is UNTOUCHED:
            leaf.grad = CLEARED
        elif isinstance(leaf.grad, Choice):
            self.become(leaf, _mapped(leaf.grad, _zeros), what)
        elif not isinstance(leaf.grad, Mark):
            self.become(leaf, ZEROS, what)

    def assign(self, leaf: Leaf, gradient: object) -> None:
        """``leaf.grad = gradient``."""
        what = "an assignment to .grad"
        if self._record.in_block:
            if self.in_branch(leaf, what) is None and gradient is not None:
                self._record.check(what)
        else:
            self._record.check(what)
        self._record.use()
        leaf.alone = True
        if gradient is None:
            leaf.grad = DROPPED
        else:
            if leaf.grad is UNTOUCHED:
                leaf.stops = leaf.tensor is None or real_gradient(leaf.tensor) is None
            with paddle.no_grad():
                copy = constant(paddle.assign(as_value(gradient)))
            self.become(leaf, copy, "an assignment to .grad")

    def in_branch(self, leaf: Leaf, what: str) -> bridge.Value | Choice | None:
        """The gradient of ``leaf``, which the branches around hand on from now on.

        Args:
            leaf: the leaf, whose gradient is about to change.
            what: the change, for messages.
        """
        self._record.check(what, *BLOCKS)
        gradient = self.read(leaf)
        self._record.use()
        leaf.alone = True
        self._record.join_branches(f"gradient of {leaf.like.name}", _Gradient(self, leaf))
        return gradient

    def put(self, leaf: Leaf, gradient: bridge.Value | Choice | None) -> None:
        """Let ``gradient`` be that of ``leaf``, as a branch leaves it."""
        kept = _mapped(gradient, lambda value: self._as_leaf(leaf, value))
        leaf.grad = DROPPED if kept is None else kept

    def _leaf_with(self, gradient: bridge.Value) -> Leaf | None:
        """The leaf whose gradient the value ``gradient`` is."""
        for leaf in self._leaves.all.values():
            now = possible(leaf.grad)  # where a branch has asked whether there is one
            if isinstance(now, Choice):
                if any(each is not None and each.id == gradient.id for each in now.leaves()):
                    raise _refused_choice("a gradient is changed in place", "is changed")
            elif not isinstance(now, Mark | None) and now.id == gradient.id:
                return leaf
        return None

    def is_gradient(self, value: bridge.Value) -> bool:
        """Whether ``value`` is the gradient of a leaf."""
        return self._leaf_with(value) is not None

    def renewed(self, old: bridge.Value, fresh: bridge.Value) -> bridge.Value:
        """``fresh``, the contents of ``old`` after a change in place, as the right leaf."""
        leaf = self._leaf_with(old)
        if leaf is not None:
            what = "a change of a gradient in place"
            if self._record.in_block:
                self.in_branch(leaf, what)
            else:
                self._record.check(what)
            self._record.use()
            leaf.grad = self._as_leaf(leaf, fresh)
            return fresh
        known = self._leaves.contents.get(old.id)
        if known is None and not old.stop_gradient and not paddle.is_grad_enabled():
            leaf_of_old = self._leaves.of_value(old)
            known = None if leaf_of_old is None else (old, leaf_of_old)
        if known is None or paddle.is_grad_enabled():
            return fresh
        fresh.stop_gradient = True
        copy = paddle.assign(fresh)
        copy.stop_gradient = known[0].stop_gradient
        self._leaves.contents[copy.id] = copy, known[1]
        return copy


@dataclass
class _Gradient(Lasting):
    """The gradient of a leaf, as state of a branch.

    Attributes:
        gradients: those of the capture.
        subject: the leaf.
    """

    gradients: Gradients
    subject: Leaf

    def get(self) -> bridge.Value | Choice | None:
        return possible(self.whole())

    def whole(self) -> bridge.Value | Choice | None:
        return None if isinstance(self.subject.grad, Mark) else self.subject.grad

    def set(self, value: bridge.Value | Choice | None) -> None:
        self.gradients.put(self.subject, value)


def _mapped(gradient: Any, function: Callable[[bridge.Value], bridge.Value]) -> Any:
    """``function`` of a gradient, of each where it is one of several; ``None`` stays."""
    if isinstance(gradient, Choice):
        return gradient.mapped(function)
    return None if gradient is None else function(gradient)


def _zeros(value: bridge.Value) -> bridge.Value:
    with paddle.no_grad():
        return constant(bridge.filled_like(value, 0.0))


def _or_zeros(gradient: bridge.Value | Choice | None, like: bridge.Value) -> bridge.Value:
    """``gradient`` as a value, zero on the runs that have none."""
    if not isinstance(gradient, Choice):
        return _zeros(like) if gradient is None else gradient
    true, false = gradient.true, gradient.false
    found = select(gradient.flag, lambda: _or_zeros(true, like), lambda: _or_zeros(false, like))
    return constant(found)


def _refused_choice(what: str, done: str) -> Exception:
    return error_here(
        UnsupportedInGraphError,
        f"{what} that only some runs have, as a tensor decides, and that {done}",
        "call backward() on every run, or clear the gradients before the branch, so that each run "
        "has them",
    )
