"""What a static loop carries from trip to trip (rules C2 to C4).

A *carrier* describes one piece of the state: which loop variables it needs, how the object that
the body sees is built from them, and how what the body leaves behind is taken apart again.  When
the body shows that a piece was described wrongly (a number becomes a float tensor, a list grows,
``None`` becomes a tensor, a dimension changes) the carrier raises :class:`Replan`, and the loop is
captured again with the better description.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, LoopMismatchError
from d2s.operators.context import error_here
from d2s.operators.either import UNBOUND, Either, describe, optional_parts
from d2s.operators.likeness import Like, description_of, sample, wants_gradients
from d2s.operators.lists import GrowingList
from d2s.operators.state import Frozen, thaw
from d2s.operators.values import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    carried,
    is_float,
    is_tensor,
    joint_kind,
    mark_number,
    note_carried,
    number_kind,
    root_of,
    weak_dtype,
)


class Replan(BaseException):
    """The state at ``path`` needs another description: see :class:`Plan`."""

    def __init__(self, path: str, **changes: Any) -> None:
        super().__init__(path)
        self.path = path
        self.changes = changes


@dataclasses.dataclass
class Plan:
    """What earlier captures of the loop have shown of one piece of state.

    Attributes:
        lift: a constant that turned out to change.
        dtype: the dtype that a Python number must begin with.
        kind: its Python type, ``None`` once it becomes a tensor.
        shape: the relaxed shape of a tensor.
        gradient: a constant at first, which a trip makes differentiable.
        like: a value of the type that ``None`` or an unbound variable turns into.
        grow: an item that a list is appended with.
    """

    lift: bool = False
    dtype: Any = None
    kind: Any = "as it is"
    shape: list[int] | None = None
    gradient: bool = False
    like: Any = None
    grow: Any = None


class Plans(dict[str, Plan]):
    """Plans by path; a path that nothing is known of has the empty plan."""

    def __missing__(self, path: str) -> Plan:
        self[path] = Plan()
        return self[path]

    def change(self, replan: Replan) -> None:
        """Take over what a capture has shown."""
        plan = self[replan.path]
        for name, value in replan.changes.items():
            setattr(plan, name, value)


class Carrier:
    """One piece of the loop's state; ``inits`` are its loop variables before the first trip."""

    inits: list[Any]

    def rebuild(self, values: list[Any]) -> Any:
        """The object that the body (or the code behind the loop) sees."""
        raise NotImplementedError

    def split(self, after: Any) -> list[Any]:
        """What the body left, as the next values of the loop variables."""
        raise NotImplementedError

    def lists(self) -> list[GrowingList]:
        """The growing lists in it."""
        return []


class Constant(Carrier):
    """A Python value that the loop does not change."""

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value
        self.inits = []

    def rebuild(self, values: list[Any]) -> Any:
        return self.value

    def split(self, after: Any) -> list[Any]:
        before = self.value
        if after is before or _same(before, after):
            return []
        if before is None or before is UNBOUND:
            if isinstance(after, Either):
                for value, _ in after.alternatives():
                    if is_tensor(value) or number_kind(value) is not None:
                        raise Replan(self.path, like=Like(value))
            if is_tensor(after) or number_kind(after) is not None:
                raise Replan(self.path, like=Like(after))
            if before is UNBOUND and isinstance(after, Frozen | tuple):
                return self._structure(after)
        if number_kind(before) is not None and (is_tensor(after) or number_kind(after) is not None):
            raise Replan(self.path, lift=True)
        raise error_here(
            LoopMismatchError,
            f"the loop changes {self.path!r} from {describe(before)} to {_words(after)}",
            f"give {self.path!r} a tensor (or a structure of tensors of the final form) before "
            "the loop",
        )

    def _structure(self, after: Any) -> list[Any]:
        raise error_here(
            LoopMismatchError,
            f"{self.path!r} is first bound inside a static loop, to {_words(after)}",
            f"bind {self.path!r} to a structure of the same form before the loop",
        )


