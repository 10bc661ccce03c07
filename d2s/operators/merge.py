"""Two sides of a branch become one: leaf by leaf (rules B2, B3, B4, B6).

:class:`Merger` walks what the two sides have left behind.  Tensors that both sides have become
outputs of the ``if``; equal constants stay constants; Python numbers that differ become 0-D
values; what cannot be one value becomes an :class:`Either`.  Every output passes through
``assign`` and no value is yielded twice, which is what keeps Paddle's gradients right
(paddle-facts 1).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError
from d2s.operators.context import current, error_here
from d2s.operators.either import UNBOUND, Either, optional_parts
from d2s.operators.lists import GrowingList, NeedsElementError, join_lists
from d2s.operators.state import Frozen
from d2s.operators.values import (
    NUMBER_DTYPES,
    as_dtype,
    as_value,
    carried,
    is_tensor,
    joint_kind,
    mark_number,
    note_carried,
    number_kind,
    root_of,
    weak_dtype,
)

Builder = Callable[[list[Any]], Any]
"""From the results of the ``if`` to a merged value."""


class Merger:
    """Collects what the two sides of one ``if`` yield.

    Attributes:
        left: for the true and the false side, whether a ``raise`` has ended it.
    """

    def __init__(self, op: bridge.IfOp, left: tuple[bool, bool]) -> None:
        self.op = op
        self.left = left
        self.true: list[Any] = []
        self.false: list[Any] = []
        self._kinds: list[type | None] = []
        self._roots: list[int | None] = []
        self._flag: Builder | None = None

    def finish(self) -> list[Any]:
        """Yield everything; the results in order."""
        results = self.op.finish(self.true, self.false)
        for result, kind, root in zip(results, self._kinds, self._roots, strict=True):
            if kind is not None:
                mark_number(result, kind)
            note_carried(root, result)
        return results

    def output(
        self, true: Any, false: Any, kind: type | None = None, root: int | None = None
    ) -> Builder:
        """Yield ``true`` from one side and ``false`` from the other."""
        position = len(self.true)
        self.true.append(true)
        self.false.append(false)
        self._kinds.append(kind)
        self._roots.append(root)
        return lambda results: results[position]

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

    def copied(self, side: bool, value: Any, dtype: Any = None) -> Any:
        """A copy of a tensor or number in ``side``, with ``dtype``."""

        def make() -> Any:
            made = as_value(value)
            if dtype is not None and made.dtype != as_dtype(dtype):
                return paddle.cast(made, dtype)
            return carried(made)

        return self.on(side, make)

    def placeholder(self, side: bool, like: Any) -> Any:
        """Zeros in ``side`` with the dtype and rank of ``like``; never read on the run."""

        def make() -> Any:
            shape = [1 if size < 0 else size for size in like.shape]
            made = paddle.zeros(shape, like.dtype)
            if any(size < 0 for size in like.shape):
                bridge.relax(made, list(like.shape))
            made.stop_gradient = like.stop_gradient
            return made

        return self.on(side, make)

    # -- the walk --------------------------------------------------------------------------------

    def merge(self, true: Any, false: Any, name: str) -> Builder:
        """A builder for the one value of ``true`` and ``false``."""
        if self.left[0] or self.left[1]:
            return self.survivor(true, false, name)
        if true is false and not isinstance(true, Frozen):
            return lambda results: true
        if isinstance(true, Frozen) or isinstance(false, Frozen):
            return self.containers(true, false, name)
        absent = true is None or true is UNBOUND or false is None or false is UNBOUND
        if absent or isinstance(true, Either) or isinstance(false, Either):
            return self.eithers(true, false, name)
        kinds = number_kind(true), number_kind(false)
        if kinds[0] is not None and kinds[1] is not None:
            return self.numbers(true, false, kinds[0], kinds[1])
        if is_tensor(true) and (is_tensor(false) or kinds[1] is not None):
            return self.tensors(true, false, name, kinds)
        if is_tensor(false) and kinds[0] is not None:
            return self.tensors(true, false, name, kinds)
        if type(true) is type(false):
            if isinstance(true, tuple) and len(true) == len(false):
                return self.tuples(true, false, name)
            if dataclasses.is_dataclass(true) and not isinstance(true, type):
                return self.fields(true, false, name)
        if _same_constant(true, false):
            return lambda results: true
        return self.either(true, false, name)

    def numbers(self, true: Any, false: Any, left: type, right: type) -> Builder:
        """Two Python numbers: one constant when equal, else a 0-D value of their joint type."""
        if not is_tensor(true) and not is_tensor(false) and _same_constant(true, false):
            return lambda results: true
        if left is not right:
            return self.either(true, false, "number")
        kind = joint_kind(left, right)
        dtype = NUMBER_DTYPES[kind]
        return self.output(self.copied(True, true, dtype), self.copied(False, false, dtype), kind)

    def tensors(
        self, true: Any, false: Any, name: str, kinds: tuple[type | None, type | None]
    ) -> Builder:
        """Two tensors, or a tensor and a Python number that takes its dtype (B3)."""
        if kinds[0] is not None:
            dtype = weak_dtype(kinds[0], false.dtype)
        elif kinds[1] is not None:
            dtype = weak_dtype(kinds[1], true.dtype)
        else:
            dtype = true.dtype
            if true.dtype != false.dtype or len(true.shape) != len(false.shape):
                return self.either(true, false, name)
        left, right = self.copied(True, true, dtype), self.copied(False, false, dtype)
        if len(left.shape) != len(right.shape):
            return self.either(true, false, name)
        if kinds[0] is not None or kinds[1] is not None:
            return self.sometimes(self.output(left, right), kinds)
        root = root_of(true)
        return self.output(left, right, None, root if root == root_of(false) else None)

    def sometimes(self, value: Builder, kinds: tuple[type | None, type | None]) -> Builder:
        """``value``, noted as a Python number on the side that has one."""
        flag = self.flag()
        kind = kinds[0] or kinds[1]

        def build(results: list[Any]) -> Any:
            holds = flag(results) if kinds[0] is not None else ~flag(results)
            capture = current()
            if capture is not None and kind is not None:
                made = value(results)
                capture.sometimes[made.id] = (made, holds, kind)
                return made
            return value(results)

        return build

    def tuples(self, true: Any, false: Any, name: str) -> Builder:
        """Two tuples or named tuples of one length."""
        items = [
            self.merge(left, right, f"{name}[{index}]")
            for index, (left, right) in enumerate(zip(true, false, strict=True))
        ]
        if hasattr(true, "_make"):
            return lambda results: type(true)._make(item(results) for item in items)
        return lambda results: tuple(item(results) for item in items)

    def fields(self, true: Any, false: Any, name: str) -> Builder:
        """Two dataclass instances of one class."""
        merged = {
            field.name: self.merge(
                getattr(true, field.name), getattr(false, field.name), f"{name}.{field.name}"
            )
            for field in dataclasses.fields(true)
        }

        return lambda results: _instance(type(true), merged, results)

    def containers(self, true: Any, false: Any, name: str) -> Builder:
        """Two lists, dicts or sets, with what they held at the end of each side."""
        if not (isinstance(true, Frozen) and isinstance(false, Frozen)):
            return self.either(_loose(true), _loose(false), name)
        same = true.container is false.container
        first, second = true.container, false.container
        if isinstance(first, GrowingList) and isinstance(second, GrowingList) and same:
            return join_lists(self, first, true.items, false.items)
        if isinstance(first, list) and isinstance(second, list):
            if len(true.items) != len(false.items):
                if same:
                    return self.grown(first, true.items, false.items, name)
                return self.either(_loose(true), _loose(false), name)
            items = [
                self.merge(left, right, f"{name}[{index}]")
                for index, (left, right) in enumerate(zip(true.items, false.items, strict=True))
            ]

            def build_list(results: list[Any]) -> Any:
                made = [item(results) for item in items]
                if not same:
                    return made
                first[:] = made
                return first

            return build_list
        if isinstance(first, dict) and isinstance(second, dict):
            left, right = dict(true.items), dict(false.items)
            keys = [*left, *(key for key in right if key not in left)]
            if list(left) != list(right) and set(left) != set(right):
                if not same:
                    return self.either(_loose(true), _loose(false), name)
                return self.keyed(first, left, right, name)
            pairs = {key: self.merge(left[key], right[key], f"{name}[{key!r}]") for key in keys}

            def build_dict(results: list[Any]) -> Any:
                made = {key: item(results) for key, item in pairs.items()}
                target = first if same else type(first)()
                target.clear()
                target.update(made)
                return target

            return build_dict
        if same and isinstance(first, set) and true.items == false.items:
            return lambda results: first
        return self.either(_loose(true), _loose(false), name)

    def grown(self, target: list[Any], true: Any, false: Any, name: str) -> Builder:
        """One list that the two sides leave with different lengths."""
        capture = current()
        if capture is not None and any(block.kind == "loop" for block in capture.blocks):
            longer = true if len(true) > len(false) else false
            raise NeedsElementError(target, longer[-1])  # it grows from trip to trip
        raise error_here(
            ContainerInGraphError,
            f"the list {name!r} has {len(true)} items behind one side of a tensor branch and "
            f"{len(false)} behind the other",
            "keep its length the same on both sides, or append in a loop over a tensor",
        )

    def keyed(self, target: Any, left: dict[Any, Any], right: dict[Any, Any], name: str) -> Builder:
        """One dict to which only one side has added a key: the entry may be missing."""
        pairs = {
            key: self.merge(left.get(key, UNBOUND), right.get(key, UNBOUND), f"{name}[{key!r}]")
            for key in [*left, *(key for key in right if key not in left)]
        }

        def build(results: list[Any]) -> Any:
            made = {key: item(results) for key, item in pairs.items()}
            target.clear()
            target.update(made)
            return target

        return build

    def eithers(self, true: Any, false: Any, name: str) -> Builder:
        """One side is an ``Either`` already, or absent: one flag and one value if possible."""
        left = self.on(True, lambda: optional_parts(true))
        right = self.on(False, lambda: optional_parts(false))
        if left is None or right is None:
            return self.either(true, false, name)
        markers = {id(part[0]): part[0] for part in (left, right) if part[1] is not False}
        if len(markers) != 1 or (left[2] is None and right[2] is None):
            return self.either(true, false, name)
        like = left[2] if left[2] is not None else right[2]
        kind = number_kind(like)
        for part in (left, right):
            if part[2] is not None and (
                number_kind(part[2]) is not kind
                or (kind is None and (part[2].dtype != like.dtype))
                or (kind is None and len(part[2].shape) != len(like.shape))
            ):
                return self.either(true, false, name)
        (absent,) = markers.values()
        sides = []
        for side, part in ((True, left), (False, right)):
            if part[2] is not None:
                sides.append(self.copied(side, part[2]))
            elif is_tensor(like):
                sides.append(self.placeholder(side, like))
            else:
                sides.append(self.copied(side, type(like)(0)))
        value = self.output(sides[0], sides[1], kind)
        flag = self.output(self.as_flag(True, left[1]), self.as_flag(False, right[1]))
        return lambda results: Either(flag(results), absent, value(results), name)

    def as_flag(self, side: bool, flag: Any) -> Any:
        """A bool, or bool value, as a fresh bool value of ``side``."""
        if isinstance(flag, bool):
            return self.on(side, lambda: paddle.full([], flag, "bool"))
        return self.copied(side, flag)

    def either(self, true: Any, false: Any, name: str) -> Builder:
        """Both sides as they are, and which one holds."""
        flag = self.flag()
        kept = self.kept(True, true), self.kept(False, false)
        return lambda results: simplified(flag(results), kept[0](results), kept[1](results), name)

    def kept(self, side: bool, thing: Any) -> Builder:
        """``thing`` of one side, its tensors handed out beside placeholders of the other."""
        if isinstance(thing, Frozen):
            thing = _loose(thing)
        if isinstance(thing, Either):
            flag = self.kept(side, thing.flag)
            true, false = self.kept(side, thing.true), self.kept(side, thing.false)
            name = thing.name
            return lambda results: Either(flag(results), true(results), false(results), name)
        if isinstance(thing, tuple):
            items = [self.kept(side, item) for item in thing]
            make = type(thing)._make if hasattr(thing, "_make") else tuple
            return lambda results: make(item(results) for item in items)
        if type(thing) is list:
            items = [self.kept(side, item) for item in thing]
            return lambda results: [item(results) for item in items]
        if isinstance(thing, dict):
            pairs = {key: self.kept(side, item) for key, item in thing.items()}
            return lambda results: {key: item(results) for key, item in pairs.items()}
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            kept = {
                field.name: self.kept(side, getattr(thing, field.name))
                for field in dataclasses.fields(thing)
            }
            return lambda results: _instance(type(thing), kept, results)
        if not bridge.is_value(thing):
            return lambda results: thing
        kind = number_kind(thing)
        mine, other = self.copied(side, thing), self.placeholder(not side, thing)
        return self.output(*((mine, other) if side else (other, mine)), kind)

    def survivor(self, true: Any, false: Any, name: str) -> Builder:
        """One side (or both) ends in a ``raise``: the other side's value is the value."""
        side = not self.left[0]
        return self.kept(side, true if side else false)


