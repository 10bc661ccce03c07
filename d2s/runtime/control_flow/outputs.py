"""What the two sides of an ``if`` yield, and what stands for it behind the ``if``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.sizes.empties import (
    axes_of,
    cut,
    has_given_sizes,
    may_be_empty,
    note_filled,
    padded,
)
from d2s.runtime.control_flow.stops import computed, is_known_here, note_stops, stops_of, test_of
from d2s.runtime.trace import open_trace
from d2s.runtime.values.tensors import (
    as_dtype,
    as_value,
    carried,
    is_float,
    mark_number,
    note_carried,
)

Builder = Callable[[list[paddle.Tensor]], Any]
"""From the results of the ``if`` to a merged value."""


class Outputs:
    """The outputs of one ``if``: for each, a value of the true side and one of the false side.

    Every output passes through ``assign`` and no value is yielded twice, which is what keeps
    Paddle's gradients right (paddle-facts 1).

    Attributes:
        true, false: what the two sides yield.
    """

    def __init__(self, op: bridge.IfOp) -> None:
        self.op = op
        self.true: list[paddle.Tensor] = []
        self.false: list[paddle.Tensor] = []
        self._kinds: list[type | None] = []
        self._roots: list[int | None] = []
        self._flag: Builder | None = None
        self._named: dict[tuple[Any, Any], tuple[Builder, object]] = {}

    @property
    def roots(self) -> set[int]:
        """The arguments and tensors of the state whose contents the results have, by number."""
        return {root for root in self._roots if root is not None}

    def finish(self) -> list[paddle.Tensor]:
        """Yield everything; the results in order."""
        stops = self._stops()
        axes = [self._widened(position) for position in range(len(self.true))]
        results = [
            self._narrowed(result, *of_it)
            for result, *of_it in zip(
                self.op.finish(self.true, self.false), axes, self.true, self.false, strict=True
            )
        ]
        for position, flag in stops:
            note_stops(results[position], test_of(results[flag]))
        for result, kind, root in zip(results, self._kinds, self._roots, strict=True):
            if kind is not None:
                mark_number(result, kind)
            note_carried(root, result)
        return results

    def _stops(self) -> list[tuple[int, int]]:
        """Outputs that stop gradients where only a side knows it, and the outputs that say so."""
        flags: list[tuple[int, int]] = []
        for position in range(len(self.true)):
            pair = self.true[position], self.false[position]
            if any(map(is_float, (each.dtype for each in pair))):
                found = stops_of(pair[0]), stops_of(pair[1])
                if not all(map(is_known_here, found)):
                    flags.append((position, len(self.true)))
                    true, false = (
                        self.as_flag(side, self.on(side, functools.partial(computed, stops)))
                        for side, stops in zip((True, False), found, strict=True)
                    )
                    self.output(true, false)
        return flags

    def _widened(self, position: int) -> list[int] | None:
        """The dimensions that an output gets one more element along, because it may be empty.

        ``None`` for an output of open shape that cannot be empty.
        """
        pair = self.true[position], self.false[position]
        shapes = [bridge.shape_of(value) for value in pair]
        if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
            return []
        axes = axes_of(*pair)
        if not axes:
            return []
        if not any(map(may_be_empty, pair)):
            return None
        for which, values in ((True, self.true), (False, self.false)):
            with self.op.side(which):
                values[position] = padded(values[position], axes)
        return axes

    def _narrowed(
        self, result: paddle.Tensor, axes: list[int] | None, *before: paddle.Tensor
    ) -> paddle.Tensor:
        """A result of the ``if``, of the size that it has behind it."""
        if axes is None:
            note_filled(result, given=all(map(has_given_sizes, before)))
        return cut(result, axes) if axes else result

    def output(
        self,
        true: paddle.Tensor,
        false: paddle.Tensor,
        kind: type | None = None,
        root: int | None = None,
    ) -> Builder:
        """Yield ``true`` from one side and ``false`` from the other."""
        position = len(self.true)
        self.true.append(true)
        self.false.append(false)
        self._kinds.append(kind)
        self._roots.append(root)
        return lambda results: results[position]

    def named(self, true: object, false: object, make: Callable[[], Builder]) -> Builder:
        """What ``make`` gives for two tensors; two names of one tensor stay names of one.

        Args:
            true, false: what the sides leave; ``None`` where one leaves nothing.
            make: makes an output for it.
        """
        pair = true, false
        key = _identity(true), _identity(false)
        if key not in self._named:
            self._named[key] = make(), pair  # kept, so that no id is used again
        return self._named[key][0]

    def flag(self) -> Builder:
        """Yield which side was taken."""
        if self._flag is None:
            with self.op.side(True):
                true = paddle.full([], True, "bool")
            with self.op.side(False):
                false = paddle.full([], False, "bool")
            self._flag = self.output(true, false)
        return self._flag

    def on(self, side: bool, make: Callable[[], Any]) -> Any:
        """What ``make`` gives when its operations go into ``side``."""
        with self.op.side(side):
            return make()

    def copied(self, side: bool, value: object, dtype: Any = None) -> paddle.Tensor:
        """A copy of a tensor or number in ``side``, with ``dtype``."""

        def make() -> paddle.Tensor:
            made = as_value(value)
            if dtype is not None and made.dtype != as_dtype(dtype):
                return paddle.cast(made, dtype)
            return carried(made)

        return self.on(side, make)

    def placeholder(self, side: bool, like: paddle.Tensor) -> paddle.Tensor:
        """Zeros in ``side`` with the dtype and rank of ``like``; never read on the run."""

        def make() -> paddle.Tensor:
            shape = [1 if size < 0 else size for size in like.shape]
            made = paddle.zeros(shape, like.dtype)
            if any(size < 0 for size in like.shape):
                bridge.relax(made, list(like.shape))
            made.stop_gradient = like.stop_gradient
            return made

        return self.on(side, make)

    def as_flag(self, side: bool, flag: object) -> paddle.Tensor:
        """A bool, or bool value, as a fresh bool value of ``side``."""
        if isinstance(flag, bool):
            return self.on(side, lambda: paddle.full([], flag, "bool"))
        return self.copied(side, flag)


class Written:
    """What the two sides of an ``if`` write into arguments and tensors of the state.

    A side may write into such a tensor, and leave another one under its name::

        if x.sum() > 0:         a', b' = if(..., yield set_value(a), set_value(a) * 2; yield a, a)
            box.t[0] = 1.0      a' is written back into the tensor that `box.t` was,
            box.t = box.t * 2   b' is bound to `box.t`

    So the contents of that tensor are a result of the ``if``, though no variable has them.
    """

    def __init__(self) -> None:
        self._notes = open_trace().notes
        self._known = [dict(self._notes.written)]

    def side(self) -> None:
        """A side has been captured."""
        self._known.append(dict(self._notes.written))

    def hand_out(self, outputs: Outputs) -> None:
        """Yield the contents that no result of ``outputs`` has."""
        before = self._known[0]
        changed = [
            {root: now for root, now in after.items() if now is not earlier.get(root)}
            for earlier, after in itertools.pairwise(self._known)
        ]
        for root in sorted({*changed[0], *changed[1]} - outputs.roots):
            values = [
                each[root] if root in each else before.get(root, self._original(root))
                for each in changed
            ]
            pairs = [*zip((True, False), values, strict=True)]
            if all(outputs.op.may_yield(*pair) for pair in pairs if bridge.is_value(pair[1])):
                true, false = (outputs.copied(*pair) for pair in pairs)
                outputs.output(true, false, None, root)

    def _original(self, root: int) -> Any:
        """The argument, or the tensor of the state."""
        if root < 0:
            return open_trace().stored[root]
        return next(value for value, number in self._notes.roots.values() if number == root)


def _identity(thing: object) -> Any:
    return thing.id if bridge.is_value(thing) else id(thing)


def once(build: Builder) -> Builder:
    """``build``, which gives the same object to each that asks."""
    made: list[Any] = []

    def built(results: list[paddle.Tensor]) -> Any:
        if not made:
            made.append(build(results))
        return made[0]

    return built