def _seed(value: Any, gradient: bool = False) -> Any:
    """A copy of ``value`` to begin the loop with; with ``gradient`` it lets gradients through."""
    copy = carried(value)
    if gradient:
        copy.stop_gradient = False
    return copy


def _opens(value: Any, init: Any) -> bool:
    """Whether a trip makes differentiable what the loop began with as a constant."""
    return (
        wants_gradients()
        and is_float(value.dtype)
        and init.stop_gradient
        and not value.stop_gradient
    )


class Leaf(Carrier):
    """A tensor, or a Python number."""

    def __init__(self, path: str, value: Any, plan: Plan) -> None:
        self.path = path
        self.kind = number_kind(value)
        made = as_value(value)
        if plan.kind != "as it is":
            self.kind = plan.kind
        if plan.dtype is not None and made.dtype != as_dtype(plan.dtype):
            made = paddle.cast(made, plan.dtype)
        init = _seed(made, plan.gradient)
        if plan.shape is not None:
            bridge.relax(init, plan.shape)
        self.init = init
        self.inits = [init]
        self.root = root_of(value)

    def rebuild(self, values: list[Any]) -> Any:
        (value,) = values
        note_carried(self.root, value)
        return value if self.kind is None else mark_number(value, self.kind)

    def split(self, after: Any) -> list[Any]:
        if isinstance(after, Either):
            after = after.get()
        kind = number_kind(after)
        if kind is None and not is_tensor(after):
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {_words(after)}",
                f"keep {self.path!r} a tensor in every trip",
            )
        mine, dtype = self.kind, self.init.dtype
        if kind is not None and mine is not None:
            joint = joint_kind(mine, kind)
            if joint is not mine:
                raise Replan(self.path, kind=joint, dtype=NUMBER_DTYPES[joint], lift=True)
            return self._next(after, dtype)
        if kind is not None:
            return self._next(after, weak_dtype(kind, dtype))
        value = as_value(after)
        if mine is not None:
            raise Replan(self.path, kind=None, dtype=value.dtype, lift=True)
        if value.dtype != dtype:
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from {describe(self.init)} to {describe(value)}",
                f"cast it: {self.path} = {self.path}.astype("
                f"'{str(value.dtype).split('.')[-1]}') before the loop, or keep its dtype",
            )
        before, now = list(self.init.shape), list(value.shape)
        if len(before) != len(now):
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} from shape {before} to shape {now}",
                "keep the number of dimensions the same in every trip",
            )
        relaxed = [a if a == b else -1 for a, b in zip(before, now, strict=True)]
        if relaxed != before:
            raise Replan(self.path, shape=relaxed, lift=True)
        return self._next(value, dtype)

    def _next(self, after: Any, dtype: Any) -> list[Any]:
        value = as_value(after)
        if value.dtype != as_dtype(dtype):
            return [paddle.cast(value, dtype)]
        if _opens(value, self.init):
            raise Replan(self.path, gradient=True, lift=True)
        if self.root != root_of(value):
            self.root = None
        return [carried(value)]