def _instance(kind: type, fields: dict[str, Builder], results: list[Any]) -> Any:
    """An instance of the dataclass ``kind``, made without calling its ``__init__``."""
    fresh: Any = object.__new__(kind)
    for key, item in fields.items():
        object.__setattr__(fresh, key, item(results))
    return fresh


def simplified(flag: Any, true: Any, false: Any, name: str) -> Any:
    """An ``Either``, unless the two alternatives are one."""
    if true is false:
        return true
    return Either(flag, true, false, name)


def _loose(thing: Any) -> Any:
    """A frozen container as a fresh container; the one of the other side is another."""
    if isinstance(thing, Frozen):
        if isinstance(thing.container, GrowingList):
            return thing.container
        if isinstance(thing.container, list):
            return [_loose(item) for item in thing.items]
        if isinstance(thing.container, dict):
            return {key: _loose(item) for key, item in thing.items}
        return set(thing.items)
    if type(thing) is tuple:
        return tuple(_loose(item) for item in thing)
    return thing


def _same_constant(true: Any, false: Any) -> bool:
    """Whether two Python values are one constant: same type and equal, zeros by their sign."""
    if type(true) is not type(false) or is_tensor(true):
        return False
    if isinstance(true, float):
        return (true == false and repr(true) == repr(false)) or (true != true and false != false)
    try:
        return bool(true == false)
    except Exception:  # a user's __eq__ that fails does not say "equal"
        return False
