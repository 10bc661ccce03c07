"""A tensor or Python number that the trips change; and one that may be absent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import LoopMismatchError
from d2s.runtime.aliasing.holders import is_same
from d2s.runtime.lists.items.likeness import Like
from d2s.runtime.loops.carriers.carrier import Carrier, opens, seed
from d2s.runtime.loops.carriers.mismatch import in_words, mismatch
from d2s.runtime.loops.carriers.numbers import Numbers
from d2s.runtime.loops.carriers.plans import Plans, Replan, replan_as_choices
from d2s.runtime.loops.carriers.stopping import Stopping
from d2s.runtime.trace import current
from d2s.runtime.values.cases import optional_parts, places_of
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.mixed import may_be_number, told_apart
from d2s.runtime.values.tables import describe
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    carried,
    is_numeric,
    is_tensor,
    joint_kind,
    mark_number,
    note_carried,
    number_kind,
    root_of,
    root_to_change,
    weak_dtype,
)
from d2s.runtime.values.unbound import UNBOUND


class TensorVariable(Carrier):
    """A tensor, or a Python number.

    Attributes:
        root: the argument whose contents it is in every trip, by its index.
        given, left: the ids of what it is in a trip, and of what the trip leaves.
    """

    def __init__(self, path: str, value: object, plans: Plans) -> None:
        plan = plans[path]
        self.path = path
        self.before = value
        self.kind = number_kind(value)
        made = as_value(value)
        if not isinstance(plan.kind, str):
            self.kind = plan.kind
        if plan.dtype is not None and made.dtype != as_dtype(plan.dtype):
            made = paddle.cast(made, plan.dtype)
        self.stops = Stopping(made, gradient=plan.gradient, differ=plans.stops)
        init = seed(made, gradient=plan.gradient)
        if plan.shape is not None:
            bridge.relax(init, plan.shape)
        self.init = init
        self.numbers = Numbers(path, value, plan, plans) if self.kind is None else None
        self.inits = [init, *self.stops.inits, *(self.numbers.inits if self.numbers else ())]
        self.root = root_to_change(value)
        self.given = self.left = -1
        self.divided = False

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        value, *flags = values
        note_carried(self.root, value)
        self.given = value.id
        count = len(self.stops.inits)
        self.stops.enter(value, flags[:count])
        if self.numbers is not None:
            self.numbers.enter(value, flags[count:])
        self.now = value if self.kind is None else mark_number(value, self.kind)
        return self.now

    def split(self, after: object) -> list[paddle.Tensor]:
        self.now = after
        if isinstance(after, Choice) and _usable(after):
            after = after.get()
        kind = number_kind(after)
        if kind is None and not is_tensor(after):
            replan_as_choices(self.path, self.before, after)
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {in_words(after)}",
                f"keep {self.path!r} a tensor in every trip",
                self.path,
                (self.before, after),
            )
        mine, dtype = self.kind, self.init.dtype
        if kind is not None and mine is not None:
            joint = joint_kind(mine, kind)
            if joint is not mine:
                raise Replan(self.path, kind=joint, dtype=NUMBER_DTYPES[joint], lift=True)
            return self._next(as_value(after), dtype)
        value = as_value(after)
        if mine is not None:
            raise Replan(self.path, kind=None, dtype=value.dtype, lift=True)
        if kind is None:
            value = self._of_one_form(value)
        else:
            dtype = weak_dtype(kind, dtype)
        assert self.numbers is not None
        return [*self._next(value, dtype), *self.numbers.leave(after)]

    def _of_one_form(self, value: paddle.Tensor) -> paddle.Tensor:
        """What a trip has left, of the dtype and the shape that the loop has begun with."""
        if value.dtype != self.init.dtype:
            replan_as_choices(self.path, self.before, value)
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {describe(value)}",
                f"cast it: {self.path} = {self.path}.astype("
                f"'{str(value.dtype).split('.')[-1]}') before the loop, or keep its dtype",
                self.path,
                (self.init, value),
            )
        before, now = list(self.init.shape), list(value.shape)
        if before == [] and now == [1] and _is_divided(value):
            self.divided = True  # t // 2 has the shape [1] in dygraph
            value, now = paddle.reshape(value, []), []
        if len(before) != len(now):
            replan_as_choices(self.path, self.before, value)  # total = 0, and then total + x
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} from shape {before} to shape {now}",
                f"begin with a tensor of {len(now)} dimensions, such as paddle.zeros({now}), or "
                "keep their number the same in every trip",
                self.path,
                (self.init, value),
            )
        relaxed = relaxed_shape(before, now)
        if relaxed != before:
            raise Replan(self.path, shape=relaxed, lift=True)
        return value

    def settled(self, value: object, tripped: paddle.Tensor) -> object:
        self.now = self._settled(value, tripped)
        return self.now

    def _settled(self, value: object, tripped: paddle.Tensor) -> object:
        capture = current()
        kind = number_kind(value)
        before = number_kind(self.before)
        if capture is None or not bridge.is_value(value):
            return value
        self.stops.settle(value, tripped)
        if kind is not None:
            return (
                value if before in (kind, None) else Choice(tripped, value, self.before, self.path)
            )
        if self.numbers is not None:
            self.numbers.settle(value, tripped)
        if self.divided and before is None:
            return Choice(tripped, paddle.reshape(value, [1]), value, self.path)
        return value

    def _next(self, value: paddle.Tensor, dtype: Any) -> list[paddle.Tensor]:
        if value.dtype != as_dtype(dtype):
            return [paddle.cast(value, dtype), *self.stops.leave(value)]
        if opens(value, self.init):
            raise Replan(self.path, gradient=True, lift=True)
        if self.root != root_of(value):
            self.root = None
        self.left = value.id
        return [carried(value), *self.stops.leave(value)]


class SameTensor(Carrier):
    """Another name of a tensor that ``owner`` carries."""

    def __init__(self, path: str, owner: TensorVariable) -> None:
        self.path = path
        self.owner = owner
        self.inits = []

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        return self.owner.now

    def split(self, after: object) -> list[paddle.Tensor]:
        now = self.owner.now
        if not (is_tensor(after) and is_tensor(now) and is_same(as_value(after), as_value(now))):
            raise Replan(self.path, apart=True)
        return []

    def settled(self, value: object, tripped: paddle.Tensor) -> object:
        return self.owner.now


def settle_roots(carriers: Iterable[Carrier]) -> None:
    """Let what is handed from one variable to another be an argument only where both are.

    In ``before, x = x, x @ w`` with the argument ``x``, ``before`` is that argument in the first
    two trips, and what ``x`` has become in the others.

    Args:
        carriers: of one loop, behind a trip.
    """
    found = [each for carrier in carriers for each in carrier.each()]
    variables = [each for each in found if isinstance(each, TensorVariable)]
    given = {each.given: each for each in variables}
    lost = [each for each in variables if each.root is None]
    while lost:
        source = lost.pop()
        for each in variables:
            if each.root is not None and given.get(each.left) is source:
                each.root = None
                lost.append(each)


class OptionalTensor(Carrier):
    """A tensor or number that may be absent: ``None``, or not bound."""

    def __init__(self, path: str, absent: object, like: Like, init: object = None) -> None:
        self.path = path
        self.absent = absent
        self.like = like
        self.places = places_of(init)
        flag, value = paddle.full([], True, "bool"), None
        if isinstance(init, Choice):
            parts = optional_parts(init)
            if parts is not None:
                flag, value = parts[1], parts[2]
        first = like.zeros() if value is None else as_value(value)
        self.inits = [seed(flag), seed(first, gradient=not like.stop_gradient)]

    def rebuild(self, values: list[paddle.Tensor]) -> object:
        flag, value = values
        if self.like.kind is not None:
            value = mark_number(value, self.like.kind)
        return Choice(flag, self.absent, value, self.path).chosen_at(self.places)

    def split(self, after: object) -> list[paddle.Tensor]:
        if may_be_number(after) is not None:
            replan_as_choices(self.path, self.absent, self.like, told_apart(after))
        if after is self.absent:
            return [paddle.full([], True, "bool"), self.like.zeros()]
        if isinstance(after, Choice):
            parts = optional_parts(after)
            if parts is None or parts[0] is not self.absent:
                if _usable(after):
                    after = after.get()
                flag = paddle.full([], False, "bool")
            else:
                flag, after = paddle.assign(parts[1]), parts[2]
        else:
            flag = paddle.full([], False, "bool")
        kind = number_kind(after)
        if kind is None and not is_tensor(after):
            replan_as_choices(self.path, self.absent, self.like, after)
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} to {in_words(after)}",
                "keep it a tensor in every trip",
                self.path,
                (self.absent, after),
            )
        value = as_value(after)
        if kind is None and self.like.kind is not None:
            raise Replan(self.path, like=Like(after))
        if value.dtype != as_dtype(self.like.dtype):
            value = paddle.cast(value, self.like.dtype)
        self._check_shape(after, value)
        if opens(value, self.inits[1]):
            self.like.stop_gradient = False
            raise Replan(self.path, like=self.like)
        return [flag, carried(value)]

    def _check_shape(self, after: object, value: paddle.Tensor) -> None:
        """Open the dimensions that a trip changes."""
        shape = list(value.shape)
        if len(shape) != len(self.like.shape):
            replan_as_choices(self.path, self.absent, self.like, after)
            raise mismatch(
                LoopMismatchError,
                f"the loop changes {self.path!r} from shape {self.like.shape} to {shape}",
                "keep the number of dimensions the same in every trip",
                self.path,
                (self.like.zeros(), value),
            )
        relaxed = relaxed_shape(self.like.shape, shape)
        if relaxed != self.like.shape:
            self.like.shape = relaxed
            raise Replan(self.path, like=self.like)


def relaxed_shape(before: list[int], now: list[int]) -> list[int]:
    """One shape for two of the same rank: where they differ, the dimension is open."""
    return [a if a == b else -1 for a, b in zip(before, now, strict=True)]


def _is_divided(value: paddle.Tensor) -> bool:
    """Whether ``value`` is ``t // 2`` or ``t % 2``."""
    producer = bridge.producer(value)
    return producer is not None and producer[0] in ("floor_divide", "remainder")


def _usable(value: Choice) -> bool:
    """Whether ``value`` is a tensor or number on every path on which it is bound."""
    absent = any(item is None for item in value.leaves())
    return value.single and not absent and is_of_leaves(value)


def is_of_leaves(value: Choice) -> bool:
    """Whether the alternatives of ``value`` that are there are tensors and numbers."""
    return all(
        is_numeric(item) for item in value.leaves() if item is not None and item is not UNBOUND
    )
