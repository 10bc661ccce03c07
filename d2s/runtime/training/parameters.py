"""Parameters that the program writes into: ``w.set_value(...)``, ``w.stop_gradient = True``.

A program has one memory for a parameter.  It writes where the code does, at its top level; in a
branch the new contents are a value, which is written when the outermost branch is over::

    if not overflow:                          w1 = if(overflow) { yield w } else { yield w - g }
        w.set_value(w - w.grad)               assign_out_(w1, w)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.views.sharing import with_contents
from d2s.runtime.training.gradients import constant
from d2s.runtime.training.leaves import Leaf, Leaves
from d2s.runtime.training.record import BLOCKS, Lasting, Record
from d2s.runtime.values.tensors import cast_plain

FLAG: Final[Any] = vars(bridge.EagerTensor)["stop_gradient"]
"""``stop_gradient`` of a dygraph tensor, whatever is being captured."""


class Parameters:
    """The dygraph tensors that one capture changes.

    Args:
        record: what training has added to the program.
        leaves: the leaves.

    Attributes:
        originals: for tensors that the program writes into, what stood for them first.
        flags: tensors whose ``stop_gradient`` the function has set, with what it was before, and
            what it is in the end.
        touched: tensors that steps write into, or may, by their ids.
    """

    def __init__(self, record: Record, leaves: Leaves) -> None:
        self.originals: dict[int, tuple[paddle.Tensor, bridge.Value]] = {}
        self.flags: dict[int, tuple[paddle.Tensor, bool, bool]] = {}
        self.touched: dict[int, paddle.Tensor] = {}
        self.record = record
        self._leaves = leaves
        self._stopped: dict[int, bridge.Value] = {}
        self._contents: dict[int, bridge.Value] = {}
        self._unwritten: dict[int, paddle.Tensor] = {}

    @staticmethod
    def keeps(owner: object) -> TypeGuard[paddle.Tensor]:
        """Whether ``owner`` is a tensor that a change in place leaves the same object."""
        return isinstance(owner, bridge.EagerTensor) and not owner.stop_gradient

    def overwrite(self, tensor: paddle.Tensor, fresh: bridge.Value) -> None:
        """Give a dygraph tensor other contents, which every later use of it reads."""
        what = "a change of a parameter"
        self.record.check(what, *BLOCKS)
        branched = self.record.in_block
        old = bridge.as_value(tensor) if branched else self.written(tensor)
        fresh = cast_plain(fresh, old.dtype)
        if list(fresh.shape) != list(old.shape):
            fresh = paddle.expand(fresh, old.shape)
        if branched:
            self.join(tensor)
            with paddle.enable_grad():
                self.bind(tensor, with_contents(old, fresh), changed=True)
            return
        start = bridge.length()
        with paddle.no_grad():
            fresh = bridge.write_into(old, fresh)
        old.stop_gradient = tensor.stop_gradient  # which it takes from the contents
        bridge.cut(fresh)
        self.moved(tensor, old, fresh)
        if not self.record.used and self.record.capture.gradients:
            self._read_with_history(tensor, fresh)
        self.record.stepping |= bridge.ids_from(start)

    def join(self, tensor: paddle.Tensor) -> None:
        """Let the branches around hand on the contents of ``tensor``."""
        slot = _Contents(self, tensor, bridge.as_value(tensor), id(tensor) in self._unwritten)
        self.record.join_branches(tensor.name, slot)

    def bind(self, tensor: paddle.Tensor, value: bridge.Value, *, changed: bool) -> None:
        """Let ``value`` stand for ``tensor``; ``changed``: the memory has other contents."""
        if changed:
            self._unwritten[id(tensor)] = tensor
        else:
            self._unwritten.pop(id(tensor), None)
        if not tensor.stop_gradient and tensor.is_leaf:
            before = bridge.as_value(tensor)
            self._leaves.contents.setdefault(before.id, (before, self._leaves.of_tensor(tensor)))
        bridge.renew(tensor, value)
        if not tensor.stop_gradient and tensor.is_leaf:
            self._leaves.contents[value.id] = value, self._leaves.of_tensor(tensor)

    def _read_with_history(self, tensor: paddle.Tensor, fresh: bridge.Value) -> None:
        """Let later uses of a parameter that has new contents give it gradients.

        The program itself may be differentiated, where a gradient arrives at its first value.
        """
        self._contents[id(tensor)] = fresh
        with paddle.enable_grad():
            read = with_contents(self.originals[id(tensor)][1], fresh)
        bridge.renew(tensor, read)
        self._leaves.contents[read.id] = read, self._leaves.all[id(tensor)]

    def written(self, tensor: paddle.Tensor) -> bridge.Value:
        """The value whose memory is that of ``tensor``."""
        written = self._contents.pop(id(tensor), None)
        if written is not None:
            bridge.renew(tensor, written)
        return bridge.as_value(tensor)

    def moved(self, tensor: paddle.Tensor, old: bridge.Value, fresh: bridge.Value) -> None:
        """Let ``fresh``, which an operation has written over ``old``, stand for ``tensor``."""
        self.originals.setdefault(id(tensor), (tensor, old))
        fresh.stop_gradient = tensor.stop_gradient
        fresh.persistable = True  # its memory is the tensor's: no last use may write into it
        bridge.renew(tensor, fresh)
        self.touched[id(tensor)] = tensor
        leaf = self._leaves.all.get(id(tensor))
        if leaf is None:
            leaf = self._leaves.all[id(tensor)] = Leaf(tensor, None, old)
            self._leaves.contents[old.id] = old, leaf
        self._leaves.contents[fresh.id] = fresh, leaf

    def set_flag(self, tensor: paddle.Tensor, stops: bool) -> None:
        """``tensor.stop_gradient = stops`` of a dygraph tensor, for what comes behind it."""
        self.record.check("a change of stop_gradient")
        known = self.flags.get(id(tensor))
        before = bool(tensor.stop_gradient) if known is None else known[1]
        self.flags[id(tensor)] = tensor, before, stops
        value = bridge.known_tensors().get(id(tensor))
        FLAG.__set__(tensor, stops)
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
            bridge.renew(tensor, constant(paddle.assign(value)))

    def restore(self) -> None:
        """Let the first values stand for the tensors again, as the inputs of the program."""
        for tensor, value in self.originals.values():
            bridge.renew(tensor, value)
        for tensor, before, _ in self.flags.values():
            FLAG.__set__(tensor, before)

    def unwritten(self) -> Iterator[tuple[paddle.Tensor, bridge.Value]]:
        """Tensors that have other contents here than in memory, with those."""
        for tensor in list(self._unwritten.values()):
            yield tensor, bridge.as_value(tensor)


@dataclass
class _Contents(Lasting):
    """What a dygraph tensor that the program writes into has in it, as state of a branch.

    Attributes:
        parameters: those of the capture.
        subject: the tensor.
        base: the value that stood for it before.
        unwritten: that was no longer what is in memory.
    """

    parameters: Parameters
    subject: paddle.Tensor
    base: bridge.Value
    unwritten: bool

    def get(self) -> bridge.Value:
        return bridge.as_value(self.subject)

    def set(self, value: bridge.Value) -> None:
        if value.id == self.base.id:
            self.parameters.bind(self.subject, self.base, changed=self.unwritten)
        elif self.parameters.record.in_block:
            self.parameters.bind(self.subject, value, changed=True)
        else:
            self.parameters.bind(self.subject, self.base, changed=False)
            self.parameters.overwrite(self.subject, value)