class Optional(Carrier):
    """A tensor that may be absent: ``None``, or not bound."""

    def __init__(self, path: str, absent: Any, like: Any, init: Any = None) -> None:
        self.path = path
        self.absent = absent
        self.like = like
        flag, value = paddle.full([], True, "bool"), None
        if isinstance(init, Either):
            parts = optional_parts(init)
            if parts is not None:
                flag, value = parts[1], parts[2]
        first = like.zeros() if value is None else as_value(value)
        self.inits = [_seed(flag), _seed(first, not like.stop_gradient)]

    def rebuild(self, values: list[Any]) -> Any:
        flag, value = values
        if self.like.kind is not None:
            value = mark_number(value, self.like.kind)
        return Either(flag, self.absent, value, self.path)

    def split(self, after: Any) -> list[Any]:
        if after is self.absent:
            return [paddle.full([], True, "bool"), self.like.zeros()]
        if isinstance(after, Either):
            parts = optional_parts(after)
            if parts is None or parts[0] is not self.absent:
                after = after.get()
                flag = paddle.full([], False, "bool")
            else:
                flag, after = paddle.assign(parts[1]), parts[2]
        else:
            flag = paddle.full([], False, "bool")
        if not (is_tensor(after) or number_kind(after) is not None):
            raise error_here(
                LoopMismatchError,
                f"the loop changes {self.path!r} to {_words(after)}",
                "keep it a tensor in every trip",
            )
        value = as_value(after)
        kind = number_kind(after)
        if kind is None and self.like.kind is not None:
            raise Replan(self.path, like=Like(after))
        if value.dtype != as_dtype(self.like.dtype):
            value = paddle.cast(value, self.like.dtype)
        shape = list(value.shape)
        if shape != self.like.shape:
            if len(shape) != len(self.like.shape):
                raise error_here(
                    LoopMismatchError,
                    f"the loop changes {self.path!r} from shape {self.like.shape} to {shape}",
                    "keep the number of dimensions the same in every trip",
                )
            relaxed = [a if a == b else -1 for a, b in zip(shape, self.like.shape, strict=True)]
            if relaxed != self.like.shape:
                self.like.shape = relaxed
                raise Replan(self.path, like=self.like)
        if _opens(value, self.inits[1]):
            self.like.stop_gradient = False
            raise Replan(self.path, like=self.like)
        return [flag, carried(value)]


class Sequence(Carrier):
    """A tuple, a list of fixed length, a dict with fixed keys, or a dataclass."""

    def __init__(self, path: str, value: Any, plans: Plans, depth: int) -> None:
        self.path = path
        self.value = value
        self.keys = _keys(value)
        self.parts = [
            carrier_of(f"{path}[{key!r}]", item, plans, depth=depth)
            for key, item in self.keys.items()
        ]
        self.inits = [init for part in self.parts for init in part.inits]

    def rebuild(self, values: list[Any]) -> Any:
        items = []
        for part in self.parts:
            count = len(part.inits)
            items.append(part.rebuild(values[:count]))
            values = values[count:]
        value = self.value
        container = value.container if isinstance(value, Frozen) else value
        if isinstance(container, list):
            container[:] = items
        elif isinstance(container, dict):
            made = dict(zip(self.keys, items, strict=True))
            container.clear()
            container.update(made)
        elif isinstance(container, tuple):
            make = type(container)._make if hasattr(container, "_make") else tuple
            return make(items)
        else:
            fresh = object.__new__(type(container))
            for key, item in zip(self.keys, items, strict=True):
                object.__setattr__(fresh, key, item)
            return fresh
        return container

    def lists(self) -> list[GrowingList]:
        return [target for part in self.parts for target in part.lists()]

    def split(self, after: Any) -> list[Any]:
        container = after.container if isinstance(after, Frozen) else after
        mine = self.value.container if isinstance(self.value, Frozen) else self.value
        keys = _keys(after)
        if isinstance(mine, list) and isinstance(container, list) and len(keys) != len(self.keys):
            added = list(keys.values())[len(self.keys) :] or list(keys.values())
            if not added:
                raise error_here(
                    ContainerInGraphError,
                    f"the static loop empties the list {self.path!r}",
                    "rebind it to a new list before the loop",
                )
            raise Replan(self.path, grow=description_of(added[0]))
        if type(container) is not type(mine) or list(keys) != list(self.keys):
            raise error_here(
                ContainerInGraphError,
                f"the static loop changes the form of {self.path!r} (its type, length or keys)",
                "give it its final form before the loop",
            )
        return [
            value
            for part, item in zip(self.parts, keys.values(), strict=True)
            for value in part.split(item)
        ]


class Growing(Carrier):
    """A list that grows: its TensorArrays and its length."""

    def lists(self) -> list[GrowingList]:
        return [self.target]

    def __init__(self, path: str, target: GrowingList, depth: int) -> None:
        self.path = path
        self.target = target
        self.depth = depth
        self.home = target.home
        if target.home != depth:
            raise error_here(
                ContainerInGraphError,
                f"the list {path!r} grows in a static loop inside a branch of another static loop",
                "move the condition out of the outer loop, or concatenate tensors instead",
            )
        self.inits = [*target.arrays, paddle.assign(target.length)]

    def rebuild(self, values: list[Any]) -> Any:
        target = self.target
        target.arrays = list(values[:-1])
        target.length = mark_number(values[-1], int)
        return target

    def split(self, after: Any) -> list[Any]:
        target = after.container if isinstance(after, Frozen) else after
        if target is not self.target:
            raise error_here(
                ContainerInGraphError,
                f"the static loop rebinds the growing list {self.path!r}",
                "append to one list, or make the new list a tensor",
            )
        return [*target.arrays, paddle.assign(target.length)]


def _keys(value: Any) -> dict[Any, Any]:
    """The parts of a structure by key."""
    if isinstance(value, Frozen):
        if isinstance(value.container, list):
            return dict(enumerate(value.items))
        return dict(value.items)
    if isinstance(value, tuple):
        return dict(enumerate(value))
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def path_of(path: str, value: Any, target: Any) -> str | None:
    """The path at which the object ``target`` stands in ``value``, or ``None``."""
    if value is target:
        return path
    parts: dict[Any, Any] = {}
    if isinstance(value, list | tuple):
        parts = dict(enumerate(value))
    elif isinstance(value, dict):
        parts = value
    for key, part in parts.items():
        found = path_of(f"{path}[{key!r}]", part, target)
        if found is not None:
            return found
    return None


def carrier_of(
    path: str, value: Any, plans: Plans, *, depth: int = 0, top: bool = False
) -> Carrier:
    """The carrier for ``value`` (a frozen snapshot) at ``path``.

    Args:
        path: the variable, or the way to the part of it.
        value: what it is before the loop.
        plans: what earlier captures have shown.
        depth: how many blocks are around the loop.
        top: the variable itself is bound in the body, so that a number surely changes.
    """
    plan = plans[path]
    if isinstance(value, Frozen):
        if isinstance(value.container, GrowingList):
            return Growing(path, value.container, depth)
        if plan.grow is not None:
            items = thaw(value)
            return Growing(path, GrowingList.of(items, path, sample(plan.grow)), depth)
        if isinstance(value.container, list | dict):
            return Sequence(path, value, plans, depth)
        return Constant(path, value.container)
    if value is None or value is UNBOUND:
        if plan.like is not None:
            return Optional(path, value, plan.like)
        return Constant(path, value)
    if isinstance(value, Either):
        parts = optional_parts(value)
        if parts is not None:
            return Optional(path, parts[0], plan.like or Like(parts[2]), value)
        return Leaf(path, value.get(), plan)
    if is_tensor(value):
        return Leaf(path, value, plan)
    if number_kind(value) is not None:
        return Leaf(path, value, plan) if top or plan.lift else Constant(path, value)
    if isinstance(value, tuple) and value:
        return Sequence(path, value, plans, depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return Sequence(path, value, plans, depth)
    return Constant(path, value)


def _same(before: Any, after: Any) -> bool:
    if isinstance(after, Frozen):
        return after.container is before
    if is_tensor(before) or is_tensor(after) or type(before) is not type(after):
        return False
    try:
        return bool(before == after)
    except Exception:  # a user's __eq__ that fails does not say "equal"
        return False


def _words(value: Any) -> str:
    return describe(value.container if isinstance(value, Frozen) else value)
